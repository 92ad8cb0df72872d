import { type BTree, emptyTree, SEPARATOR } from '../store/snapshot.js';
import type { Contribution } from './instance-result.js';
import { sameContribution } from './instance-result.js';

/** A contribution with its owner, as the index holds it. */
export interface OwnedContribution extends Contribution {
  readonly owner: string;
}

/** What changed in one (cell, key): its winner's text before and after; undefined where there is none. */
export interface WinnerChange {
  readonly cell: string;
  readonly key: string;
  readonly before: OwnedContribution | undefined;
  readonly after: OwnedContribution | undefined;
}

/**
 * All contributions of a group, ordered so that the first of each (cell, key) is its winner: by cell, key, rank (ranked
 * before unranked), then canonical owner and call order. Losers stay where they are, so the winner's removal promotes the
 * next one without executing anything (decision 0023, "Output and supported effects").
 */
export interface ContributionIndex {
  readonly entries: BTree<OwnedContribution>;
  /** Number of keys by cell: what `shared.count` reads in O(1). */
  readonly counts: ReadonlyMap<string, number>;
}

export function emptyIndex(): ContributionIndex {
  return { entries: emptyTree(), counts: new Map() };
}

/** A session's private copy of an index; the base is never written. */
export class ContributionDraft {
  readonly #entries: BTree<OwnedContribution>;
  readonly #counts: Map<string, number>;
  /** Winners looked up so far, by cell and key: looking one up in the tree costs more than most templates. */
  readonly #winners = new Map<string, OwnedContribution | undefined>();
  readonly #isNew: boolean;

  constructor(base: ContributionIndex) {
    this.#isNew = base.entries.size === 0;
    this.#entries = base.entries.clone();
    this.#counts = new Map(base.counts);
  }

  toIndex(): ContributionIndex {
    return { entries: this.#entries.clone(), counts: new Map(this.#counts) };
  }

  get counts(): ReadonlyMap<string, number> {
    return this.#counts;
  }

  winner(cell: string, key: string): OwnedContribution | undefined {
    const place = cell + SEPARATOR + key;
    const held = this.#winners.get(place);
    if (held !== undefined) return held;
    // What was written in this session is remembered, so over an empty base there is nothing else.
    if (this.#isNew || this.#winners.has(place)) return undefined;
    const found = winnerIn(this.#entries, cell, key);
    this.#winners.set(place, found);
    return found;
  }

  winners(cell: string): readonly OwnedContribution[] {
    return winnersIn(this.#entries, cell);
  }

  /** Replaces what `owner` contributes; returns each key whose winner is now another, or has another text. */
  replace(owner: string, before: readonly Contribution[], after: readonly Contribution[]): readonly WinnerChange[] {
    const touched = touchedKeys(before, after);
    const winners = touched.map(({ cell, key }) => this.winner(cell, key));
    before.forEach((contribution, at) => {
      if (!sameAt(contribution, after[at])) this.#entries.delete(entryKey(contribution, owner, at));
    });
    after.forEach((contribution, at) => {
      if (!sameAt(contribution, before[at]))
        this.#entries.set(entryKey(contribution, owner, at), { ...contribution, owner });
    });
    return touched.flatMap(({ cell, key }, at) => this.#change(cell, key, winners[at]));
  }

  #change(cell: string, key: string, before: OwnedContribution | undefined): WinnerChange[] {
    const after = winnerIn(this.#entries, cell, key);
    this.#winners.set(cell + SEPARATOR + key, after);
    if (before === undefined && after !== undefined) this.#counts.set(cell, (this.#counts.get(cell) ?? 0) + 1);
    if (before !== undefined && after === undefined) this.#uncount(cell);
    const same = before?.owner === after?.owner && before?.text === after?.text;
    return same ? [] : [{ cell, key, before, after }];
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

/** `0rank` sorts before `1`: a ranked contribution wins over unranked ones. */
function entryKey(contribution: Contribution, owner: string, call: number): string {
  const rank = contribution.rank === '' ? '1' : `0${contribution.rank}`;
  return [contribution.cell, contribution.key, rank, owner, String(call).padStart(7, '0')].join(SEPARATOR);
}

export function winnerIn(entries: BTree<OwnedContribution>, cell: string, key: string): OwnedContribution | undefined {
  const found = entries.getPairOrNextHigher(`${cell}${SEPARATOR}${key}${SEPARATOR}`)?.[1];
  return found !== undefined && found.cell === cell && found.key === key ? found : undefined;
}

/** Winners of a cell in key order. */
export function winnersIn(entries: BTree<OwnedContribution>, cell: string): readonly OwnedContribution[] {
  const winners: OwnedContribution[] = [];
  const start = cell + SEPARATOR;
  entries.forRange(start, `${cell}\u0001`, false, (_, contribution) => {
    if (winners.at(-1)?.key !== contribution.key) winners.push(contribution);
  });
  return winners;
}

/** All contributions to one key, the winner first. */
export function contenders(entries: BTree<OwnedContribution>, cell: string, key: string): readonly OwnedContribution[] {
  const start = `${cell}${SEPARATOR}${key}`;
  return entries.getRange(start + SEPARATOR, `${start}\u0001`).map((pair) => pair[1]);
}
