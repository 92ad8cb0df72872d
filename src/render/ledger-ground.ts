import { refKey } from './keys.js';
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
  /** What the state has in: as it was given, and by identity, where the last one of an identity counts. */
  #ledger: readonly ObjectChange[] = [];
  #held = new Map<string, ObjectChange>();
  /** Inputs that differ from the accepted root's, or did while this ground stood. */
  #touched = new Set<string>();

  constructor(private readonly renderer: Renderer) {}

  /** Throws what a render throws (RenderFailure, RenderStopped, TimedOut), and IngestError; then nothing new is kept. */
  over(base: RenderState, ledger: readonly ObjectChange[], timeoutMs: number): RenderState {
    if (this.#base !== base) this.#forget();
    if (ledger.length === 0) return base;
    const { held, moves } = this.#difference(ledger, base);
    if (this.#state === undefined || moves.length > 0) this.#state = this.#moved(this.#state ?? base, moves, timeoutMs);
    this.#base = base;
    this.#ledger = ledger;
    this.#held = held;
    return this.#state;
  }

  /** What a render over this ground may see that is not accepted yet. */
  get touched(): ReadonlySet<string> {
    return this.#touched;
  }

  /** The oldest leave and new ones come behind, nearly always: then nothing in between has to be looked at. */
  #difference(ledger: readonly ObjectChange[], base: RenderState): Difference {
    const start = this.#ledger.indexOf(ledger[0] as ObjectChange);
    const kept = this.#ledger.length - start;
    const isShifted =
      start >= 0 &&
      kept <= ledger.length &&
      ledger.slice(0, kept).every((change, at) => change === this.#ledger[start + at]);
    const left = isShifted ? this.#ledger.slice(0, start) : this.#ledger;
    const come = isShifted ? ledger.slice(kept) : ledger;
    return this.#differenceOf(left, come, base);
  }

  #differenceOf(left: readonly ObjectChange[], come: readonly ObjectChange[], base: RenderState): Difference {
    const held = new Map(this.#held);
    for (const change of left) if (held.get(refKey(change)) === change) held.delete(refKey(change));
    for (const change of come) held.set(refKey(change), change);
    const touched = new Map([...left, ...come].map((change) => [refKey(change), change]));
    const moves = [...touched].flatMap(([key, ref]): Move[] => {
      const [before, after] = [this.#held.get(key), held.get(key)];
      if (after === undefined) return before === undefined ? [] : [{ alias: ref.alias, edit: restored(ref, base) }];
      if (before !== undefined && before.text === after.text) return [];
      return [{ alias: ref.alias, edit: this.renderer.parseEdit(after) }];
    });
    return { held, moves };
  }

  #moved(from: RenderState, moves: readonly Move[], timeoutMs: number): RenderState {
    const session = new RenderSession(this.renderer.context, from);
    for (const { alias, edit } of moves) session.applyEdits(alias, [edit]);
    runBounded(() => session.run(), timeoutMs);
    session.touched.forEach((key) => this.#touched.add(key));
    // Its outputs are made by each review, with the reviewed change in.
    return session.toState(from.outputs);
  }

  #forget(): void {
    this.#base = undefined;
    this.#state = undefined;
    this.#ledger = [];
    this.#held = new Map();
    this.#touched = new Set();
  }
}

interface Difference {
  readonly held: Map<string, ObjectChange>;
  readonly moves: readonly Move[];
}

interface Move {
  readonly alias: string;
  readonly edit: ReturnType<Renderer['parseEdit']>;
}

/** What has left the ledger is what the accepted root has in its place. */
function restored({ alias, namespace, name }: ObjectChange, base: RenderState): Move['edit'] {
  return { namespace, name, object: base.snapshots.get(alias)?.find(namespace, name) };
}
