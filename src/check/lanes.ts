import type { CheckLane } from './checker.js';

/** Gives the place back; calling it again does nothing. */
export type Release = () => void;

interface Waiter {
  readonly admit: () => void;
}

interface Lane {
  running: number;
  /** First come, first served; a Set so that one who gives up leaves in constant time. */
  readonly waiting: Set<Waiter>;
}

/**
 * Places for checker processes: at most `concurrency` are taken at once, and at most `concurrency - 1` (but one) by
 * one lane, so that a burst of reviews never keeps the reconcile loop from checking, nor the other way round. When a
 * place comes free, the lane that was not served last goes first.
 */
export class Lanes {
  private readonly lanes: Readonly<Record<CheckLane, Lane>> = {
    reconcile: { running: 0, waiting: new Set() },
    admission: { running: 0, waiting: new Set() },
  };
  private readonly perLane: number;
  private next: CheckLane = 'reconcile';

  constructor(private readonly concurrency: number) {
    this.perLane = Math.max(1, concurrency - 1);
  }

  /** Waits for a place. Undefined when the signal ended the wait: nothing is held then. */
  enter(lane: CheckLane, signal: AbortSignal): Promise<Release | undefined> {
    if (signal.aborted) return Promise.resolve(undefined);
    return new Promise((resolve) => {
      const waiting = this.lanes[lane].waiting;
      const leave = (): void => {
        waiting.delete(waiter);
        resolve(undefined);
      };
      const waiter: Waiter = {
        admit: () => {
          signal.removeEventListener('abort', leave);
          resolve(this.take(lane));
        },
      };
      signal.addEventListener('abort', leave, { once: true });
      waiting.add(waiter);
      this.admit();
    });
  }

  private take(lane: CheckLane): Release {
    const state = this.lanes[lane];
    state.running += 1;
    let held = true;
    return () => {
      if (!held) return;
      held = false;
      state.running -= 1;
      this.admit();
    };
  }

  private admit(): void {
    for (let lane = this.choose(); lane !== undefined; lane = this.choose()) {
      const [waiter] = this.lanes[lane].waiting;
      if (waiter === undefined) return;
      this.lanes[lane].waiting.delete(waiter);
      this.next = other(lane);
      waiter.admit();
    }
  }

  private choose(): CheckLane | undefined {
    const { reconcile, admission } = this.lanes;
    if (reconcile.running + admission.running >= this.concurrency) return undefined;
    return [this.next, other(this.next)].find((lane) => this.mayRun(this.lanes[lane]));
  }

  private mayRun(lane: Lane): boolean {
    return lane.waiting.size > 0 && lane.running < this.perLane;
  }
}

function other(lane: CheckLane): CheckLane {
  return lane === 'reconcile' ? 'admission' : 'reconcile';
}
