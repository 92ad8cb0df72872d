import type { RenderConfig } from '../config/render-config.js';
import { compileDropped, ingest, IngestError, type StoredObject } from '../store/canonical.js';
import { ObjectStore, type StoreChange } from '../store/object-store.js';
import type { ObjectSnapshot } from '../store/snapshot.js';
import { objectLabel, refKey } from './keys.js';
import type { ObjectChange } from './protocol.js';

/** Store revisions by alias that a render has seen. */
export type Cursors = ReadonlyMap<string, number>;

export type ChangeReading =
  | { readonly kind: 'exact'; readonly changes: readonly StoreChange[] }
  | { readonly kind: 'gap'; readonly alias: string };

/** One store for each watched resource of the configuration. */
export class StoreSet {
  readonly #stores = new Map<string, ObjectStore>();
  readonly #dropped = new Map<string, ReturnType<typeof compileDropped>>();

  constructor(config: RenderConfig) {
    for (const { alias, indexBy, ignoreFields } of config.watchedResources) {
      this.#stores.set(alias, new ObjectStore(alias, indexBy));
      this.#dropped.set(alias, compileDropped(ignoreFields));
    }
  }

  /** Parses one object of an alias. Throws IngestError when the text can't be taken in. */
  parse(alias: string, text: string): StoredObject {
    const dropped = this.#dropped.get(alias);
    if (dropped === undefined) throw new IngestError(`belongs to no watched resource (${alias})`);
    return ingest(text, dropped);
  }

  store(alias: string): ObjectStore {
    const store = this.#stores.get(alias);
    if (store === undefined) throw new IngestError(`belongs to no watched resource (${alias})`);
    return store;
  }

  /** Applies changes; an object that can't be taken in is left out, and said. */
  apply(changes: readonly ObjectChange[]): readonly string[] {
    const refused: string[] = [];
    for (const change of changes) {
      try {
        this.#applyOne(change);
      } catch (error) {
        if (!(error instanceof IngestError)) throw error;
        refused.push(`${objectLabel(change.alias, change.namespace, change.name)} ${error.message}`);
      }
    }
    return refused;
  }

  #applyOne(change: ObjectChange): void {
    const store = this.store(change.alias);
    if (change.text === undefined) store.remove(change.namespace, change.name);
    else store.upsert(this.parse(change.alias, change.text));
  }

  /** Takes in a whole list: what is not in it is gone. Equal content is no change, so a list anew costs no render. */
  relist(aliases: readonly string[], changes: readonly ObjectChange[]): readonly string[] {
    const listed = new Set(changes.map(refKey));
    for (const alias of aliases) {
      for (const { namespace, name } of this.store(alias).snapshot().identities())
        if (!listed.has(refKey({ alias, namespace, name }))) this.store(alias).remove(namespace, name);
    }
    return this.apply(changes);
  }

  /** Replaces whole stores: what was known of them is worthless. */
  replace(aliases: readonly string[], changes: readonly ObjectChange[]): readonly string[] {
    for (const alias of aliases) this.store(alias).replace([]);
    return this.apply(changes);
  }

  snapshots(): ReadonlyMap<string, ObjectSnapshot> {
    return new Map([...this.#stores].map(([alias, store]) => [alias, store.snapshot()]));
  }

  cursors(): Cursors {
    return new Map([...this.#stores].map(([alias, store]) => [alias, store.revision]));
  }

  find(alias: string, namespace: string, name: string): StoredObject | undefined {
    return this.#stores.get(alias)?.snapshot().find(namespace, name);
  }

  changesSince(cursors: Cursors): ChangeReading {
    const changes: StoreChange[] = [];
    for (const [alias, store] of this.#stores) {
      const reading = store.changesSince(cursors.get(alias) ?? -1);
      if (reading.kind === 'gap') return { kind: 'gap', alias };
      changes.push(...reading.changes);
    }
    return { kind: 'exact', changes };
  }

  sizes(): Record<string, number> {
    return Object.fromEntries([...this.#stores].map(([alias, store]) => [alias, store.snapshot().size]));
  }
}
