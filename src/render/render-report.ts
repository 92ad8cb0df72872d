import type { InstanceResult, RenderFault } from './instance-result.js';
import type { ReadableRender } from './instance-io.js';
import type { ObjectEvent } from './protocol.js';
import type { RenderContext, RenderSession } from './render-session.js';
import type { RenderState } from './render-state.js';

/** What is told of a finished render: to the main thread, to traces, to people. */

/** Its reads alone, as a trace needs them. */
export function readsOf(session: RenderSession): ReadableRender {
  return {
    snapshot: (alias) => session.snapshot(alias),
    winner: (group, cell, key) => session.winner(group, cell, key),
    winners: (group, cell) => session.winners(group, cell),
    count: (group, cell) => session.count(group, cell),
  };
}

export function instancesOf(context: RenderContext, state: RenderState): number {
  let instances = state.gatedInstances;
  for (const [alias, components] of context.plan.always)
    instances += components.length * (state.snapshots.get(alias)?.size ?? 0);
  return instances;
}

export function describeFault(fault: RenderFault): string {
  return fault.field === undefined ? fault.reason : `${fault.field}: ${fault.reason}`;
}

/** Events that this render recorded and the one before did not. */
export function newEvents(session: RenderSession): readonly ObjectEvent[] {
  const events: ObjectEvent[] = [];
  for (const { instance, before, after } of session.changed.values()) {
    for (const event of eventsAdded(before, after)) events.push({ ...instance.subject.ref, ...event });
  }
  return events;
}

export function eventsAdded(
  before: InstanceResult | undefined,
  after: InstanceResult | undefined,
): InstanceResult['events'] {
  if (after === undefined || after.events.length === 0) return NO_EVENTS;
  const known = new Set(before?.events.map((event) => `${event.reason} ${event.message}`));
  return after.events.filter((event) => !known.has(`${event.reason} ${event.message}`));
}

const NO_EVENTS: InstanceResult['events'] = [];
