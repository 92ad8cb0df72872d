import type { ApiClient } from './api-client.js';
import { ApiError } from './api-error.js';
import {
  indexText,
  type OccurrenceFile,
  type OccurrenceIndex,
  packOccurrence,
  parseIndex,
  partName,
} from './published-occurrence.js';

export const PUBLISHED_LABEL = 'rendergate.dev/published';

export interface SecretPublisherOptions {
  readonly client: ApiClient;
  readonly namespace: string;
  /** Name of the index Secret; the parts' names begin with it. */
  readonly secret: string;
}

interface Metadata {
  readonly name: string;
  readonly resourceVersion?: string;
}

interface IndexSecret {
  readonly metadata: Metadata;
  readonly data?: Readonly<Record<string, string>>;
}

/**
 * Publishes occurrences as Secrets, for HAProxies in other Pods (issue of live clusters, part 9): first the parts, then
 * the index, so that an index never names what is not there. The parts of the occurrence before stay, since a follower
 * may be reading them; older ones are removed.
 */
export class SecretPublisher {
  constructor(private readonly options: SecretPublisherOptions) {}

  /**
   * Rejects when the index was not written; then followers keep what they have. So it does when the signal (the leader's
   * term) has aborted before.
   */
  async publish(
    files: readonly OccurrenceFile[],
    occurrence: string,
    signal?: AbortSignal,
  ): Promise<{ readonly path: string }> {
    const { namespace, secret } = this.options;
    const path = `secret ${namespace}/${secret}`;
    try {
      const { index, parts } = await packOccurrence(files, occurrence);
      for (const [at, part] of parts.entries()) await this.#writePart(index, at, part);
      signal?.throwIfAborted();
      const before = await this.#writeIndex(index, signal);
      await this.#removeOthers([index, ...(before === undefined ? [] : [before])]);
      return { path };
    } catch (error) {
      throw new Error(`Cannot publish ${occurrence} to ${path}: ${explain(error, namespace)}`, { cause: error });
    }
  }

  async #writePart(index: OccurrenceIndex, at: number, part: Buffer): Promise<void> {
    const name = partName(this.options.secret, index, at);
    try {
      await this.options.client.json({ method: 'POST', path: this.#path(), body: this.#part(name, part) });
    } catch (error) {
      // Named after its content, and immutable: it is the same part.
      if (!(error instanceof ApiError && error.status === 409)) throw error;
    }
  }

  #part(name: string, part: Buffer): object {
    return { ...this.#secret({ name }), immutable: true, data: { part: part.toString('base64') } };
  }

  /**
   * Returns the index that was in force. The revision is compared: of two leaders whose terms follow one another, the
   * earlier one's late write is refused.
   */
  async #writeIndex(index: OccurrenceIndex, signal: AbortSignal | undefined): Promise<OccurrenceIndex | undefined> {
    const { client, secret } = this.options;
    const held = await this.#held();
    const data = { 'index.json': Buffer.from(indexText(index)).toString('base64') };
    const body = { ...this.#secret({ name: secret, ...versionOf(held) }), data };
    const until = signal === undefined ? {} : { signal };
    if (held === undefined) await client.json({ method: 'POST', path: this.#path(), body, ...until });
    else await client.json({ method: 'PUT', path: this.#path(secret), body, ...until });
    return held === undefined ? undefined : indexOf(held);
  }

  async #held(): Promise<IndexSecret | undefined> {
    try {
      return await this.options.client.json<IndexSecret>({ path: this.#path(this.options.secret) });
    } catch (error) {
      if (error instanceof ApiError && error.status === 404) return undefined;
      throw error;
    }
  }

  async #removeOthers(kept: readonly OccurrenceIndex[]): Promise<void> {
    const { client, secret } = this.options;
    const stay = new Set([secret, ...kept.flatMap((index) => partNames(secret, index))]);
    const { items } = await client.json<{ readonly items: readonly { readonly metadata: Metadata }[] }>({
      path: this.#path(),
      query: { labelSelector: `${PUBLISHED_LABEL}=${secret}` },
    });
    for (const { metadata } of items.filter((item) => !stay.has(item.metadata.name)))
      await client.json({ method: 'DELETE', path: this.#path(metadata.name) }).catch(ignoreMissing);
  }

  #secret(metadata: Metadata): object {
    const labels = { [PUBLISHED_LABEL]: this.options.secret, 'app.kubernetes.io/managed-by': 'rendergate' };
    return { apiVersion: 'v1', kind: 'Secret', type: 'Opaque', metadata: { ...metadata, labels } };
  }

  #path(name?: string): string {
    const base = `/api/v1/namespaces/${this.options.namespace}/secrets`;
    return name === undefined ? base : `${base}/${name}`;
  }
}

function partNames(secret: string, index: OccurrenceIndex): readonly string[] {
  return Array.from({ length: index.parts }, (_, at) => partName(secret, index, at));
}

function versionOf(held: IndexSecret | undefined): { readonly resourceVersion?: string } {
  const version = held?.metadata.resourceVersion;
  return version === undefined ? {} : { resourceVersion: version };
}

/** Undefined for what is no index of ours: it is written over. */
function indexOf({ data }: IndexSecret): OccurrenceIndex | undefined {
  try {
    return parseIndex(Buffer.from(data?.['index.json'] ?? '', 'base64').toString('utf8'));
  } catch {
    return undefined;
  }
}

function ignoreMissing(error: unknown): undefined {
  if (error instanceof ApiError && error.status === 404) return undefined;
  throw error;
}

function explain(error: unknown, namespace: string): string {
  const message = error instanceof Error ? error.message : String(error);
  if (!(error instanceof ApiError)) return message;
  if (error.status === 403)
    return `${message}; give the service account get, list, create, update and delete on secrets in ${namespace}`;
  if (error.status === 404) return `${message}; create the namespace ${namespace}`;
  if (error.status === 409) return `${message}; another replica published meanwhile`;
  return message;
}
