import { setTimeout as delay } from 'node:timers/promises';
import type { Logger } from 'pino';
import type { ObjectChange } from '../render/protocol.js';
import type { ApiClient } from './api-client.js';
import { ApiError, apiError } from './api-error.js';
import { Backoff } from './backoff.js';
import { listObjects, type ListTarget, resourcePath, selectorQuery } from './list-objects.js';
import { linesOf } from './watch-lines.js';

export interface ReflectorSink {
  /** The resource's objects are exactly these. */
  listed(alias: string, changes: readonly ObjectChange[]): void;
  changed(changes: readonly ObjectChange[]): void;
}

export interface ReflectorOptions {
  readonly resource: ListTarget;
  readonly client: ApiClient;
  readonly sink: ReflectorSink;
  readonly log: Logger;
  /** A watch that has sent nothing for so long is opened anew; the API server sends bookmarks once a minute. */
  readonly silenceMs?: number;
  /** What can't be done before the resource was listed, for the log. */
  readonly untilListed?: string;
}

interface WatchEvent {
  readonly type: string;
  readonly object: {
    readonly metadata?: { readonly name?: string; readonly namespace?: string; readonly resourceVersion?: string };
    readonly code?: number;
  };
}

const SILENCE_MS = 150_000;
/** client-go's: each watch ends by itself after 5 to 10 minutes, so that load spreads over API servers. */
const WATCH_SECONDS = { least: 300, more: 300 } as const;
/** A watch that ends sooner, and without a word, is not opened again at once. */
const HASTE_MS = 1_000;
/** How often an optional resource that the server does not know is looked for. */
const ABSENT_MS = 30_000;
/** Failures in a row after which it is an error and no mere hiccup. */
const LOUD_AFTER = 3;

/**
 * Keeps one resource's objects as the API server has them: one list, then a watch from its revision on, and again a list
 * when the server has forgotten that revision (modelled on client-go's reflector.go). It holds no objects itself.
 */
export class Reflector {
  #version: string | undefined;
  #failures = 0;
  #problem: string | undefined;
  #listed = false;
  readonly #backoff = new Backoff();
  readonly #closing = new AbortController();
  #running: Promise<void> | undefined;
  #toListed: () => void = () => undefined;
  /** Resolves once the resource has been listed for the first time. */
  readonly synced = new Promise<void>((resolve) => (this.#toListed = resolve));

  constructor(private readonly options: ReflectorOptions) {}

  get alias(): string {
    return this.options.resource.alias;
  }

  /** Whether the objects were listed at least once. */
  get isListed(): boolean {
    return this.#listed;
  }

  /** Why it does not follow the server now; undefined while it does. */
  get problem(): string | undefined {
    return this.#problem;
  }

  start(): void {
    this.#running ??= this.#run();
  }

  async close(): Promise<void> {
    this.#closing.abort();
    await this.#running;
  }

  async #run(): Promise<void> {
    const { signal } = this.#closing;
    while (!signal.aborted) {
      try {
        if (this.#version === undefined) await this.#list(signal);
        await this.#watch(signal);
      } catch (error) {
        if (signal.aborted) return;
        await this.#failed(error, signal);
      }
    }
  }

  async #list(signal: AbortSignal): Promise<void> {
    const { client, resource, sink, log } = this.options;
    const { changes, version } = await listObjects(client, resource, signal);
    sink.listed(resource.alias, changes);
    this.#version = version;
    this.#listed = true;
    this.#toListed();
    log.debug({ resource: resource.alias, objects: changes.length }, 'listed');
    this.#worked();
  }

  async #watch(signal: AbortSignal): Promise<void> {
    const { client, resource, silenceMs = SILENCE_MS } = this.options;
    const seconds = WATCH_SECONDS.least + Math.floor(Math.random() * WATCH_SECONDS.more);
    const stream = await client.stream(
      {
        path: resourcePath(resource),
        query: {
          ...selectorQuery(resource),
          watch: '1',
          allowWatchBookmarks: 'true',
          resourceVersion: this.#version ?? '',
          timeoutSeconds: String(seconds),
        },
        signal,
      },
      silenceMs,
    );
    const opened = performance.now();
    let isSilent = true;
    for await (const lines of linesOf(stream)) {
      isSilent = false;
      this.#take(lines.filter((line) => line.trim() !== '').map((line) => this.#parsed(line)));
      this.#worked();
    }
    if (isSilent && performance.now() - opened < HASTE_MS) throw new Error('the watch ended as soon as it was opened');
  }

  /** What can't be read may have been any event: only a list tells what the objects are now. */
  #parsed(line: string): WatchEvent {
    try {
      return JSON.parse(line) as WatchEvent;
    } catch {
      this.#version = undefined;
      throw new Error('the watch sent a line that is no JSON');
    }
  }

  #take(events: readonly WatchEvent[]): void {
    const changes: ObjectChange[] = [];
    try {
      for (const event of events) changes.push(...this.#changesOf(event));
    } finally {
      // What came before a bad event counts: the revision has moved past it.
      if (changes.length > 0) this.options.sink.changed(changes);
    }
  }

  #changesOf({ type, object }: WatchEvent): readonly ObjectChange[] {
    if (type === 'ERROR') throw apiError('watch', object.code ?? 500, JSON.stringify(object));
    const { name, namespace = '', resourceVersion = '' } = object.metadata ?? {};
    if (this.#isRepeated(resourceVersion)) return [];
    this.#version = resourceVersion;
    if (type === 'BOOKMARK' || name === undefined) return [];
    return [{ alias: this.alias, namespace, name, text: type === 'DELETED' ? undefined : JSON.stringify(object) }];
  }

  /** Events of one resource come with ascending revisions; a stream that goes back has lost its order, and is given up. */
  #isRepeated(version: string): boolean {
    if (!isNumber(version) || !isNumber(this.#version ?? '')) return false;
    const [next, held] = [BigInt(version), BigInt(this.#version ?? '')];
    if (next < held) {
      this.#version = undefined;
      throw new Error(`the watch went back from revision ${held} to ${next}`);
    }
    return next === held;
  }

  #worked(): void {
    if (this.#problem !== undefined && this.#failures >= LOUD_AFTER)
      this.options.log.info({ resource: this.alias }, 'resource is followed again');
    this.#failures = 0;
    this.#problem = undefined;
    this.#backoff.reset();
  }

  async #failed(error: unknown, signal: AbortSignal): Promise<void> {
    if (this.options.resource.optional && error instanceof ApiError && error.status === 404) {
      this.#version = undefined;
      await delay(ABSENT_MS, undefined, { signal }).catch(() => undefined);
      return;
    }
    const isGone = error instanceof ApiError && error.status === 410;
    if (isGone) this.#version = undefined;
    this.#failures++;
    this.#problem = error instanceof Error ? error.message : String(error);
    const asked = error instanceof ApiError ? error.retryAfterMs : undefined;
    const waitMs = isGone && this.#failures === 1 ? 0 : Math.max(this.#backoff.next(), asked ?? 0);
    const fields = {
      resource: this.alias,
      problem: this.#problem,
      retryMs: Math.round(waitMs),
      ...this.#advice(error),
    };
    if (this.#failures < LOUD_AFTER) this.options.log.debug(fields, 'watch interrupted');
    else this.options.log.error(fields, 'resource is not followed');
    await delay(waitMs, undefined, { signal }).catch(() => undefined);
  }

  #advice(error: unknown): { readonly effect: string; readonly fix?: string } {
    const { untilListed = 'nothing is rendered until it is listed' } = this.options;
    const effect = this.#listed ? 'its last known objects are served' : untilListed;
    if (!(error instanceof ApiError)) return { effect };
    const { apiVersion, resource } = this.options.resource;
    if (error.status === 403) return { effect, fix: `give the service account get, list and watch on ${resource}` };
    if (error.status === 404)
      return {
        effect,
        fix: `install the CustomResourceDefinition of ${resource} (${apiVersion}), or set optional: true`,
      };
    return { effect };
  }
}

function isNumber(version: string): boolean {
  return /^\d{1,30}$/.test(version);
}
