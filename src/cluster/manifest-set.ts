import { comparePaths } from './manifest-files.js';
import type { ManifestObject } from './manifest.js';

/** What happened to one object, after files were put together. */
export type ObjectChange =
  | {
      readonly op: 'upsert';
      readonly alias: string;
      readonly namespace: string;
      readonly name: string;
      /** The object as JSON; its metadata.namespace is the one given here. */
      readonly text: string;
    }
  | { readonly op: 'remove'; readonly alias: string; readonly namespace: string; readonly name: string };

export interface AcceptedKind {
  readonly alias: string;
  readonly namespaced: boolean;
}

/** Which kinds are wanted, and under which alias; undefined for the rest. */
export type Accepts = (apiVersion: string, kind: string) => AcceptedKind | undefined;

/** Objects that stand in two places. `holds` and `ignored` are the same file when it has them twice. */
export interface Conflict {
  readonly holds: string;
  readonly ignored: string;
  /** `ingresses shop/web`, in the order of the ignored file. */
  readonly objects: readonly string[];
}

export interface Settlement {
  readonly changes: readonly ObjectChange[];
  /** Only those that were not told before. */
  readonly conflicts: readonly Conflict[];
}

interface PlacedObject {
  readonly alias: string;
  readonly namespace: string;
  readonly name: string;
  readonly text: string;
}

/**
 * The objects of a set of files. An object that stands in several is held by the first file in path order; when that
 * one loses it, the next takes over. `put` and `drop` change files, `settle` tells what that came to.
 */
export class ManifestSet {
  readonly #files = new Map<string, ReadonlyMap<string, PlacedObject>>();
  /** Files of each object in path order; a file with the object twice is there twice. */
  readonly #holders = new Map<string, readonly string[]>();
  readonly #delivered = new Map<string, PlacedObject>();
  /** Objects that may have changed since the last settlement, in the order in which they were met. */
  readonly #touched = new Set<string>();
  /** For each object that stands in several places, the places last told. */
  readonly #told = new Map<string, string>();

  constructor(private readonly accepts: Accepts) {}

  /** Number of objects that the file has now, those included that another file holds. */
  size(file: string): number {
    return this.#files.get(file)?.size ?? 0;
  }

  /** The file has these objects now, and no others. Kinds that are not accepted are left out. */
  put(file: string, objects: readonly ManifestObject[]): void {
    this.drop(file);
    const placed = new Map<string, PlacedObject>();
    for (const object of objects) {
      const entry = place(object, this.accepts);
      if (entry === undefined) continue;
      const key = keyOf(entry);
      if (!placed.has(key)) placed.set(key, entry);
      this.#holders.set(key, insert(this.#holders.get(key), file));
      this.#touched.add(key);
    }
    this.#files.set(file, placed);
  }

  /** The file is gone. */
  drop(file: string): void {
    for (const key of this.#files.get(file)?.keys() ?? []) {
      const others = (this.#holders.get(key) ?? []).filter((holder) => holder !== file);
      if (others.length === 0) this.#holders.delete(key);
      else this.#holders.set(key, others);
      this.#touched.add(key);
    }
    this.#files.delete(file);
  }

  /** The difference to what was told at the last settlement: real changes only, by comparison of text. */
  settle(): Settlement {
    const changes = [...this.#touched].flatMap((key) => this.#changeOf(key) ?? []);
    const conflicts = this.#newConflicts();
    this.#touched.clear();
    return { changes, conflicts };
  }

  #changeOf(key: string): ObjectChange | undefined {
    const before = this.#delivered.get(key);
    const holder = this.#holders.get(key)?.[0];
    const now = holder === undefined ? undefined : this.#files.get(holder)?.get(key);
    if (now !== undefined) {
      this.#delivered.set(key, now);
      return before?.text === now.text ? undefined : { op: 'upsert', ...now };
    }
    if (before === undefined) return undefined;
    this.#delivered.delete(key);
    return { op: 'remove', alias: before.alias, namespace: before.namespace, name: before.name };
  }

  /** One entry for each pair of files, since a copied file repeats all its objects. */
  #newConflicts(): readonly Conflict[] {
    const pairs = new Map<string, Conflict & { readonly objects: string[] }>();
    for (const key of this.#touched) {
      const holders = this.#untoldHolders(key);
      const holds = holders[0] ?? '';
      for (const ignored of holders.slice(1)) {
        const pair = pairs.get(`${holds}\n${ignored}`) ?? { holds, ignored, objects: [] };
        pair.objects.push(labelOf(this.#delivered.get(key)));
        pairs.set(`${holds}\n${ignored}`, pair);
      }
    }
    return [...pairs.values()];
  }

  #untoldHolders(key: string): readonly string[] {
    const holders = this.#holders.get(key) ?? [];
    const places = holders.join('\n');
    if (holders.length < 2) this.#told.delete(key);
    if (holders.length < 2 || this.#told.get(key) === places) return [];
    this.#told.set(key, places);
    return holders;
  }
}

function insert(holders: readonly string[] | undefined, file: string): readonly string[] {
  if (holders === undefined) return [file];
  return [...holders, file].sort(comparePaths);
}

/** Names of objects have no control characters (manifest.ts refuses them), so a key stands for one object. */
function keyOf({ alias, namespace, name }: PlacedObject): string {
  return `${alias}\n${namespace}\n${name}`;
}

function labelOf(object: PlacedObject | undefined): string {
  if (object === undefined) return '';
  return object.namespace === ''
    ? `${object.alias} ${object.name}`
    : `${object.alias} ${object.namespace}/${object.name}`;
}

/** `default` for a namespaced object that names no namespace, none for a cluster-scoped one, in the text too. */
function place(object: ManifestObject, accepts: Accepts): PlacedObject | undefined {
  const accepted = accepts(object.apiVersion, object.kind);
  if (accepted === undefined) return undefined;
  const namespace = accepted.namespaced ? object.namespace || 'default' : '';
  const text = namespace === object.namespace ? object.text : withNamespace(object.text, namespace);
  return { alias: accepted.alias, namespace, name: object.name, text };
}

function withNamespace(text: string, namespace: string): string {
  const object = JSON.parse(text) as { metadata: { namespace?: string } };
  if (namespace === '') delete object.metadata.namespace;
  else object.metadata.namespace = namespace;
  return JSON.stringify(object);
}
