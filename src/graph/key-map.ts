/** Most changes in a layer over the large map; the first is copied with every commit, the second once in some commits. */
const MOST_RECENT = 32;
const MOST_CHANGES = 1_024;

/** undefined: the key is gone. */
type Changes = ReadonlyMap<string, number | undefined>;

const NONE: Changes = new Map();

/**
 * A persistent map from keys to numbers: a large plain Map that is never written again, and two layers of changes since,
 * so that a commit copies few entries and the large map only once in a thousand changed keys (3 ms for 40,000). Keys are
 * long strings, for which the language's own Map is several times faster than any tree.
 */
export class KeyMap {
  private constructor(
    private readonly large: ReadonlyMap<string, number>,
    private readonly changes: Changes,
    private readonly recent: Changes,
    readonly size: number,
  ) {}

  static readonly EMPTY = new KeyMap(new Map(), NONE, NONE, 0);

  get(key: string): number | undefined {
    const recent = this.recent.get(key);
    if (recent !== undefined || this.recent.has(key)) return recent;
    const changed = this.changes.get(key);
    if (changed !== undefined || this.changes.has(key)) return changed;
    return this.large.get(key);
  }

  keys(): IterableIterator<string> {
    return this.merged().keys();
  }

  [Symbol.iterator](): IterableIterator<[string, number]> {
    return this.merged()[Symbol.iterator]();
  }

  /** The map with these keys set, or removed where the number is undefined. */
  with(changes: Changes): KeyMap {
    if (this.changes.size + this.recent.size + changes.size > MOST_CHANGES) {
      const large = applied(this.merged(), changes);
      return new KeyMap(large, NONE, NONE, large.size);
    }
    let { size } = this;
    for (const [key, number] of changes) size += Number(number !== undefined) - Number(this.get(key) !== undefined);
    if (this.recent.size + changes.size <= MOST_RECENT)
      return new KeyMap(this.large, this.changes, overlaid(this.recent, changes), size);
    return new KeyMap(this.large, overlaid(overlaid(this.changes, this.recent), changes), NONE, size);
  }

  private merged(): Map<string, number> {
    return applied(applied(new Map(this.large), this.changes), this.recent);
  }
}

function overlaid(layer: Changes, changes: Changes): Changes {
  const all = new Map(layer);
  for (const [key, number] of changes) all.set(key, number);
  return all;
}

/** Changes the map in place. */
function applied(map: Map<string, number>, changes: Changes): Map<string, number> {
  for (const [key, number] of changes) {
    if (number === undefined) map.delete(key);
    else map.set(key, number);
  }
  return map;
}
