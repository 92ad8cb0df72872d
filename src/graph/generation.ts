import { List } from 'immutable';
import type { IdSet } from './id-set.js';
import { KeyMap } from './key-map.js';
import { once } from './once.js';
import { PagedList } from './paged-list.js';

export type NodeId = number;

/**
 * A node of the graph. An **input** stands for one exact read of the outside (present or negative) and has neither
 * frame nor value; a **query** computes. `frame` holds the dependencies that the query's last run really read.
 */
export interface GraphNode {
  readonly key: string;
  readonly kind: 'input' | 'query';
  /** Asked for from outside: stays until it is retired. Everything else stays as long as something depends on it. */
  readonly root: boolean;
  readonly frame: readonly NodeId[];
  readonly observers: IdSet;
  readonly value: unknown;
}

/** One committed state of the graph, persistent: older generations stay readable while somebody holds them. */
export interface Generation {
  readonly number: number;
  readonly nodes: PagedList<GraphNode>;
  readonly ids: KeyMap;
  /** Numbers of retired nodes, to be given out again. */
  readonly free: List<NodeId>;
}

export const EMPTY_GENERATION: Generation = {
  number: 0,
  nodes: PagedList.empty(),
  ids: KeyMap.EMPTY,
  free: List<NodeId>(),
};

/** A generation whose graph is made when somebody looks at it. */
export function deferredGeneration(number: number, make: () => Generation): Generation {
  const made = once(make);
  return {
    number,
    get nodes() {
      return made().nodes;
    },
    get ids() {
      return made().ids;
    },
    get free() {
      return made().free;
    },
  };
}

export function nodeCount(generation: Generation): number {
  return generation.ids.size;
}

export function nodeByKey(generation: Generation, key: string): GraphNode | undefined {
  const id = generation.ids.get(key);
  return id === undefined ? undefined : generation.nodes.get(id);
}
