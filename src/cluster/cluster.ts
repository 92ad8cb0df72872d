import type { Logger } from 'pino';
import type { ObjectChange } from '../render/protocol.js';

/** Where the objects come from: a directory of manifests, or an API server (DESIGN 10). */
export interface Cluster {
  /** All objects, for a render thread that has to be fed again; nothing of what was not read yet. */
  objects(): readonly ObjectChange[] | Promise<readonly ObjectChange[]>;
  /** Begins to follow the objects. `synced` resolves when all have been told, of a sink or by `objects`, for the first time. */
  watch(log: Logger, sink: ClusterSink): Promise<{ readonly synced: Promise<void> }>;
  /** What is not followed now, one line each. */
  readonly problems: readonly string[];
  close(): Promise<void>;
}

export interface ClusterSink {
  /** The aliases' objects are exactly these. */
  listed(aliases: readonly string[], changes: readonly ObjectChange[]): void;
  changed(changes: readonly ObjectChange[]): void;
}
