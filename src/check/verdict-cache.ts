import type { CheckOutcome } from './checker.js';

/** A verdict is a few hundred bytes; this many cover all reviews that retry or repeat within minutes. */
const MOST_VERDICTS = 256;

/**
 * Verdicts by checker identity and content (DESIGN 8). Only what the checker said about the files is remembered: a killed,
 * late or missing checker has said nothing.
 */
export class VerdictCache {
  /** Least recently used first. */
  readonly #verdicts = new Map<string, CheckOutcome>();

  get(key: string): CheckOutcome | undefined {
    const known = this.#verdicts.get(key);
    if (known === undefined) return undefined;
    this.#verdicts.delete(key);
    this.#verdicts.set(key, known);
    return known;
  }

  put(key: string, outcome: CheckOutcome): void {
    if (outcome.kind === 'unavailable') return;
    this.#verdicts.delete(key);
    this.#verdicts.set(key, outcome);
    const oldest = this.#verdicts.keys().next().value;
    if (this.#verdicts.size > MOST_VERDICTS && oldest !== undefined) this.#verdicts.delete(oldest);
  }
}
