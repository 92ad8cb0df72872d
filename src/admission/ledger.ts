import type { ObjectChange, ThreadApi } from '../render/protocol.js';
import type { ReviewedChange } from './reviewed-change.js';

/** The render thread's half of the ledger: told of every change that comes into it and leaves it, in order. */
export interface LedgerGroundKeeper {
  remember(body: ThreadApi['remember'][0]): void;
  forget(body: ThreadApi['forget'][0]): void;
}

interface Entry {
  readonly number: number;
  readonly identity: string;
  readonly bytes: number;
  readonly expiry: NodeJS.Timeout;
  /** Store revision at which the watch has shown it; it stays until the accepted root has seen that. */
  shownAt: number | undefined;
}

const LIFETIME_MS = 5_000;
const MAX_ENTRIES = 1_000;
const MAX_BYTES = 32 * 1024 * 1024;

/**
 * Objects admitted here that the accepted root does not have yet, so that two reviews in quick succession see each other
 * (DESIGN 8). It only adds strictness, is not shared between replicas, and forgets by itself: an admitted object may
 * never be stored (protocol line B4). The changes themselves are the render thread's: a review only names what it must
 * not see, since a full ledger with every review would cost more than the review.
 */
export class Ledger {
  readonly #entries = new Map<string, Entry>();
  #bytes = 0;
  #last = 0;

  constructor(private readonly keeper: LedgerGroundKeeper) {}

  get size(): number {
    return this.#entries.size;
  }

  /** Remembers an admitted change, with the render of its review if there is one; a dry run is never remembered. */
  add(reviewed: ReviewedChange, render?: number): void {
    if (reviewed.dryRun) return;
    const { change } = reviewed;
    const own = identity(change);
    const key = reviewed.objectUid || own;
    this.#drop(key);
    const number = ++this.#last;
    const bytes = change.text?.length ?? 0;
    const expiry = setTimeout(() => this.#drop(key), LIFETIME_MS).unref();
    this.#entries.set(key, { number, identity: own, bytes, expiry, shownAt: undefined });
    this.#bytes += bytes;
    this.keeper.remember({ number, change, render });
    for (const oldest of this.#entries.keys()) {
      if (this.#entries.size <= MAX_ENTRIES && this.#bytes <= MAX_BYTES) break;
      this.#drop(oldest);
    }
  }

  /** Numbers of what is remembered of the reviewed object itself, which its own review must not see. */
  own(reviewed: ReviewedChange): readonly number[] {
    const identified = identity(reviewed.change);
    const own: number[] = [];
    for (const [key, entry] of this.#entries) {
      if (key === reviewed.objectUid || entry.identity === identified) own.push(entry.number);
    }
    return own;
  }

  /** Whether a review of this object sees anything that is not accepted yet. */
  hasOthers(reviewed: ReviewedChange): boolean {
    return this.#entries.size > this.own(reviewed).length;
  }

  /** The watch has shown a newer event of these identities (or of these uids, for generated names). */
  shown(changes: readonly ObjectChange[], revision: number): void {
    if (this.#entries.size === 0) return;
    const identities = new Set(changes.map(identity));
    for (const [key, entry] of this.#entries) {
      const isShown =
        identities.has(entry.identity) || changes.some((change) => change.text?.includes(`"${key}"`) === true);
      if (isShown) entry.shownAt ??= revision;
    }
  }

  /** The accepted root has seen the stores up to this revision. */
  accepted(revision: number): void {
    for (const [key, entry] of this.#entries)
      if (entry.shownAt !== undefined && entry.shownAt <= revision) this.#drop(key);
  }

  #drop(key: string): void {
    const entry = this.#entries.get(key);
    if (entry === undefined) return;
    clearTimeout(entry.expiry);
    this.#entries.delete(key);
    this.#bytes -= entry.bytes;
    this.keeper.forget({ number: entry.number });
  }
}

function identity(change: ObjectChange): string {
  return `${change.alias} ${change.namespace}/${change.name}`;
}
