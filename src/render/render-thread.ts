import { Worker } from 'node:worker_threads';
import type { RenderConfig } from '../config/render-config.js';
import { Doorbell } from './doorbell.js';
import { ProgressBuffer, type RenderProgress } from './progress.js';
import type { NewsName, ReplyMessage, RequestName, ThreadApi } from './protocol.js';
import type { ThreadData } from './thread-main.js';

/** The thread ended (out of memory, terminated) before it could answer. */
export class ThreadLost extends Error {
  override readonly name = 'ThreadLost';
  readonly code = 'RENDER_THREAD_LOST';
}

interface Waiting {
  resolve(body: unknown): void;
  reject(error: Error): void;
}

/** Stacks of deeply nested templates need no more; a larger one only costs memory. */
const STACK_MIB = 4;

/**
 * The main thread's end of one render thread. Requests are answered in order; a thread that dies rejects what is under way
 * with ThreadLost and takes its stores with it: whoever owns it starts another and feeds it again (DESIGN 1).
 */
export class RenderThread {
  readonly #worker: Worker;
  readonly #progress = new ProgressBuffer();
  readonly #doorbell = new Doorbell();
  #ringLater: NodeJS.Immediate | undefined;
  readonly #waiting = new Map<number, Waiting>();
  readonly #exited: Promise<void>;
  #next = 0;
  /** The newest reconcile request; it may have been answered. */
  #reconcile: number | undefined;
  #lost: ThreadLost | undefined;

  constructor(
    config: RenderConfig,
    private readonly onLost: (reason: string) => void = () => undefined,
  ) {
    const workerData: ThreadData = {
      config: JSON.stringify(config),
      progress: this.#progress.shared,
      doorbell: this.#doorbell.shared,
    };
    const resourceLimits = { maxOldGenerationSizeMb: config.render.heapMiB, stackSizeMb: STACK_MIB };
    this.#worker = new Worker(threadFile(), { workerData, resourceLimits, stdout: false, stderr: false });
    this.#worker.on('message', (text: string) => this.#answered(JSON.parse(text) as ReplyMessage));
    this.#worker.on('error', (error) => this.#fail(error.message));
    this.#exited = new Promise((resolve) => {
      this.#worker.on('exit', (code) => {
        this.#fail(`it ended with code ${code}`);
        resolve();
      });
    });
  }

  get progress(): RenderProgress {
    return this.#progress.read();
  }

  get lost(): boolean {
    return this.#lost !== undefined;
  }

  request<Name extends RequestName>(name: Name, body: ThreadApi[Name][0]): Promise<ThreadApi[Name][1]> {
    if (this.#lost !== undefined) return Promise.reject(this.#lost);
    const id = ++this.#next;
    if (name === 'reconcile') this.#reconcile = id;
    return new Promise((resolve, reject) => {
      this.#waiting.set(id, { resolve: resolve as (body: unknown) => void, reject });
      this.#worker.postMessage(JSON.stringify({ id, name, body }));
      this.#doorbell.ring();
    });
  }

  /** Without an answer. The thread hears of it before the next request; lost with the thread. */
  tell<Name extends NewsName>(name: Name, body: ThreadApi[Name][0]): void {
    if (this.#lost !== undefined) return;
    this.#worker.postMessage(JSON.stringify({ name, body }));
    // To wake a thread takes its time: whoever waits for what is done in this turn comes first.
    this.#ringLater ??= setImmediate(() => {
      this.#ringLater = undefined;
      this.#doorbell.ring();
    });
  }

  /** Asks the reconcile render that was requested last to stop between two instances, whether or not it has begun. */
  cancel(): void {
    this.#progress.cancel(this.#reconcile);
  }

  /** Ends the thread, whatever it is doing; its stores are lost. */
  async terminate(): Promise<void> {
    this.#lost ??= new ThreadLost('the render thread was terminated');
    await this.#worker.terminate();
    await this.#exited;
  }

  #answered(reply: ReplyMessage): void {
    const waiting = this.#waiting.get(reply.id);
    this.#waiting.delete(reply.id);
    if ('error' in reply) waiting?.reject(new Error(reply.error));
    else waiting?.resolve(reply.body);
  }

  #fail(reason: string): void {
    const first = this.#lost === undefined;
    this.#lost ??= new ThreadLost(`the render thread was lost: ${reason}`);
    for (const waiting of this.#waiting.values()) waiting.reject(this.#lost);
    this.#waiting.clear();
    if (first) this.onLost(reason);
  }
}

/** A worker runs built code; under a test runner this file is the source, and the built one stands beside it in dist/. */
function threadFile(): URL {
  const here = new URL('./thread-main.js', import.meta.url).href;
  return new URL(here.includes('/dist/') ? here : here.replace('/src/render/', '/dist/src/render/'));
}
