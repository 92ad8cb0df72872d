import { SEPARATOR } from '../store/snapshot.js';

/**
 * A keyed contribution of one instance: a structured publication, or a line for `shared.unique`. Owner and call stand in
 * it, so that indexes hold the very object that the instance's result holds.
 */
export class Contribution {
  #text: string | undefined;

  constructor(
    /** Key of the instance. */
    readonly owner: string,
    /** Its place among the publications, or unique lines, of the instance, from 0. */
    readonly call: number,
    readonly cell: string,
    readonly key: string,
    /** Smallest non-empty rank wins; '' when unranked. */
    readonly rank: string,
    /** Deep-frozen canonical JSON value; of a unique contribution its text. */
    readonly value: unknown,
    text?: string,
  ) {
    this.#text = text;
  }

  /** The text, or canonical JSON of the value, which is written when two of them are compared for the first time. */
  get text(): string {
    return (this.#text ??= JSON.stringify(this.value));
  }
}

export function sameContribution(a: Contribution, b: Contribution): boolean {
  return a.cell === b.cell && a.key === b.key && a.rank === b.rank && sameText(a, b);
}

/** Whether both are there and say the same, or neither is there. */
export function sameText(a: Contribution | undefined, b: Contribution | undefined): boolean {
  return a === b || (a !== undefined && b !== undefined && a.text === b.text);
}

/** Whether a key's winner is still the same one, and says the same. */
export function sameWinner(a: Contribution | undefined, b: Contribution | undefined): boolean {
  return a?.owner === b?.owner && sameText(a, b);
}

/**
 * Where it stands in its group's order, in which the first of a cell and key wins: ranked before unranked (`0rank` sorts
 * before `1`), the smaller rank, then canonical owner and call order.
 */
export function entryKey({ cell, key, rank, owner, call }: Contribution): string {
  const ordered = rank === '' ? '1' : `0${rank}`;
  return [cell, key, ordered, owner, String(call).padStart(7, '0')].join(SEPARATOR);
}
