import type { Logger } from 'pino';
import type { RenderHost } from '../render/render-host.js';

/**
 * A cold render has no time-out, so one that never returns would go unseen: once it passes the time that a warm render may
 * take, one warning says how far it is (decision 0029, 1).
 */
export class ColdWatch {
  #timer: NodeJS.Timeout | undefined;
  #warned = false;

  constructor(
    private readonly host: Pick<RenderHost, 'rooted' | 'progress'>,
    private readonly timeoutMs: number,
    private readonly log: Pick<Logger, 'warn'>,
  ) {}

  begin(): void {
    if (this.host.rooted) this.#warned = false;
    if (this.host.rooted || this.#warned) return;
    this.#timer = setTimeout(() => this.#warn(), this.timeoutMs);
    this.#timer.unref();
  }

  end(): void {
    clearTimeout(this.#timer);
  }

  close(): void {
    clearTimeout(this.#timer);
  }

  #warn(): void {
    this.#warned = true;
    const { stage, done, known, heapMiB, instance } = this.host.progress;
    this.log.warn(
      {
        stage,
        done,
        known,
        heapMiB,
        instance,
        effect: 'reviews are denied with 503 until it ends',
        fix: 'wait if "done" grows; raise memory and CPU if it is slow; if it stands still, look at the instance named here: its template may not return',
      },
      'the first full render takes longer than render.timeout',
    );
  }
}
