import type { Row } from './table.js';

export interface Suite {
  /** Rows that it measures; every name once. */
  readonly rows: readonly string[];
  run(): Promise<readonly Row[]>;
}

/** Each runs in a process of its own, one after the other, so that none meets the heap or the JIT state of another. */
export const SUITES: Readonly<Record<string, Suite>> = {
  cold: {
    rows: ['cold-render-3000', 'cold-render-3000-ms', 'baseline-a-3000-ms', 'cold-render-3000-fresh-thread'],
    run: async () => (await import('./render-rows.js')).coldRows(),
  },
  change: {
    rows: [
      'one-change-3000',
      'one-change-3000-ms',
      'one-change-3000-a-ms',
      'one-change-executed',
      'one-change-verified',
    ],
    run: async () => (await import('./render-rows.js')).changeRows(),
  },
  review: {
    rows: [
      'review-3000-to-300',
      'review-3000-to-echo',
      'review-300-ms',
      'review-3000-ms',
      'echo-ms',
      'review-3000-16-connections',
    ],
    run: async () => (await import('./review-rows.js')).reviewRows(),
  },
  publish: {
    rows: ['file-to-output-3000', 'file-to-output-3000-ms', 'bare-check-3000-ms'],
    run: async () => (await import('./publish-rows.js')).publishRows(),
  },
  burst: {
    rows: [
      'burst-unjudged',
      'burst-denied',
      'burst-time',
      'burst-checker-runs',
      'burst-checkers-at-once',
      'burst-livez-p99',
      'burst-livez-max',
      'burst-heap',
    ],
    run: async () => (await import('./burst-rows.js')).burstRows(),
  },
};
