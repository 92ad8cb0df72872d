import { setTimeout as delay } from 'node:timers/promises';
import type { Logger } from 'pino';
import type { ApiClient } from './api-client.js';
import { Backoff } from './backoff.js';
import { followObject } from './follow-object.js';
import {
  type OccurrenceFile,
  type OccurrenceIndex,
  parseIndex,
  partName,
  unpackOccurrence,
} from './published-occurrence.js';
import type { Reflector } from './reflector.js';

export interface OccurrenceFollowerOptions {
  readonly client: ApiClient;
  readonly namespace: string;
  readonly secret: string;
  readonly log: Logger;
  /** Puts a whole occurrence into force; one at a time. After a rejection it is called again. */
  readonly take: (files: readonly OccurrenceFile[], index: OccurrenceIndex) => Promise<void>;
}

interface IndexSecret {
  readonly data?: Readonly<Record<string, string>>;
}

/**
 * Follows what a SecretPublisher publishes. Only whole occurrences are taken, checked by digest; while the API server or
 * the publisher is away, or what they say is no occurrence, the last one stays in force.
 */
export class OccurrenceFollower {
  #wanted: OccurrenceIndex | undefined;
  #running: OccurrenceIndex | undefined;
  #problem: string | undefined = 'no occurrence has been published yet';
  #work: Promise<void> | undefined;
  readonly #backoff = new Backoff();
  readonly #closing = new AbortController();
  readonly #reflector: Reflector;
  #toTaken: () => void = () => undefined;
  /** Resolves once the first occurrence is in force. */
  readonly taken = new Promise<void>((resolve) => (this.#toTaken = resolve));

  constructor(private readonly options: OccurrenceFollowerOptions) {
    const { client, namespace, secret, log } = options;
    this.#reflector = followObject<IndexSecret>({
      ...{ client, log, untilListed: 'there is no configuration yet' },
      object: { apiVersion: 'v1', kind: 'Secret', resource: 'secrets', name: secret, namespace },
      onObject: (object) => this.#seen(object),
    });
  }

  /** What is in force; undefined before the first. */
  get running(): OccurrenceIndex | undefined {
    return this.#running;
  }

  /** Why the newest is not in force, or can't be known; undefined while all is well. */
  get problem(): string | undefined {
    return this.#problem ?? this.#reflector.problem;
  }

  start(): void {
    this.#reflector.start();
  }

  async close(): Promise<void> {
    this.#closing.abort();
    await this.#reflector.close();
    await this.#work;
  }

  #seen(index: IndexSecret | undefined): void {
    if (index === undefined) return this.#failed('the index Secret is not there');
    try {
      this.#wanted = parseIndex(decoded(index.data?.['index.json']).toString('utf8'));
    } catch {
      return this.#failed('the index Secret holds no index of rendergate');
    }
    this.#work ??= this.#takeNewest().finally(() => (this.#work = undefined));
  }

  async #takeNewest(): Promise<void> {
    const { signal } = this.#closing;
    while (!signal.aborted && this.#wanted !== undefined && this.#wanted.digest !== this.#running?.digest) {
      const index = this.#wanted;
      try {
        const files = await unpackOccurrence(index, await this.#parts(index, signal));
        await this.options.take(files, index);
        this.#inForce(index);
      } catch (error) {
        if (signal.aborted) return;
        this.#failed(error instanceof Error ? error.message : String(error));
        // A newer index may have come: its parts are fetched at once.
        if (index === this.#wanted) await delay(this.#backoff.next(), undefined, { signal }).catch(() => undefined);
      }
    }
    if (this.#wanted !== undefined && this.#wanted.digest === this.#running?.digest) this.#inForce(this.#wanted);
  }

  #inForce(index: OccurrenceIndex): void {
    if (this.#running?.digest !== index.digest)
      this.options.log.info({ occurrence: index.occurrence, digest: index.digest.slice(0, 16) }, 'occurrence in force');
    this.#running = index;
    this.#problem = undefined;
    this.#backoff.reset();
    this.#toTaken();
  }

  async #parts(index: OccurrenceIndex, signal: AbortSignal): Promise<readonly Buffer[]> {
    const { client, namespace, secret } = this.options;
    const parts: Buffer[] = [];
    for (let at = 0; at < index.parts; at++) {
      const path = `/api/v1/namespaces/${namespace}/secrets/${partName(secret, index, at)}`;
      const { data } = await client.json<{ readonly data?: Readonly<Record<string, string>> }>({ path, signal });
      parts.push(decoded(data?.['part']));
    }
    return parts;
  }

  #failed(problem: string): void {
    if (problem === this.#problem) return;
    this.#problem = problem;
    const { namespace, secret, log } = this.options;
    const effect = this.#running === undefined ? 'there is no configuration yet' : 'the last occurrence stays in force';
    log.warn({ secret: `${namespace}/${secret}`, problem, effect }, 'occurrence not taken');
  }
}

function decoded(value: string | undefined): Buffer {
  return Buffer.from(value ?? '', 'base64');
}
