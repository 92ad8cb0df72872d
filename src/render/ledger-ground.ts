import { identityKey } from './keys.js';
import type { ObjectChange } from './protocol.js';
import type { Renderer } from './renderer.js';
import { RenderSession } from './render-session.js';
import type { RenderState } from './render-state.js';
import { runBounded } from './run-bounded.js';

/**
 * The accepted root with what was admitted a moment ago on top: the ground on which the next reviews are judged (DESIGN 8).
 * It is kept from one review to the next, so that each renders only what came into the ledger and what left it; else a
 * burst of n reviews would render n * n changes. Never committed, never checked.
 */
export class LedgerGround {
  #base: RenderState | undefined;
  #state: RenderState | undefined;
  #held: ReadonlyMap<string, ObjectChange> = new Map();

  constructor(private readonly renderer: Renderer) {}

  /** Throws what a render throws (RenderFailure, RenderStopped, TimedOut), and IngestError; then nothing new is kept. */
  over(base: RenderState, ledger: readonly ObjectChange[], timeoutMs: number): RenderState {
    if (this.#base !== base) this.#forget();
    const wanted = new Map(ledger.map((change) => [keyOf(change), change]));
    if (wanted.size === 0) return base;
    const moves = [...this.#added(wanted), ...this.#left(wanted, base)];
    if (this.#state === undefined || moves.length > 0) this.#state = this.#moved(this.#state ?? base, moves, timeoutMs);
    this.#base = base;
    this.#held = wanted;
    return this.#state;
  }

  #added(wanted: ReadonlyMap<string, ObjectChange>): Move[] {
    return [...wanted]
      .filter(([key, change]) => {
        const held = this.#held.get(key);
        return held === undefined || held.text !== change.text;
      })
      .map(([, change]) => ({ alias: change.alias, edit: this.renderer.parseEdit(change) }));
  }

  /** What has left the ledger is what the accepted root has in its place. */
  #left(wanted: ReadonlyMap<string, ObjectChange>, base: RenderState): Move[] {
    return [...this.#held]
      .filter(([key]) => !wanted.has(key))
      .map(([, { alias, namespace, name }]) => {
        const object = base.snapshots.get(alias)?.find(namespace, name);
        return { alias, edit: { namespace, name, object } };
      });
  }

  #moved(from: RenderState, moves: readonly Move[], timeoutMs: number): RenderState {
    const session = new RenderSession(this.renderer.context, from);
    for (const { alias, edit } of moves) session.applyEdits(alias, [edit]);
    runBounded(() => session.run(), timeoutMs);
    // Its outputs are made by each review, with the reviewed change in.
    return session.toState(from.outputs);
  }

  #forget(): void {
    this.#base = undefined;
    this.#state = undefined;
    this.#held = new Map();
  }
}

interface Move {
  readonly alias: string;
  readonly edit: ReturnType<Renderer['parseEdit']>;
}

function keyOf({ alias, namespace, name }: ObjectChange): string {
  return identityKey(alias, namespace, name);
}
