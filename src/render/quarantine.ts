import { hash } from 'node:crypto';
import type { StoredObject } from '../store/canonical.js';
import { type ObjectEdit, sameContent } from '../store/object-store.js';
import { findKey, identityKey } from './keys.js';
import type { ObjectRef, QuarantineEntry, QuarantineRecord } from './protocol.js';

interface Held extends ObjectRef {
  readonly faults: readonly string[];
  readonly reason: string;
  /** The revision that is served in its place; undefined when it is left out. */
  readonly accepted: StoredObject | undefined;
  readonly refused: string;
  /** Inputs that its instances read: a change of one of them may mend it. */
  readonly reads: readonly string[];
}

export interface NewQuarantine extends ObjectRef {
  readonly faults: readonly string[];
  readonly reason: string;
  readonly current: StoredObject | undefined;
  readonly accepted: StoredObject | undefined;
  readonly reads: readonly string[];
}

/** The object as the stores have it now. */
type FindObject = (ref: ObjectRef) => StoredObject | undefined;

/**
 * Stored objects that would break the check or the render, each held at its last accepted revision or left out, so that
 * everybody else's changes go on (DESIGN 9). What is put in or lifted becomes an edit of the next render.
 */
export class Quarantine {
  readonly #held = new Map<string, Held>();
  /** Objects put in or lifted since the last commit. What they are served as is looked up when it is needed: it may change. */
  #moved = new Map<string, ObjectRef>();

  get size(): number {
    return this.#held.size;
  }

  has(ref: ObjectRef): boolean {
    return this.#held.has(keyOf(ref));
  }

  entry(ref: ObjectRef): QuarantineEntry | undefined {
    const held = this.#held.get(keyOf(ref));
    return held === undefined ? undefined : toEntry(held);
  }

  entries(): readonly QuarantineEntry[] {
    return [...this.#held.values()].map(toEntry);
  }

  /**
   * An accepted revision that equals the refused one is no way out, nor one that was served and is at fault itself by now:
   * then the object is left out.
   */
  put(entry: NewQuarantine): void {
    const isNoWayOut = this.#held.has(keyOf(entry)) || sameContent(entry.accepted, entry.current);
    const accepted = isNoWayOut ? undefined : entry.accepted;
    const { alias, namespace, name, faults, reason } = entry;
    const held = {
      alias,
      namespace,
      name,
      faults,
      reason,
      accepted,
      refused: contentHash(entry.current),
      reads: entry.reads,
    };
    this.#held.set(keyOf(entry), held);
    this.#moved.set(keyOf(entry), { alias, namespace, name });
  }

  /** Gives the object another try with the content it has at the next render. */
  lift(ref: ObjectRef): void {
    const { alias, namespace, name } = ref;
    if (this.#held.delete(keyOf(ref))) this.#moved.set(keyOf(ref), { alias, namespace, name });
  }

  /** Objects that read one of these inputs. */
  readersOf(inputs: ReadonlySet<string>): readonly ObjectRef[] {
    return [...this.#held.values()].filter((held) => held.reads.some((read) => inputs.has(read)));
  }

  /** Objects that are not the refused revision any more, or read something besides themselves. */
  perhapsMended(find: FindObject): readonly ObjectRef[] {
    return [...this.#held.values()].filter((held) => {
      const own = findKey(held.alias, held.namespace, held.name);
      return contentHash(find(held)) !== held.refused || held.reads.some((read) => read !== own);
    });
  }

  /** Edits of the render's view that no commit has taken in yet, by alias; a dropped render leaves them for the next. */
  edits(find: FindObject): ReadonlyMap<string, readonly ObjectEdit[]> {
    const byAlias = new Map<string, ObjectEdit[]>();
    for (const [key, ref] of this.#moved) {
      const held = this.#held.get(key);
      const edit = { namespace: ref.namespace, name: ref.name, object: held === undefined ? find(ref) : held.accepted };
      byAlias.set(ref.alias, [...(byAlias.get(ref.alias) ?? []), edit]);
    }
    return byAlias;
  }

  /** The render that applied the edits is committed. */
  committed(): void {
    this.#moved = new Map();
  }

  /** How the view of a whole render differs from the stores. */
  allEdits(find: FindObject): ReadonlyMap<string, readonly ObjectEdit[]> {
    for (const [key, { alias, namespace, name }] of this.#held) this.#moved.set(key, { alias, namespace, name });
    return this.edits(find);
  }

  records(): readonly QuarantineRecord[] {
    return [...this.#held.values()].map((held) => ({
      ...toEntry(held),
      accepted: held.accepted === undefined ? undefined : JSON.stringify(held.accepted),
      refused: held.refused,
      reads: held.reads,
    }));
  }
}

function keyOf(ref: ObjectRef): string {
  return identityKey(ref.alias, ref.namespace, ref.name);
}

function toEntry(held: Held): QuarantineEntry {
  const { alias, namespace, name, faults, reason } = held;
  return { alias, namespace, name, faults, reason, servedOld: held.accepted !== undefined };
}

export function contentHash(object: StoredObject | undefined): string {
  return object === undefined ? '' : hash('sha256', JSON.stringify(object));
}
