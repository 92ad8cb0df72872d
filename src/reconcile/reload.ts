import type { Logger } from 'pino';
import { reloadByCommand } from './reload-command.js';
import { reloadBySocket } from './reload-socket.js';

export { ReloadError } from './reload-error.js';

/** How the HAProxy is reached: its master's Unix socket, or the words of a command, which no shell gets to see. */
export type ReloadTarget = { readonly socket: string } | { readonly command: readonly string[] };

export interface ReloadReport {
  readonly result: 'reloaded' | 'failed';
  readonly seconds: number;
}

export interface ReloaderOptions {
  readonly target: ReloadTarget;
  /** Bound of one reload, 30 s by default: HAProxy reads the whole configuration and its certificates in it. */
  readonly timeoutMs?: number;
  readonly log: Pick<Logger, 'info'>;
  readonly onReport?: (report: ReloadReport) => void;
  /** Told after each reload through the socket which version of HAProxy serves: `2.6.12-1+deb12u4`. */
  readonly onRunning?: (version: string) => void;
}

export interface Reloader {
  /**
   * Makes HAProxy take what is published, and resolves when a worker with it has started. Reloads are done one after the
   * other; those asked for while one runs become one more together, with the signal of the first of them. Rejects with
   * ReloadError (DESIGN 9).
   */
  reload(signal?: AbortSignal): Promise<void>;
}

export function createReloader(options: ReloaderOptions): Reloader {
  return new SerialReloader(options);
}

const TIMEOUT_MS = 30_000;

class SerialReloader implements Reloader {
  #running: Promise<void> | undefined;
  #next: Promise<void> | undefined;

  constructor(private readonly options: ReloaderOptions) {}

  reload(signal: AbortSignal = new AbortController().signal): Promise<void> {
    if (this.#running === undefined && this.#next === undefined) return this.#start(signal);
    this.#next ??= Promise.allSettled([this.#running]).then(() => {
      this.#next = undefined;
      return this.#start(signal);
    });
    return this.#next;
  }

  #start(signal: AbortSignal): Promise<void> {
    this.#running = this.#timed(signal).finally(() => {
      this.#running = undefined;
    });
    return this.#running;
  }

  async #timed(signal: AbortSignal): Promise<void> {
    const { log, onReport } = this.options;
    const started = performance.now();
    const seconds = (): number => (performance.now() - started) / 1000;
    try {
      const version = await this.#reload(signal);
      log.info({ seconds: Math.round(seconds() * 1000) / 1000, version }, 'HAProxy reloaded');
      onReport?.({ result: 'reloaded', seconds: seconds() });
    } catch (error) {
      onReport?.({ result: 'failed', seconds: seconds() });
      throw error;
    }
  }

  async #reload(signal: AbortSignal): Promise<string | undefined> {
    const { target, timeoutMs = TIMEOUT_MS, onRunning } = this.options;
    if ('command' in target) {
      await reloadByCommand(target.command, timeoutMs, signal);
      return undefined;
    }
    const version = await reloadBySocket(target.socket, timeoutMs, signal);
    if (version !== undefined) onRunning?.(version);
    return version;
  }
}
