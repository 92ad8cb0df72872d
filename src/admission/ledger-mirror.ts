import type { LedgerEntry, ObjectChange } from '../render/protocol.js';
import type { RenderHost } from '../render/render-host.js';
import type { LedgerWatcher } from './ledger.js';

/**
 * Tells the render thread once of each change in the ledger, so that a review names them by number: the text of a full
 * ledger with every review would cost more than the review. A thread that is lost forgets them, which is allowed: the
 * ledger only ever adds strictness.
 */
export class LedgerMirror implements LedgerWatcher {
  readonly #numbers = new Map<ObjectChange, number>();
  #last = 0;

  constructor(private readonly host: RenderHost) {}

  added(change: ObjectChange): void {
    const number = ++this.#last;
    this.#numbers.set(change, number);
    void this.host.request('remember', { number, change }).catch(() => undefined);
  }

  dropped(change: ObjectChange): void {
    const number = this.#numbers.get(change);
    if (number === undefined) return;
    this.#numbers.delete(change);
    void this.host.request('forget', { number }).catch(() => undefined);
  }

  /** The same changes, as short as the thread understands them. */
  entries(changes: readonly ObjectChange[]): readonly LedgerEntry[] {
    return changes.map((change) => this.#numbers.get(change) ?? change);
  }
}
