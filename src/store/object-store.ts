import { parsePath, type Path } from './json-path.js';
import { ObjectSnapshot, type SnapshotRoot, emptyRoot, withObject, withoutObject } from './snapshot.js';
import { identityOf, IngestError, type StoredObject } from './canonical.js';

/** One semantic change of a store. `before` or `after` is missing for a creation or a removal. */
export interface StoreChange {
  readonly alias: string;
  readonly namespace: string;
  readonly name: string;
  readonly before: StoredObject | undefined;
  readonly after: StoredObject | undefined;
}

/** A hypothetical or real new state of one identity: `object` undefined means gone. */
export interface ObjectEdit {
  readonly namespace: string;
  readonly name: string;
  readonly object: StoredObject | undefined;
}

/** Changes since a revision, or the news that they can't be told any more: then nothing may be reused. */
export type JournalReading =
  | { readonly kind: 'exact'; readonly changes: readonly StoreChange[] }
  | { readonly kind: 'gap'; readonly reason: 'trimmed' | 'replaced' };

/** Enough for a burst of several thousand changes between two renders. */
const JOURNAL_LENGTH = 16_384;

/**
 * The objects of one watched resource. Each change makes a new immutable root with the next revision; a snapshot is
 * that root, so pinning one costs nothing. The journal lists the semantic changes between roots (decision 0023,
 * "Watched-resource stores"; DESIGN 4).
 */
export class ObjectStore {
  readonly #paths: readonly Path[];
  #root: SnapshotRoot;
  #journal: { readonly revision: number; readonly change: StoreChange }[] = [];
  /** Revision up to which the journal has been trimmed; older cursors read a gap. */
  #journalStart = 0;
  #lastReplacement = -1;

  constructor(
    readonly alias: string,
    indexBy: readonly string[],
    private readonly journalLength = JOURNAL_LENGTH,
  ) {
    this.#paths = indexBy.map(parsePath);
    this.#root = emptyRoot(alias, 0);
  }

  get revision(): number {
    return this.#root.revision;
  }

  snapshot(): ObjectSnapshot {
    return new ObjectSnapshot(this.#root, this.#paths);
  }

  /** Takes the object in; returns the change, or undefined when the kept content is equal. */
  upsert(object: StoredObject): StoreChange | undefined {
    const { namespace, name } = checkedIdentity(object);
    return this.#apply({ namespace, name, object });
  }

  remove(namespace: string, name: string): StoreChange | undefined {
    return this.#apply({ namespace, name, object: undefined });
  }

  /** Applies one edit; an edit that changes nothing makes no revision. */
  #apply(edit: ObjectEdit): StoreChange | undefined {
    const before = this.snapshot().find(edit.namespace, edit.name);
    if (sameContent(before, edit.object)) return undefined;
    this.#root = applyEdit(this.#root, this.#paths, edit, this.#root.revision + 1);
    const change = { alias: this.alias, ...identity(edit), before, after: edit.object };
    this.#journal.push({ revision: this.#root.revision, change });
    if (this.#journal.length > 2 * this.journalLength) this.#trim();
    return change;
  }

  /** A new store under the same name: whatever was known of the old one is worthless. */
  replace(objects: readonly StoredObject[]): void {
    let root = emptyRoot(this.alias, this.#root.revision + 1);
    for (const object of objects) {
      root = applyEdit(root, this.#paths, { ...checkedIdentity(object), object }, root.revision);
    }
    this.#root = root;
    this.#lastReplacement = root.revision;
    this.#journal = [];
    this.#journalStart = root.revision;
  }

  changesSince(revision: number): JournalReading {
    if (revision < this.#lastReplacement) return { kind: 'gap', reason: 'replaced' };
    if (revision < this.#journalStart) return { kind: 'gap', reason: 'trimmed' };
    // Revisions are consecutive since journalStart, so the entry's place follows from its number.
    return { kind: 'exact', changes: this.#journal.slice(revision - this.#journalStart).map((entry) => entry.change) };
  }

  #trim(): void {
    const dropped = this.#journal.length - this.journalLength;
    this.#journal = this.#journal.slice(dropped);
    this.#journalStart += dropped;
  }
}

/** A snapshot with a hypothetical change set on top; the store is untouched (DESIGN 4, overlay). */
export function overlay(base: ObjectSnapshot, edits: readonly ObjectEdit[]): ObjectSnapshot {
  let root = base.root;
  for (const edit of edits) root = applyEdit(root, base.paths, edit, root.revision);
  return root === base.root ? base : new ObjectSnapshot(root, base.paths);
}

function applyEdit(root: SnapshotRoot, paths: readonly Path[], edit: ObjectEdit, revision: number): SnapshotRoot {
  const without = withoutObject(root, paths, edit.namespace, edit.name, revision);
  return edit.object === undefined ? without : withObject(without, paths, { ...edit, object: edit.object }, revision);
}

/** Both sides have sorted keys, so equal text is equal content. */
export function sameContent(left: StoredObject | undefined, right: StoredObject | undefined): boolean {
  if (left === right) return true;
  return left !== undefined && right !== undefined && JSON.stringify(left) === JSON.stringify(right);
}

function identity(edit: ObjectEdit): { namespace: string; name: string } {
  return { namespace: edit.namespace, name: edit.name };
}

const CONTROL = /[\u0000-\u001f\u007f-\u009f\u2028\u2029]/;

function checkedIdentity(object: StoredObject): { namespace: string; name: string } {
  const found = identityOf(object);
  if (found.name === '') throw new IngestError('has no metadata.name');
  if (CONTROL.test(found.name) || CONTROL.test(found.namespace)) {
    throw new IngestError('has a control character in metadata.name or metadata.namespace');
  }
  return found;
}
