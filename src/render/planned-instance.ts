import type { ComponentSpec } from '../config/render-config.js';
import type { InstanceResult } from './instance-result.js';
import { type InstanceId, instanceKey } from './keys.js';
import type { RenderPlan } from './plan.js';

/** A component instance as a render's work knows it: nobody has to take its key apart again. */
export interface PlannedInstance extends InstanceId {
  readonly key: string;
  readonly spec: ComponentSpec;
  readonly wave: number;
}

/** An instance whose result differs from the one before this session. */
export interface ChangedInstance {
  readonly instance: PlannedInstance;
  readonly before: InstanceResult | undefined;
  readonly after: InstanceResult | undefined;
}

/** Throws where the configuration has no such component. */
export function plannedInstance(
  plan: RenderPlan,
  { component, source, namespace, name }: InstanceId,
  key = instanceKey({ component, source, namespace, name }),
): PlannedInstance {
  const spec = plan.components.get(component);
  if (spec === undefined) throw new Error(`no component is called ${component}`);
  return { component, source, namespace, name, key, spec, wave: plan.groups.get(spec.group)?.wave ?? 0 };
}

/** In canonical order. */
export function inOrder(instances: ReadonlyMap<string, PlannedInstance>): readonly PlannedInstance[] {
  return [...instances.values()].sort((a, b) => (a.key < b.key ? -1 : 1));
}
