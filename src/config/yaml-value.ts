import { type Alias, type Document, isAlias, isMap, isScalar, isSeq, type Node, type Pair, type YAMLMap } from 'yaml';
import { type FieldPath, MAX_MISTAKES } from './diagnostics.js';
import { MAX_YAML_DEPTH } from './yaml-text.js';

/** Values with aliases written out: 20 x what the largest document without aliases is likely to hold. */
const MAX_VALUES = 100_000;
/** Characters with aliases written out; without aliases a text has no more than its own. */
const MAX_CHARACTERS = 4 * 1024 * 1024;

export interface ValueMistake {
  readonly path: FieldPath;
  readonly offset: number;
  readonly message: string;
  /** The value at the path could not be read: that it is missing follows from this mistake. */
  readonly lost: boolean;
}

/** Plain JSON of a document, with everything that JSON can't hold or that would be lost silently as a mistake. */
export interface YamlValue {
  readonly value: unknown;
  readonly mistakes: readonly ValueMistake[];
}

/**
 * Reads the value of a document: aliases written out, `<<` merged as in manifests, names such as `__proto__` own data.
 * Names that stand twice, collections as names, other types than those of JSON, aliases without an anchor, in a circle or
 * too many of them are mistakes.
 */
export function readYamlValue(document: Document): YamlValue {
  const reader = new ValueReader();
  const value = reader.read(document.contents, [], 0);
  return { value, mistakes: reader.mistakes };
}

type Members = Record<string, unknown>;

class ValueReader {
  readonly mistakes: ValueMistake[] = [];
  readonly #anchors = new Map<string, Node>();
  /** What the current place is in: an alias of one of these would never end. */
  readonly #open = new Set<unknown>();
  #aliases = 0;
  #values = MAX_VALUES;
  #characters = MAX_CHARACTERS;

  read(node: unknown, path: FieldPath, depth: number): unknown {
    if (!this.#spend(node)) return undefined;
    if (isAlias(node)) return this.#follow(node, path, depth);
    this.#name(node as Node | null);
    const tag = (node as Node | null)?.tag;
    if (tag !== undefined && !JSON_TAGS.has(tag))
      return this.#refuse(
        node,
        path,
        `has the tag ${tag}, which is none of JSON; put a value that begins with ! in quotes`,
      );
    if (isScalar(node)) return this.#scalar(node.value, node, path);
    if (!isMap(node) && !isSeq(node)) return null;
    if (depth > MAX_YAML_DEPTH) return this.#refuse(node, path, `nests deeper than ${MAX_YAML_DEPTH} levels`);
    this.#open.add(node);
    const value = isMap(node)
      ? this.#mapping(node, path, depth)
      : node.items.map((item, at) => this.read(item, [...path, at], depth + 1));
    this.#open.delete(node);
    return value;
  }

  /** False once the document is larger than a document may be; said once. */
  #spend(node: unknown): boolean {
    this.#values--;
    if (isScalar(node) && typeof node.value === 'string') this.#characters -= node.value.length;
    if (this.#values > 0 && this.#characters > 0) return true;
    this.#refuse(node, [], `more than ${MAX_VALUES} values or ${MAX_CHARACTERS} characters, aliases written out`);
    return false;
  }

  /** An anchor counts from here on, until its name is given again. */
  #name(node: Node | null): void {
    const anchor = node !== null && 'anchor' in node ? node.anchor : undefined;
    if (node !== null && anchor !== undefined && this.#aliases === 0) this.#anchors.set(anchor, node);
  }

  #follow(alias: Alias, path: FieldPath, depth: number): unknown {
    const target = this.#anchors.get(alias.source);
    if (target === undefined)
      return this.#refuse(
        alias,
        path,
        `no anchor &${alias.source} stands above; put a value that begins with * in quotes`,
      );
    if (this.#open.has(target))
      return this.#refuse(alias, path, `the alias *${alias.source} stands inside of what it repeats`);
    this.#aliases++;
    const value = this.read(target, path, depth);
    this.#aliases--;
    return value;
  }

  #scalar(value: unknown, node: Node, path: FieldPath): unknown {
    if (typeof value !== 'number' || Number.isFinite(value)) return value;
    return this.#refuse(node, path, `${String(value)} is no number of JSON`);
  }

  #mapping(map: YAMLMap, path: FieldPath, depth: number): Members {
    const members: Members = {};
    for (const pair of map.items.filter((one) => !isMerge(one))) {
      const name = this.#nameOf(pair, map, path);
      if (name === undefined) continue;
      if (!Object.hasOwn(members, name)) setOwn(members, name, this.read(pair.value, [...path, name], depth + 1));
      else this.#refuse(pair.key, [...path, name], 'stands here twice; one of the two has to go', false);
    }
    for (const pair of map.items.filter(isMerge)) this.#merge(members, pair, path, depth);
    return members;
  }

  #nameOf({ key }: Pair, map: YAMLMap, path: FieldPath): string | undefined {
    if (isScalar(key) && key.value !== null) {
      this.#name(key);
      return String(key.value);
    }
    const what = isScalar(key)
      ? 'a name is missing before the ":"'
      : 'a list, a mapping or an alias can be no name; quote it';
    this.#refuse(key ?? map, path, what, false);
    return undefined;
  }

  /** What stands in the mapping itself counts, then the earlier of several merged ones. */
  #merge(members: Members, pair: Pair, path: FieldPath, depth: number): void {
    const value = this.read(pair.value, [...path, '<<'], depth + 1);
    for (const source of Array.isArray(value) ? (value as unknown[]) : [value]) {
      if (source === undefined) continue;
      if (typeof source === 'object' && source !== null && !Array.isArray(source)) addMissing(members, source);
      else this.#refuse(pair.key, [...path, '<<'], 'merges a mapping, or a list of mappings; this is none', false);
    }
  }

  #refuse(node: unknown, path: FieldPath, message: string, lost = true): undefined {
    const offset = (node as Node | null)?.range?.[0] ?? 0;
    // What an alias repeats is the same mistake again.
    const isKnown = this.mistakes.some((known) => known.offset === offset && known.message === message);
    const isSpent = this.mistakes.some((known) => known.path.length === 0 && known.lost);
    if (!isKnown && !isSpent && this.mistakes.length < MAX_MISTAKES)
      this.mistakes.push({ path, offset, message, lost });
    return undefined;
  }
}

function addMissing(members: Members, source: object): void {
  for (const [name, member] of Object.entries(source)) if (!Object.hasOwn(members, name)) setOwn(members, name, member);
}

const JSON_TAGS: ReadonlySet<string> = new Set([
  '!',
  ...['str', 'int', 'float', 'bool', 'null', 'map', 'seq'].map((name) => `tag:yaml.org,2002:${name}`),
]);

function isMerge({ key }: Pair): boolean {
  return isScalar(key) && key.value === '<<' && key.type === 'PLAIN';
}

/** An assignment would call the setter of `__proto__`. */
function setOwn(target: Members, name: string, value: unknown): void {
  Object.defineProperty(target, name, { value, enumerable: true, writable: true, configurable: true });
}
