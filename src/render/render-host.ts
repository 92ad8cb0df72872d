import type { RenderConfig } from '../config/render-config.js';
import type { RenderProgress } from './progress.js';
import type { NewsName, ObjectChange, ReconcileReply, RequestName, StoredQuarantine, ThreadApi } from './protocol.js';
import { RenderThread } from './render-thread.js';

export interface RenderHostOptions {
  readonly config: RenderConfig;
  /** All stored objects, for a thread that starts: the host keeps none itself. */
  readonly objects: () => readonly ObjectChange[] | Promise<readonly ObjectChange[]>;
  readonly quarantine?: () => StoredQuarantine | undefined;
  /** A thread was lost; its successor is cold and fed again already. */
  readonly onRestart?: (reason: string, instance: string) => void;
}

/** A render that can be cancelled stops at its next instance, long before that. More than a shutdown waits for it. */
const CANCEL_MS = 3_000;

/**
 * Owns the render thread and replaces it when it dies, and keeps the **cold gate** (decision 0029): until a render has been
 * accepted, reviews wait here instead of starting a cold render of their own.
 */
export class RenderHost {
  #thread: RenderThread;
  #rooted = false;
  #closed = false;
  /** What the last lost thread was rendering: `backends of ingresses shop/web`. */
  #lastLost: string | undefined;
  #coldSince = performance.now();
  /** While objects for a new thread are on their way: what is asked of it meanwhile waits, or it would render without them. */
  #feeding: Promise<unknown> | undefined;
  readonly #waiters = new Set<() => void>();

  constructor(private readonly options: RenderHostOptions) {
    this.#thread = this.#start();
  }

  /** Whether there is an accepted root, so that reviews can be judged. */
  get rooted(): boolean {
    return this.#rooted;
  }

  get lastLost(): string | undefined {
    return this.#lastLost;
  }

  get progress(): RenderProgress {
    return this.#thread.progress;
  }

  /** Milliseconds since this host became cold; meaningless once it is rooted. */
  get coldForMs(): number {
    return performance.now() - this.#coldSince;
  }

  request<Name extends RequestName>(name: Name, body: ThreadApi[Name][0]): Promise<ThreadApi[Name][1]> {
    if (this.#feeding === undefined) return this.#thread.request(name, body);
    return this.#feeding.then(() => this.#thread.request(name, body));
  }

  tell<Name extends NewsName>(name: Name, body: ThreadApi[Name][0]): void {
    if (this.#feeding === undefined) this.#thread.tell(name, body);
    else void this.#feeding.then(() => this.#thread.tell(name, body));
  }

  /**
   * One reconcile render, which ends early when the signal aborts (decision 0029, 1): at its next instance. A cold one has
   * no time-out, so if no next instance comes, its thread is ended and a new one takes its place. Throws ThreadLost.
   */
  async reconcile(timeoutMs: number, signal: AbortSignal): Promise<ReconcileReply> {
    await this.#feeding;
    if (signal.aborted) return { kind: 'stopped', why: 'cancelled', message: 'the render was cancelled' };
    const thread = this.#thread;
    let ending: NodeJS.Timeout | undefined;
    const cancel = (): void => {
      thread.cancel();
      ending = setTimeout(() => this.#rooted || this.#end(thread), CANCEL_MS);
    };
    signal.addEventListener('abort', cancel);
    try {
      return await this.request('reconcile', { timeoutMs });
    } finally {
      clearTimeout(ending);
      signal.removeEventListener('abort', cancel);
    }
  }

  #end(thread: RenderThread): void {
    void thread.terminate().then(() => {
      if (thread === this.#thread) this.#replace('it did not end a render that was cancelled');
    });
  }

  cancel(): void {
    this.#thread.cancel();
  }

  /** The render passed its check: it is the accepted root, and the gate opens. */
  async accept(render: number): Promise<StoredQuarantine> {
    const stored = await this.#thread.request('accept', { render });
    this.#rooted = true;
    for (const wake of this.#waiters) wake();
    this.#waiters.clear();
    return stored;
  }

  /** Resolves true when there is a root, false when the time is up or the caller has gone. */
  waitForRoot(timeoutMs: number, signal: AbortSignal): Promise<boolean> {
    if (this.#rooted) return Promise.resolve(true);
    if (timeoutMs <= 0 || signal.aborted) return Promise.resolve(false);
    return new Promise((resolve) => {
      const finish = (): void => {
        clearTimeout(timer);
        signal.removeEventListener('abort', finish);
        this.#waiters.delete(finish);
        resolve(this.#rooted);
      };
      const timer = setTimeout(finish, timeoutMs);
      signal.addEventListener('abort', finish);
      this.#waiters.add(finish);
    });
  }

  async close(): Promise<void> {
    this.#closed = true;
    this.#thread.cancel();
    await this.#thread.terminate();
  }

  #start(): RenderThread {
    const thread = new RenderThread(this.options.config, (reason) => this.#replace(reason));
    const objects = this.options.objects();
    if ('then' in objects) this.#feedLater(thread, objects);
    else void this.#feed(thread, objects).catch(() => undefined); // a thread that dies while it is fed is replaced like any other
    return thread;
  }

  #feedLater(thread: RenderThread, objects: Promise<readonly ObjectChange[]>): void {
    const feeding = objects
      .then((changes) => {
        void this.#feed(thread, changes).catch(() => undefined);
      })
      .catch(() => undefined) // only when the cluster was closed
      .finally(() => {
        if (this.#feeding === feeding) this.#feeding = undefined;
      });
    this.#feeding = feeding;
  }

  /** Sent at once: a render that is asked for next must find both. */
  async #feed(thread: RenderThread, changes: readonly ObjectChange[]): Promise<void> {
    const fed: Promise<unknown>[] = [thread.request('store', { changes })];
    const stored = this.options.quarantine?.();
    if (stored !== undefined) fed.push(thread.request('restore', stored));
    await Promise.all(fed);
  }

  #replace(reason: string): void {
    if (this.#closed) return;
    const { instance } = this.#thread.progress;
    this.#lastLost = instance;
    this.#rooted = false;
    this.#coldSince = performance.now();
    this.#thread = this.#start();
    this.options.onRestart?.(reason, instance);
  }
}
