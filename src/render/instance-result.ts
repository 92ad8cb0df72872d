import { type Contribution, sameContribution } from './contribution.js';
import type { InstanceId } from './keys.js';

/** A logical Event on the source object (decision 0023, `recordEvent`). */
export interface LogicalEvent {
  readonly type: 'Normal' | 'Warning';
  readonly reason: string;
  readonly message: string;
}

/** Everything one execution of a component instance produced. Effects are part of the value (DESIGN 5). */
export interface InstanceResult {
  readonly text: string;
  readonly uniques: readonly Contribution[];
  readonly publications: readonly Contribution[];
  readonly events: readonly LogicalEvent[];
}

export const EMPTY_RESULT: InstanceResult = { text: '', uniques: [], publications: [], events: [] };

/** Equal in every byte and effect: then nothing that consumes the instance has to run. */
export function sameResult(left: InstanceResult, right: InstanceResult): boolean {
  return (
    left.text === right.text &&
    sameList(left.publications, right.publications, sameContribution) &&
    sameList(left.uniques, right.uniques, sameContribution) &&
    sameList(left.events, right.events, sameEvent)
  );
}

function sameList<T>(left: readonly T[], right: readonly T[], same: (a: T, b: T) => boolean): boolean {
  return left.length === right.length && left.every((entry, at) => same(entry, right[at] as T));
}

function sameEvent(a: LogicalEvent, b: LogicalEvent): boolean {
  return a.type === b.type && a.reason === b.reason && a.message === b.message;
}

/** Why an instance, or an output (then `instance` is undefined), could not be rendered. */
export interface RenderFault {
  readonly instance: InstanceId | undefined;
  /** What is wrong, in one line. */
  readonly reason: string;
  /** Path in the source object, when known. */
  readonly field?: string;
  readonly place?: { readonly template: string; readonly file: string; readonly line: number; readonly column: number };
  readonly excerpt?: string;
  /** The render's own time bound ended it, or its heap or size bound. */
  readonly bound?: 'time' | 'heap' | 'size';
}
