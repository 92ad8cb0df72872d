import { type BTree, emptyTree, SEPARATOR } from '../store/snapshot.js';
import { type Contribution, entryKey, sameContribution, sameWinner } from './contribution.js';
import { FreshContributions } from './fresh-contributions.js';

/** What changed in one (cell, key): its winner's text before and after; undefined where there is none. */
export interface WinnerChange {
  readonly cell: string;
  readonly key: string;
  readonly before: Contribution | undefined;
  readonly after: Contribution | undefined;
}

/**
 * All contributions of a group, ordered so that the first of each (cell, key) is its winner: by cell, key, rank (ranked
 * before unranked), then canonical owner and call order. Losers stay where they are, so the winner's removal promotes the
 * next one without executing anything (decision 0023, "Output and supported effects").
 */
export interface ContributionIndex {
  readonly entries: BTree<Contribution>;
  /** Number of keys by cell: what `shared.count` reads in O(1). */
  readonly counts: ReadonlyMap<string, number>;
}

export function emptyIndex(): ContributionIndex {
  return { entries: emptyTree(), counts: new Map() };
}

/** A session's contributions to one group: what a private copy of the base's index is asked and told. */
export interface Contributions {
  /** Number of keys in the cell. */
  count(cell: string): number;
  winner(cell: string, key: string): Contribution | undefined;
  /** Winners of a cell in key order. */
  winners(cell: string): readonly Contribution[];
  /** Replaces what an owner contributes; returns each key whose winner is now another, or has another text. */
  replace(before: readonly Contribution[], after: readonly Contribution[]): readonly WinnerChange[];
  toIndex(): ContributionIndex;
}

export function contributionsOver(base: ContributionIndex): Contributions {
  return base.entries.size === 0 ? new FreshContributions() : new ContributionDraft(base);
}

/** Over an index with entries: a private copy of its tree; the base is never written. */
class ContributionDraft implements Contributions {
  readonly #entries: BTree<Contribution>;
  readonly #counts: Map<string, number>;
  /** Winners looked up so far, by cell and key: looking one up in the tree costs more than most templates. */
  readonly #winners = new Map<string, Contribution | undefined>();

  constructor(base: ContributionIndex) {
    this.#entries = base.entries.clone();
    this.#counts = new Map(base.counts);
  }

  toIndex(): ContributionIndex {
    return { entries: this.#entries.clone(), counts: new Map(this.#counts) };
  }

  count(cell: string): number {
    return this.#counts.get(cell) ?? 0;
  }

  winner(cell: string, key: string): Contribution | undefined {
    const place = cell + SEPARATOR + key;
    const held = this.#winners.get(place);
    if (held !== undefined || this.#winners.has(place)) return held;
    const found = winnerIn(this.#entries, cell, key);
    this.#winners.set(place, found);
    return found;
  }

  winners(cell: string): readonly Contribution[] {
    return winnersIn(this.#entries, cell);
  }

  replace(before: readonly Contribution[], after: readonly Contribution[]): readonly WinnerChange[] {
    const touched = touchedKeys(before, after);
    const winners = touched.map(({ cell, key }) => this.winner(cell, key));
    before.forEach((contribution, at) => {
      if (!sameAt(contribution, after[at])) this.#entries.delete(entryKey(contribution));
    });
    after.forEach((contribution, at) => {
      if (!sameAt(contribution, before[at])) this.#entries.set(entryKey(contribution), contribution);
    });
    return touched.flatMap(({ cell, key }, at) => this.#change(cell, key, winners[at]));
  }

  #change(cell: string, key: string, before: Contribution | undefined): WinnerChange[] {
    const after = winnerIn(this.#entries, cell, key);
    this.#winners.set(cell + SEPARATOR + key, after);
    if (before === undefined && after !== undefined) this.#counts.set(cell, (this.#counts.get(cell) ?? 0) + 1);
    if (before !== undefined && after === undefined) this.#uncount(cell);
    return sameWinner(before, after) ? [] : [{ cell, key, before, after }];
  }

  #uncount(cell: string): void {
    const left = (this.#counts.get(cell) ?? 1) - 1;
    if (left === 0) this.#counts.delete(cell);
    else this.#counts.set(cell, left);
  }
}

function sameAt(left: Contribution, right: Contribution | undefined): boolean {
  return right !== undefined && sameContribution(left, right);
}

function touchedKeys(before: readonly Contribution[], after: readonly Contribution[]): { cell: string; key: string }[] {
  const touched = new Map<string, { cell: string; key: string }>();
  const note = ({ cell, key }: Contribution): unknown => touched.set(cell + SEPARATOR + key, { cell, key });
  before.forEach((contribution, at) => sameAt(contribution, after[at]) || note(contribution));
  after.forEach((contribution, at) => sameAt(contribution, before[at]) || note(contribution));
  return [...touched.values()];
}

export function winnerIn(entries: BTree<Contribution>, cell: string, key: string): Contribution | undefined {
  const found = entries.getPairOrNextHigher(`${cell}${SEPARATOR}${key}${SEPARATOR}`)?.[1];
  return found !== undefined && found.cell === cell && found.key === key ? found : undefined;
}

/** Winners of a cell in key order. */
export function winnersIn(entries: BTree<Contribution>, cell: string): readonly Contribution[] {
  const winners: Contribution[] = [];
  const start = cell + SEPARATOR;
  entries.forRange(start, `${cell}\u0001`, false, (_, contribution) => {
    if (winners.at(-1)?.key !== contribution.key) winners.push(contribution);
  });
  return winners;
}

/** All contributions to one key, the winner first. */
export function contenders(entries: BTree<Contribution>, cell: string, key: string): readonly Contribution[] {
  const start = `${cell}${SEPARATOR}${key}`;
  return entries.getRange(start + SEPARATOR, `${start}\u0001`).map((pair) => pair[1]);
}
