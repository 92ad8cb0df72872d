import { type Contribution, sameText, sameWinner } from './contribution.js';
import type { WinnerChange } from './contribution-index.js';
import { countKey, selectKey, selectValuesKey } from './keys.js';

export type GroupWinnerChange = WinnerChange & { readonly group: string };

/** What the news need of the session they belong to. */
export interface NewsHost {
  winner(group: string, cell: string, key: string): Contribution | undefined;
  touch(key: string): void;
}

/**
 * Tells the readers of publications what a whole wave has changed. In between a key may have had a winner that nobody was
 * to see, and a cell one key less and one more: neither is a change (decision 0023, `shared.Count`).
 */
export class SelectionNews {
  readonly winnerChanges: GroupWinnerChange[] = [];
  /** By wave: keys whose winner has moved, with the winner that later waves were told of last. */
  readonly #unsettled: Map<string, Omit<GroupWinnerChange, 'after'>>[];
  #changed = new Set<string>();

  constructor(
    waves: number,
    private readonly host: NewsHost,
  ) {
    this.#unsettled = Array.from({ length: waves }, () => new Map());
  }

  note(wave: number, group: string, { cell, key, before }: WinnerChange): void {
    const noted = selectKey(group, cell, key);
    if (this.#unsettled[wave]?.has(noted) === false) this.#unsettled[wave].set(noted, { group, cell, key, before });
  }

  settle(wave: number): void {
    const counts = new Map<string, number>();
    for (const { group, cell, key, before } of this.#unsettled[wave]?.values() ?? []) {
      const after = this.host.winner(group, cell, key);
      const counted = countKey(group, cell);
      counts.set(counted, (counts.get(counted) ?? 0) + Number(after !== undefined) - Number(before !== undefined));
      if (!sameWinner(before, after)) this.winnerChanges.push({ group, cell, key, before, after });
      if (sameText(before, after)) continue;
      this.#touch(selectKey(group, cell, key));
      this.#touch(selectValuesKey(group, cell));
    }
    for (const [key, more] of counts) if (more !== 0) this.#touch(key);
    this.#unsettled[wave]?.clear();
  }

  /** Reads that have another answer than before; each is told once. */
  takeChanged(): ReadonlySet<string> {
    const changed = this.#changed;
    this.#changed = new Set();
    return changed;
  }

  #touch(key: string): void {
    this.#changed.add(key);
    this.host.touch(key);
  }
}
