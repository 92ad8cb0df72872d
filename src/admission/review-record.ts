/** What one finished review leaves for the log and the metrics. */

/** Time of a review by phase, milliseconds. */
export interface PhaseTimes {
  readonly queue: number;
  readonly overlay: number;
  readonly render: number;
  readonly check: number;
}

export type Verdict = 'allowed' | 'denied' | 'unjudged';

export interface ReviewRecord {
  readonly uid: string;
  readonly operation: string;
  /** `ingresses shop/web`, or `ingressclasses haproxy` for a cluster-scoped object. */
  readonly object: string;
  readonly verdict: Verdict;
  /** HTTP-like status: 200 when allowed. */
  readonly code: number;
  /** Short machine word for why: `unchanged`, `passed`, `refused`, `cold`, `queue-full`, `out-of-scope`, ... */
  readonly reason: string;
  readonly message: string;
  readonly warnings: readonly string[];
  readonly dryRun: boolean;
  /** Component instances executed for this review. */
  readonly executed: number;
  /** Checker processes this review waited for; a run shared by several reviews counts for each. */
  readonly checkerRuns: number;
  readonly phasesMs: PhaseTimes;
  readonly totalMs: number;
}
