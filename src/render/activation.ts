import type { GraphSession, Reader } from '../graph/session.js';
import { pathExists } from '../store/json-path.js';
import type { StoredObject } from '../store/canonical.js';
import { findKey, instanceKey, parseSignatureKey, signatureKey } from './keys.js';
import type { GatedComponent, RenderPlan } from './plan.js';
import type { ObjectRef } from './protocol.js';

/** What activation asks of the session it belongs to. */
export interface ActivationHost {
  graph(): GraphSession;
  find(ref: ObjectRef): StoredObject | undefined;
  awaitInstance(key: string): void;
  retireInstance(key: string): void;
}

/**
 * Which components with `whenAnyPathExists` have an instance for which object (decision 0023, "Activation signatures").
 * One query for each object of a source that has such components gives their names, in canonical order; an object that
 * changes and keeps its signature neither creates nor retires anything.
 */
export class Activation {
  /** Active instances that this session has come to have beyond those of its base. */
  gained = 0;
  readonly #due = new Set<string>();

  constructor(
    private readonly plan: RenderPlan,
    private readonly host: ActivationHost,
  ) {}

  /** The object is there for the first time, or something that its signature depends on has changed. */
  mark(key: string): void {
    this.#due.add(key);
  }

  markObject(ref: ObjectRef): void {
    if (this.plan.gated.has(ref.alias)) this.#due.add(signatureKey(ref.alias, ref.namespace, ref.name));
  }

  /** The object is gone, and what was active of it. */
  retireObject(ref: ObjectRef): void {
    if (!this.plan.gated.has(ref.alias)) return;
    const key = signatureKey(ref.alias, ref.namespace, ref.name);
    this.#move(ref, (this.host.graph().valueOf(key) ?? NONE) as readonly string[], NONE);
    this.#due.delete(key);
    this.host.graph().retire(key);
  }

  /** Brings the signatures up to date, and creates and retires instances as they say. */
  settle(): void {
    for (const key of this.#due) {
      const { value, before, changed } = this.host.graph().evaluate(key);
      const active = (before ?? NONE) as readonly string[];
      if (changed) this.#move(parseSignatureKey(key), active, value as readonly string[]);
    }
    this.#due.clear();
  }

  compute(key: string, reader: Reader): readonly string[] {
    const ref = parseSignatureKey(key);
    reader.input(findKey(ref.alias, ref.namespace, ref.name));
    return activeComponents(this.plan.gated.get(ref.alias) ?? [], this.host.find(ref));
  }

  #move({ alias: source, namespace, name }: ObjectRef, before: readonly string[], after: readonly string[]): void {
    if (before.length + after.length === 0) return;
    this.gained += after.length - before.length;
    const keyOf = (component: string): string => instanceKey({ component, source, namespace, name });
    for (const component of before) if (!after.includes(component)) this.host.retireInstance(keyOf(component));
    for (const component of after) if (!before.includes(component)) this.host.awaitInstance(keyOf(component));
  }
}

const NONE: readonly string[] = Object.freeze([]);

export function sameSignature(left: readonly string[], right: readonly string[]): boolean {
  return left.join() === right.join();
}

function activeComponents(gated: readonly GatedComponent[], item: StoredObject | undefined): readonly string[] {
  return gated.filter(({ paths }) => paths.some((path) => pathExists(item, path))).map(({ name }) => name);
}
