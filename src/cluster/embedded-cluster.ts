import type { Logger } from 'pino';
import type { WatchedResource } from '../config/render-config.js';
import type { ObjectChange } from '../render/protocol.js';
import { loadManifests, type ManifestNotice, type ManifestWatch, watchManifests } from './manifest-directory.js';
import type { Cluster, ClusterSink } from './cluster.js';
import type { Accepts, ObjectChange as ManifestChange } from './manifest-set.js';

/** Kinds without a namespace; a cluster would tell, a directory of manifests can't. */
const CLUSTER_SCOPED: ReadonlySet<string> = new Set([
  ...[
    'APIService',
    'ClusterRole',
    'ClusterRoleBinding',
    'CustomResourceDefinition',
    'GatewayClass',
    'IngressClass',
    'Namespace',
  ],
  ...['Node', 'PersistentVolume', 'PriorityClass', 'RuntimeClass', 'StorageClass', 'ValidatingWebhookConfiguration'],
]);

/** Which manifests belong to a watched resource. */
export function acceptsOf(resources: readonly WatchedResource[]): Accepts {
  const byKind = new Map(resources.map((resource) => [`${resource.apiVersion} ${resource.kind}`, resource]));
  return (apiVersion, kind) => {
    const resource = byKind.get(`${apiVersion} ${kind}`);
    return resource === undefined ? undefined : { alias: resource.alias, namespaced: !CLUSTER_SCOPED.has(kind) };
  };
}

/**
 * A directory of manifests in the place of a cluster (DESIGN 10, embedded mode). Keeps the objects' texts, since a render
 * thread that is lost takes its stores with it and its successor has to be fed again.
 */
export class EmbeddedCluster implements Cluster {
  /** A file that can't be read is told in the log, and its last good state counts. */
  readonly problems: readonly string[] = [];
  readonly #objects = new Map<string, ObjectChange>();
  #watch: ManifestWatch | undefined;

  constructor(
    private readonly directory: string,
    private readonly accepts: Accepts,
  ) {}

  objects(): readonly ObjectChange[] {
    return [...this.#objects.values()];
  }

  /** Reads the directory once; for the offline commands. Throws ManifestPathError. */
  load(): readonly ManifestNotice[] {
    const { changes, problems } = loadManifests(this.directory, this.accepts);
    this.apply(changes.map(toChange));
    return problems;
  }

  /** Watches until `close`. The first batch has arrived when it resolves; the sink hears of every later one. */
  async watch(log: Logger, sink: Pick<ClusterSink, 'changed'>): Promise<{ readonly synced: Promise<void> }> {
    let ready = false;
    this.#watch = await watchManifests(this.directory, {
      log,
      accepts: this.accepts,
      onReady: () => {
        ready = true;
      },
      onChanges: (batch) => {
        const changes = batch.map(toChange);
        this.apply(changes);
        if (ready) sink.changed(changes);
      },
    });
    return { synced: Promise.resolve() };
  }

  /** Takes changes in as if a file had them; also for an offline review that builds on the ones before. */
  apply(changes: readonly ObjectChange[]): void {
    for (const change of changes) {
      const key = `${change.alias} ${change.namespace}/${change.name}`;
      if (change.text === undefined) this.#objects.delete(key);
      else this.#objects.set(key, change);
    }
  }

  async close(): Promise<void> {
    await this.#watch?.close();
  }
}

function toChange(change: ManifestChange): ObjectChange {
  const { alias, namespace, name } = change;
  return { alias, namespace, name, text: change.op === 'upsert' ? change.text : undefined };
}
