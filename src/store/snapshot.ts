import sortedBTree from 'sorted-btree';
import type { Path } from './json-path.js';
import type { StoredObject } from './canonical.js';
import { indexVectors } from './key-index.js';

/** sorted-btree is CommonJS: its class arrives as the default of the default. */
export const BTree = sortedBTree.default;
export type BTree<V> = InstanceType<typeof BTree<string, V>>;

/** An empty tree. Its keys are strings, always: the tree's own order has to look at the type of every key first. */
export function emptyTree<V>(): BTree<V> {
  return new BTree<string, V>(undefined, (a, b) => (a < b ? -1 : a > b ? 1 : 0));
}

/**
 * Separates the parts of a composite key. It sorts before every character that a part may hold, so composite keys
 * sort as their parts do.
 */
export const SEPARATOR = '\0';
/** First character after SEPARATOR: the upper end of a prefix range. */
const AFTER_SEPARATOR = '\u0001';

/** One immutable state of a store. Trees are copied on write, never edited once they stand here. */
export interface SnapshotRoot {
  readonly alias: string;
  readonly revision: number;
  /** By `namespace NUL name`. */
  readonly objects: BTree<StoredObject>;
  /** By `value NUL ... value NUL namespace NUL name`. */
  readonly index: BTree<StoredObject>;
}

export function emptyRoot(alias: string, revision: number): SnapshotRoot {
  return { alias, revision, objects: emptyTree(), index: emptyTree() };
}

/** A pinned, immutable view of one store. All lists are frozen and in canonical order: namespace, then name. */
export class ObjectSnapshot {
  #list: readonly StoredObject[] | undefined;

  constructor(
    readonly root: SnapshotRoot,
    readonly paths: readonly Path[],
  ) {}

  get alias(): string {
    return this.root.alias;
  }

  get revision(): number {
    return this.root.revision;
  }

  get size(): number {
    return this.root.objects.size;
  }

  find(namespace: string, name: string): StoredObject | undefined {
    return this.root.objects.get(namespace + SEPARATOR + name);
  }

  list(): readonly StoredObject[] {
    return (this.#list ??= Object.freeze(this.root.objects.valuesArray()));
  }

  /** Identities in canonical order. */
  *identities(): IterableIterator<{ readonly namespace: string; readonly name: string }> {
    for (const key of this.root.objects.keys()) {
      const at = key.indexOf(SEPARATOR);
      yield { namespace: key.slice(0, at), name: key.slice(at + 1) };
    }
  }

  /** Objects whose key vector begins with `prefix`; [] for a prefix that no vector can have. */
  get(prefix: readonly string[]): readonly StoredObject[] {
    if (prefix.length === 0) return this.list();
    if (prefix.length > this.paths.length || prefix.some((part) => part.includes(SEPARATOR))) return Object.freeze([]);
    const start = prefix.join(SEPARATOR);
    const hits: [string, StoredObject][] = this.root.index.getRange(start + SEPARATOR, start + AFTER_SEPARATOR);
    return Object.freeze(prefix.length === this.paths.length ? hits.map((hit) => hit[1]) : inCanonicalOrder(hits));
  }
}

/** A partial prefix meets objects ordered by their further keys, and an object with several vectors more than once. */
function inCanonicalOrder(hits: readonly [string, StoredObject][]): StoredObject[] {
  const byIdentity = new Map<string, StoredObject>();
  for (const [key, object] of hits) byIdentity.set(key.split(SEPARATOR).slice(-2).join(SEPARATOR), object);
  return [...byIdentity].sort(([a], [b]) => (a < b ? -1 : 1)).map(([, object]) => object);
}

interface PresentEdit {
  readonly namespace: string;
  readonly name: string;
  readonly object: StoredObject;
}

export function withObject(
  root: SnapshotRoot,
  paths: readonly Path[],
  edit: PresentEdit,
  revision: number,
): SnapshotRoot {
  const objects = root.objects.clone();
  objects.set(edit.namespace + SEPARATOR + edit.name, edit.object);
  const keys = indexKeys(edit, paths);
  const index = keys.length === 0 ? root.index : root.index.clone();
  for (const key of keys) index.set(key, edit.object);
  return { alias: root.alias, revision, objects, index };
}

export function withoutObject(
  root: SnapshotRoot,
  paths: readonly Path[],
  namespace: string,
  name: string,
  revision: number,
): SnapshotRoot {
  const key = namespace + SEPARATOR + name;
  const object = root.objects.get(key);
  if (object === undefined) return revision === root.revision ? root : { ...root, revision };
  const objects = root.objects.clone();
  objects.delete(key);
  const keys = indexKeys({ namespace, name, object }, paths);
  const index = keys.length === 0 ? root.index : root.index.clone();
  for (const indexKey of keys) index.delete(indexKey);
  return { alias: root.alias, revision, objects, index };
}

function indexKeys(edit: PresentEdit, paths: readonly Path[]): string[] {
  return indexVectors(edit.object, paths).map((vector) => [...vector, edit.namespace, edit.name].join(SEPARATOR));
}
