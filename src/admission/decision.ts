import type { PhaseTimes } from './review-record.js';

/** What a review came to. Three outcomes of different kind, never one dressed as another (DESIGN 8). */
export type Decision =
  | { readonly kind: 'allowed'; readonly reason: string }
  /** The change is bad: 400 to 499. */
  | { readonly kind: 'denied'; readonly code: number; readonly reason: string; readonly message: string }
  /** Not able to judge in time: 503 or 504; the API server turns the seconds into a Retry-After header. */
  | {
      readonly kind: 'unjudged';
      readonly code: 503 | 504;
      readonly reason: string;
      readonly message: string;
      readonly retryAfterSeconds: number;
    };

export interface Judgement {
  readonly decision: Decision;
  readonly warnings: readonly string[];
  readonly executed: number;
  readonly checkerRuns: number;
  readonly phasesMs: PhaseTimes;
  /** The review's render, kept until it is released; undefined when nothing was rendered. */
  readonly render: number | undefined;
}

/**
 * Reasons to allow what still does not render or does not pass the check: what it breaks is quarantined. The next review
 * must not see it, or it would answer for it.
 */
export const ALLOWED_FAULTY: ReadonlySet<string> = new Set(['deletion', 'dying', 'same-fault']);

export const NO_PHASES: PhaseTimes = { queue: 0, overlay: 0, render: 0, check: 0 };

export function withoutWork(decision: Decision, queueMs = 0): Judgement {
  return {
    decision,
    warnings: [],
    executed: 0,
    checkerRuns: 0,
    phasesMs: { ...NO_PHASES, queue: queueMs },
    render: undefined,
  };
}

export function denied(reason: string, message: string, code = 422): Decision {
  return { kind: 'denied', code, reason, message };
}

/** Short, since each attempt of the caller waits here for its whole budget anyway. */
export function unjudged(reason: string, message: string, code: 503 | 504 = 503, retryAfterSeconds = 1): Decision {
  return { kind: 'unjudged', code, reason, message, retryAfterSeconds };
}
