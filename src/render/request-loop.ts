import { type MessagePort, receiveMessageOnPort } from 'node:worker_threads';
import type { Doorbell } from './doorbell.js';
import type { ReplyMessage, RequestMessage, RequestName, ThreadApi } from './protocol.js';
import type { Renderer } from './renderer.js';
import type { Reviewer } from './reviewer.js';
import { runBounded, TimedOut } from './run-bounded.js';

export type Handlers = {
  readonly [Name in RequestName]: (body: ThreadApi[Name][0], id: number | undefined) => ThreadApi[Name][1];
};

/** Requests that are answered while the thread lingers: reviews, and what comes with each of them. */
const LINGERED: ReadonlySet<RequestName> = new Set(['review', 'remember', 'forget', 'release']);

/** After so long without a request there may be time for other work. */
const IDLE_MS = 2;
/** A cold render's files are asked for at once; what it has left to do waits until they are on their way. */
const FINISH_AFTER_MS = 20;

/**
 * Answers the main thread's requests in order. After a review it lingers for a moment inside a time bound that serves for
 * the next ones: to make one for each would cost as much as the review, and so it is made before the review is there.
 */
export class RequestLoop {
  /** What is being answered, for the case that the bound ends it. */
  #current: { readonly id: number | undefined; reply?: ReplyMessage } | undefined;

  #finishing: NodeJS.Timeout | undefined;

  constructor(
    private readonly port: MessagePort,
    private readonly doorbell: Doorbell,
    private readonly handlers: Handlers,
    private readonly renderer: Renderer,
    private readonly reviewer: Reviewer,
  ) {}

  take(text: string): void {
    let next: RequestMessage | undefined = JSON.parse(text) as RequestMessage;
    while (next !== undefined) {
      this.#answer(next);
      this.#finishLater();
      next = next.name === 'review' ? this.#linger((next.body as ThreadApi['review'][0]).timeoutMs) : undefined;
    }
  }

  /** While outputs are checked and published, there is time to build what the next render needs. */
  #finishLater(): void {
    clearTimeout(this.#finishing);
    if (this.renderer.isUnfinished) this.#finishing = setTimeout(() => this.renderer.finish(), FINISH_AFTER_MS);
  }

  /** Whatever happens in a request, the thread answers it and goes on; errors travel as text (SES would hide them). */
  #answer(request: RequestMessage): void {
    const { id } = request;
    this.#current = { id };
    const body = this.#replyTo(request);
    if (id !== undefined) this.port.postMessage(JSON.stringify((this.#current.reply = { id, ...body })));
    this.#current = undefined;
  }

  #replyTo({ id, name, body }: RequestMessage): { readonly body: unknown } | { readonly error: string } {
    try {
      return { body: (this.handlers[name] as (body: unknown, id: number | undefined) => unknown)(body, id) };
    } catch (error) {
      return { error: error instanceof Error ? `${error.message}\n${error.stack ?? ''}` : String(error) };
    }
  }

  /** Gives the first request that is to be answered outside. */
  #linger(timeoutMs: number): RequestMessage | undefined {
    const lingerMs = this.reviewer.patience(timeoutMs) - timeoutMs;
    const until = performance.now() + lingerMs;
    try {
      return runBounded(() => this.#answerUntil(until), timeoutMs + lingerMs);
    } catch (error) {
      if (!(error instanceof TimedOut)) throw error;
      this.#stopped();
      return undefined;
    }
  }

  #answerUntil(until: number): RequestMessage | undefined {
    for (;;) {
      const leftMs = until - performance.now();
      if (leftMs <= 0) return undefined;
      const { rings } = this.doorbell;
      const received = receiveMessageOnPort(this.port) as { readonly message: string } | undefined;
      if (received === undefined) {
        const rang = this.doorbell.wait(rings, Math.min(leftMs, IDLE_MS));
        if (!rang && !this.reviewer.settle()) this.doorbell.wait(rings, leftMs);
        continue;
      }
      const request = JSON.parse(received.message) as RequestMessage;
      if (!LINGERED.has(request.name)) return request;
      this.#answer(request);
    }
  }

  /** The bound has ended what was being done; who asked for it gets an answer all the same. */
  #stopped(): void {
    const stopped = this.#current;
    this.#current = undefined;
    const review = this.reviewer.stopped();
    // An answer that may have been sent already is sent again: the main thread takes the first.
    if (stopped?.id !== undefined)
      this.port.postMessage(JSON.stringify(stopped.reply ?? { id: stopped.id, body: review ?? null }));
  }
}
