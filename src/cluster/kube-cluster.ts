import { setTimeout as delay } from 'node:timers/promises';
import type { Logger } from 'pino';
import type { WatchedResource } from '../config/render-config.js';
import type { ObjectChange } from '../render/protocol.js';
import type { ApiClient } from './api-client.js';
import { Backoff } from './backoff.js';
import type { Cluster, ClusterSink } from './cluster.js';
import { listObjects } from './list-objects.js';
import { Reflector, type ReflectorOptions } from './reflector.js';

/** Everything that a configuration watches, from a real API server (DESIGN 10). The objects are the render thread's alone. */
export class KubeCluster implements Cluster {
  #reflectors: readonly Reflector[] = [];
  readonly #closing = new AbortController();

  constructor(
    private readonly client: ApiClient,
    private readonly resources: readonly WatchedResource[],
    private readonly tuning: Pick<ReflectorOptions, 'silenceMs'> = {},
  ) {}

  get problems(): readonly string[] {
    return this.#reflectors.flatMap(({ alias, problem, isListed }) => {
      if (problem !== undefined) return [`${alias} ${isListed ? 'not followed' : 'not listed yet'}: ${problem}`];
      return isListed ? [] : [`${alias} not listed yet`];
    });
  }

  /** Lists again what a lost thread has had. Resources that no thread was told of yet come by their own first list. */
  async objects(): Promise<readonly ObjectChange[]> {
    const told = new Set(this.#reflectors.filter(({ isListed }) => isListed).map(({ alias }) => alias));
    const lists = this.resources.filter(({ alias }) => told.has(alias)).map((resource) => this.#listed(resource));
    return (await Promise.all(lists)).flat();
  }

  watch(log: Logger, { listed, changed }: ClusterSink): Promise<{ readonly synced: Promise<void> }> {
    const sink = { listed: (alias: string, changes: readonly ObjectChange[]) => listed([alias], changes), changed };
    this.#reflectors = this.resources.map(
      (resource) => new Reflector({ resource, client: this.client, sink, log, ...this.tuning }),
    );
    for (const reflector of this.#reflectors) reflector.start();
    const synced = Promise.all(this.#reflectors.map((reflector) => reflector.synced)).then(() => undefined);
    return Promise.resolve({ synced });
  }

  async close(): Promise<void> {
    this.#closing.abort();
    await Promise.all(this.#reflectors.map((reflector) => reflector.close()));
    await this.client.close();
  }

  /** Goes on until it has the list: a thread with a part of the objects would render a part of the configuration. */
  async #listed(resource: WatchedResource): Promise<readonly ObjectChange[]> {
    const { signal } = this.#closing;
    for (const backoff = new Backoff(); ;) {
      try {
        return (await listObjects(this.client, resource, signal)).changes;
      } catch (error) {
        if (signal.aborted) throw error;
        await delay(backoff.next(), undefined, { signal });
      }
    }
  }
}
