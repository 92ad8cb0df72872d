import { once } from '../graph/once.js';
import { emptyTree } from '../store/snapshot.js';
import { type Contribution, entryKey, sameWinner } from './contribution.js';
import type { ContributionIndex, Contributions, WinnerChange } from './contribution-index.js';

/** The contributions to one key, the winner first. */
type Contenders = Contribution[];

/**
 * A group's contributions in a session that began with none, as in every cold render: plain Maps, which cost a fraction
 * of an ordered tree. The tree is made of them once, after the commit.
 */
export class FreshContributions implements Contributions {
  readonly #cells = new Map<string, Map<string, Contenders>>();
  /** Winners of a cell in key order, until the cell changes. */
  readonly #ordered = new Map<string, readonly Contribution[]>();

  count(cell: string): number {
    return this.#cells.get(cell)?.size ?? 0;
  }

  winner(cell: string, key: string): Contribution | undefined {
    return this.#cells.get(cell)?.get(key)?.[0];
  }

  winners(cell: string): readonly Contribution[] {
    const held = this.#ordered.get(cell);
    if (held !== undefined) return held;
    const winners = sortedEntries(this.#cells.get(cell) ?? new Map<string, Contenders>()).flatMap(
      ([, contenders]) => contenders[0] ?? [],
    );
    this.#ordered.set(cell, winners);
    return winners;
  }

  replace(before: readonly Contribution[], after: readonly Contribution[]): readonly WinnerChange[] {
    // Nearly every instance of a cold render.
    if (before.length === 0) return this.#insertAll(after);
    const first = new Map<string, Map<string, Contribution | undefined>>();
    const note = ({ cell, key }: Contribution): void => {
      const keys = first.get(cell) ?? new Map<string, Contribution | undefined>();
      if (keys.size === 0) first.set(cell, keys);
      if (!keys.has(key)) keys.set(key, this.winner(cell, key));
    };
    for (const contribution of before) {
      note(contribution);
      this.#remove(contribution);
    }
    for (const contribution of after) {
      note(contribution);
      this.#insert(contribution);
    }
    return this.#changesSince(first);
  }

  #insertAll(contributions: readonly Contribution[]): readonly WinnerChange[] {
    const changes: WinnerChange[] = [];
    for (const contribution of contributions) {
      const { cell, key, owner } = contribution;
      const { contenders, before } = this.#insert(contribution);
      const [after] = contenders;
      this.#ordered.delete(cell);
      // What the instance itself has put in before is no winner that anybody has seen.
      const own = before?.owner === owner ? changes.findIndex((change) => change.after === before) : -1;
      const seen = own < 0 ? before : changes[own]?.before;
      if (own >= 0) changes.splice(own, 1);
      if (!sameWinner(seen, after)) changes.push({ cell, key, before: seen, after });
    }
    return changes;
  }

  #changesSince(first: ReadonlyMap<string, ReadonlyMap<string, Contribution | undefined>>): WinnerChange[] {
    const changes: WinnerChange[] = [];
    for (const [cell, keys] of first) {
      this.#ordered.delete(cell);
      for (const [key, before] of keys) {
        const after = this.winner(cell, key);
        if (!sameWinner(before, after)) changes.push({ cell, key, before, after });
      }
    }
    return changes;
  }

  /** The key's contenders, and who was their winner before. */
  #insert(contribution: Contribution): { readonly contenders: Contenders; readonly before: Contribution | undefined } {
    const { cell, key } = contribution;
    let keys = this.#cells.get(cell);
    if (keys === undefined) this.#cells.set(cell, (keys = new Map<string, Contenders>()));
    const contenders = keys.get(key);
    if (contenders === undefined) {
      const alone = [contribution];
      keys.set(key, alone);
      return { contenders: alone, before: undefined };
    }
    const [before] = contenders;
    // From the end: a cold render comes by in canonical order.
    const place = entryKey(contribution);
    contenders.splice(contenders.findLastIndex((other) => entryKey(other) < place) + 1, 0, contribution);
    return { contenders, before };
  }

  #remove({ cell, key, owner, call }: Contribution): void {
    const keys = this.#cells.get(cell);
    const left = keys?.get(key)?.filter((held) => held.owner !== owner || held.call !== call) ?? [];
    if (left.length > 0) keys?.set(key, left);
    else keys?.delete(key);
  }

  /** An index that is made when somebody looks at it; nothing may be replaced any more. */
  toIndex(): ContributionIndex {
    const made = once(() => this.#made());
    return {
      get entries() {
        return made().entries;
      },
      get counts() {
        return made().counts;
      },
    };
  }

  #made(): ContributionIndex {
    const entries = emptyTree<Contribution>();
    const counts = new Map<string, number>();
    for (const [cell, keys] of sortedEntries(this.#cells)) {
      if (keys.size > 0) counts.set(cell, keys.size);
      for (const [, contenders] of sortedEntries(keys))
        for (const contribution of contenders) entries.set(entryKey(contribution), contribution);
    }
    return { entries, counts };
  }
}

function sortedEntries<T>(map: ReadonlyMap<string, T>): [string, T][] {
  return [...map].sort(([a], [b]) => (a < b ? -1 : 1));
}
