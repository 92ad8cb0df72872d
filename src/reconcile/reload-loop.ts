import type { Logger } from 'pino';
import { Backoff } from '../cluster/backoff.js';
import type { Reloader } from './reload.js';

/**
 * Reloads after a publication, and where that fails goes on trying, with back-off, until HAProxy runs what is published:
 * nothing is rendered or published again for that.
 */
export class ReloadLoop {
  readonly #backoff = new Backoff();
  #problem: string | undefined;
  #retry: NodeJS.Timeout | undefined;

  constructor(
    private readonly reloader: Reloader,
    private readonly log: Pick<Logger, 'error' | 'info'>,
    /** Ends the reload under way, and all trying. */
    private readonly signal: AbortSignal,
  ) {
    signal.addEventListener('abort', () => clearTimeout(this.#retry), { once: true });
  }

  /** Why HAProxy does not run what is published, or undefined when it does. */
  get problem(): string | undefined {
    return this.#problem;
  }

  /** Resolves when the first try has ended, whatever came of it; never rejects. */
  async reload(): Promise<void> {
    clearTimeout(this.#retry);
    try {
      await this.reloader.reload(this.signal);
      this.#problem = undefined;
      this.#backoff.reset();
      // Set by an earlier try that failed while this one waited for its turn.
      clearTimeout(this.#retry);
    } catch (error) {
      this.#failed(error instanceof Error ? error.message : String(error));
    }
  }

  /** Told once: a HAProxy that is away for an hour fails each try alike. */
  #failed(problem: string): void {
    if (this.signal.aborted) return;
    if (problem !== this.#problem) this.log.error({ problem, effect: 'it is tried again' }, 'reload failed');
    this.#problem = problem;
    clearTimeout(this.#retry);
    this.#retry = setTimeout(() => void this.reload(), this.#backoff.next());
  }
}
