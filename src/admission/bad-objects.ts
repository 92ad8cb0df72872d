import { hash } from 'node:crypto';
import type { ObjectChange } from '../render/protocol.js';

const LIFETIME_MS = 10 * 60 * 1000;
const MAX_ENTRIES = 1_000;

/**
 * Objects whose render killed or blocked the thread: for ten minutes the same content is denied without a render, so that
 * a client's retries can't take the service down (DESIGN 8). Only a digest is kept.
 */
export class BadObjects {
  readonly #until = new Map<string, { readonly until: number; readonly reason: string }>();

  constructor(private readonly now: () => number = () => performance.now()) {}

  remember(change: ObjectChange, reason: string): void {
    const digest = digestOf(change);
    // The newest is last, also when it was known already.
    this.#until.delete(digest);
    this.#until.set(digest, { until: this.now() + LIFETIME_MS, reason });
    const oldest = this.#until.keys().next().value;
    if (this.#until.size > MAX_ENTRIES && oldest !== undefined) this.#until.delete(oldest);
  }

  reasonFor(change: ObjectChange): string | undefined {
    if (this.#until.size === 0) return undefined;
    const held = this.#until.get(digestOf(change));
    return held !== undefined && held.until > this.now() ? held.reason : undefined;
  }
}

function digestOf(change: ObjectChange): string {
  return hash('sha256', `${change.alias} ${change.namespace}/${change.name} ${change.text ?? ''}`);
}
