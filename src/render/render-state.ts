import { EMPTY_GENERATION, type Generation } from '../graph/generation.js';
import type { ObjectSnapshot } from '../store/snapshot.js';
import type { ChunkTree } from './chunk-tree.js';
import type { GroupState } from './group-state.js';
import type { Outputs, TextPiece } from './output-tree.js';

/**
 * One committed render: the graph, the snapshots it was made from, the groups' indexes and the outputs. All parts are
 * persistent and change together, as one assignment of this record (decision 0023, "Render transaction").
 */
export interface RenderState {
  readonly generation: Generation;
  /** Active instances of components with `whenAnyPathExists`. */
  readonly gatedInstances: number;
  /** By alias: what the render saw, quarantined objects replaced. */
  readonly snapshots: ReadonlyMap<string, ObjectSnapshot>;
  readonly groups: ReadonlyMap<string, GroupState>;
  /** Directory outputs: by output name, one chunk a file. */
  readonly files: ReadonlyMap<string, ChunkTree>;
  readonly outputs: Outputs;
  /** By output: the last run of its template. */
  readonly outputRuns: ReadonlyMap<string, OutputRun>;
}

/** What an output's own template wrote; it runs again only when something that it read has changed. */
export interface OutputRun {
  /** Its own text, and in between the groups that it mounts. */
  readonly parts: readonly (TextPiece | { readonly kind: 'mount'; readonly group: string })[];
  /** Keys of the inputs that it read. */
  readonly reads: readonly string[];
}

export function emptyState(): RenderState {
  return {
    generation: EMPTY_GENERATION,
    gatedInstances: 0,
    snapshots: new Map(),
    groups: new Map(),
    files: new Map(),
    outputs: new Map(),
    outputRuns: new Map(),
  };
}

/** Builds the parts that are made when somebody looks at them. */
export function completeState({ generation, groups }: RenderState): void {
  void generation.nodes;
  for (const { uniques, publications } of groups.values()) {
    void uniques.entries;
    void publications.entries;
  }
}
