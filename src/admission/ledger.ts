import type { ObjectChange } from '../render/protocol.js';
import type { ReviewedChange } from './reviewed-change.js';

/** Told of every change that comes into the ledger and leaves it, in order. */
export interface LedgerWatcher {
  added(change: ObjectChange): void;
  dropped(change: ObjectChange): void;
}

interface Entry {
  readonly change: ObjectChange;
  readonly identity: string;
  readonly expiresAt: number;
  readonly bytes: number;
  /** Store revision at which the watch has shown it; it stays until the accepted root has seen that. */
  shownAt: number | undefined;
}

const LIFETIME_MS = 5_000;
const MAX_ENTRIES = 1_000;
const MAX_BYTES = 32 * 1024 * 1024;

/**
 * Objects admitted here that the accepted root does not have yet, so that two reviews in quick succession see each other
 * (DESIGN 8). It only adds strictness, is not shared between replicas, and forgets by itself: an admitted object may
 * never be stored (protocol line B4).
 */
export class Ledger {
  readonly #entries = new Map<string, Entry>();
  #bytes = 0;

  constructor(
    private readonly now: () => number = () => performance.now(),
    private readonly watcher?: LedgerWatcher,
  ) {}

  get size(): number {
    this.#expire();
    return this.#entries.size;
  }

  /** Remembers an admitted change; a dry run is never remembered. */
  add(reviewed: ReviewedChange): void {
    if (reviewed.dryRun) return;
    const { change } = reviewed;
    const own = identity(change);
    const key = reviewed.objectUid || own;
    this.#drop(key);
    const bytes = change.text?.length ?? 0;
    const expiresAt = this.now() + LIFETIME_MS;
    this.#entries.set(key, { change, identity: own, bytes, expiresAt, shownAt: undefined });
    this.#bytes += bytes;
    this.watcher?.added(change);
    for (const oldest of this.#entries.keys()) {
      if (this.#entries.size <= MAX_ENTRIES && this.#bytes <= MAX_BYTES) break;
      this.#drop(oldest);
    }
  }

  /** What the next review sees on top of the accepted root, its own object left out. */
  changes(reviewed: ReviewedChange): readonly ObjectChange[] {
    this.#expire();
    const own = identity(reviewed.change);
    const changes: ObjectChange[] = [];
    for (const [key, entry] of this.#entries) {
      if (key !== reviewed.objectUid && entry.identity !== own) changes.push(entry.change);
    }
    return changes;
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

  #expire(): void {
    const now = this.now();
    // All live equally long, so the oldest is the first to go.
    for (const [key, entry] of this.#entries) {
      if (entry.expiresAt > now) break;
      this.#drop(key);
    }
  }

  #drop(key: string): void {
    const entry = this.#entries.get(key);
    if (entry === undefined) return;
    this.#entries.delete(key);
    this.#bytes -= entry.bytes;
    this.watcher?.dropped(entry.change);
  }
}

function identity(change: ObjectChange): string {
  return `${change.alias} ${change.namespace}/${change.name}`;
}
