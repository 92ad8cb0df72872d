import type { ComponentSpec } from '../config/render-config.js';
import type { ObjectSnapshot } from '../store/snapshot.js';
import type { StoredObject } from '../store/canonical.js';
import type { InstanceResult } from './instance-result.js';
import { findKey, type InstanceId, instanceKey } from './keys.js';
import type { RenderPlan } from './plan.js';
import type { ObjectRef } from './protocol.js';

/**
 * The object that instances are of. All components of a cold render share one, with the item that was looked up and the
 * key of its read (decision 0023, "Cold source transactions").
 */
export class Subject {
  /** What templates see as `renderSubject`. */
  readonly ref: ObjectRef;
  readonly findKey: string;
  #snapshot: ObjectSnapshot | undefined;
  #item: StoredObject | undefined;

  constructor(alias: string, namespace: string, name: string) {
    this.ref = Object.freeze({ alias, namespace, name });
    this.findKey = findKey(alias, namespace, name);
  }

  itemIn(snapshot: ObjectSnapshot): StoredObject | undefined {
    if (snapshot !== this.#snapshot) {
      this.#item = snapshot.find(this.ref.namespace, this.ref.name);
      this.#snapshot = snapshot;
    }
    return this.#item;
  }
}

/** A component instance as a render's work knows it: nobody has to take its key apart again. */
export interface PlannedInstance {
  readonly key: string;
  readonly spec: ComponentSpec;
  readonly wave: number;
  readonly subject: Subject;
}

/** An instance whose result differs from the one before this session. */
export interface ChangedInstance {
  readonly instance: PlannedInstance;
  readonly before: InstanceResult | undefined;
  readonly after: InstanceResult | undefined;
}

/** Throws where the configuration has no such component. */
export function plannedInstance(plan: RenderPlan, id: InstanceId, key: string): PlannedInstance {
  const spec = plan.components.get(id.component);
  if (spec === undefined) throw new Error(`no component is called ${id.component}`);
  return { key, spec, wave: waveOf(plan, spec), subject: new Subject(id.source, id.namespace, id.name) };
}

/** One instance of `spec` for each of the subjects. */
export function instancesFor(plan: RenderPlan, spec: ComponentSpec, subjects: readonly Subject[]): PlannedInstance[] {
  const wave = waveOf(plan, spec);
  return subjects.map((subject) => {
    const { alias: source, namespace, name } = subject.ref;
    return { key: instanceKey({ component: spec.name, source, namespace, name }), spec, wave, subject };
  });
}

function waveOf(plan: RenderPlan, spec: ComponentSpec): number {
  return plan.groups.get(spec.group)?.wave ?? 0;
}

/** In canonical order. */
export function inOrder(instances: ReadonlyMap<string, PlannedInstance>): readonly PlannedInstance[] {
  return [...instances.values()].sort((a, b) => (a.key < b.key ? -1 : 1));
}
