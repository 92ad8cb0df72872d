import { refKey } from './keys.js';
import type { ObjectChange, ObjectRef } from './protocol.js';
import type { Renderer } from './renderer.js';
import { RenderSession } from './render-session.js';
import type { RenderState } from './render-state.js';

/**
 * The accepted root with what was admitted a moment ago on top: the ground on which the next reviews are judged (DESIGN 8).
 * It moves with the ledger, so that each review renders only what came into the ledger and what left it; else a burst of
 * n reviews would render n * n changes. Never committed, never checked.
 */
export class LedgerGround {
  /** By the number that the main thread gave, the oldest first. */
  readonly #entries = new Map<number, ObjectChange>();
  /** By object, where the last one counts. */
  readonly #held = new Map<string, ObjectChange>();
  #base: RenderState | undefined;
  #state: RenderState | undefined;
  /** Objects whose entry is not in the state yet. */
  readonly #come = new Map<string, ObjectChange>();
  /** Objects that are in the state although their entry has left, the oldest first; `performance.now()` of when. */
  readonly #left = new Map<string, { readonly change: ObjectChange; readonly since: number }>();
  /** Inputs that may differ from the accepted root's: every one that has since this ground stands. */
  readonly #touched = new Set<string>();

  constructor(
    private readonly renderer: Renderer,
    private readonly lagMs: number,
  ) {}

  /** `made`: the session that rendered this change over the ground as it is now; its state is the next ground then. */
  remember(number: number, change: ObjectChange, made?: ReviewedSession): void {
    const follows = made !== undefined && this.#isCurrent(made);
    const key = refKey(change);
    this.#entries.set(number, change);
    this.#held.set(key, change);
    this.#left.delete(key);
    if (follows) this.#follow(made);
    else this.#come.set(key, change);
  }

  forget(number: number): void {
    const change = this.#entries.get(number);
    if (change === undefined) return;
    this.#entries.delete(number);
    const key = refKey(change);
    if (this.#held.get(key) !== change) return;
    this.#held.delete(key);
    this.#come.delete(key);
    this.#left.set(key, { change, since: performance.now() });
  }

  /** The ledger only ever adds strictness: one that can't be rendered may be forgotten. */
  clear(): void {
    this.#entries.clear();
    this.#held.clear();
    this.#reset(undefined);
  }

  /** What a render over this ground may see that is not accepted yet, and some that is. */
  get touched(): ReadonlySet<string> {
    return this.#touched;
  }

  /**
   * The ground over this root for a review of this object, entries of these numbers left out. Throws what a render throws
   * (RenderFailure, RenderStopped), and IngestError: then the ground is of no use before it is cleared.
   */
  over(base: RenderState, reviewed: ObjectRef, without: readonly number[]): RenderState {
    if (this.#entries.size === 0 || this.#base !== base) this.#reset(base);
    if (this.#entries.size === 0) return base;
    this.#move(base, this.#due(refKey(reviewed)));
    const state = this.#state ?? base;
    const left = without.flatMap((number) => this.#entries.get(number) ?? []);
    if (left.length === 0) return state;
    return this.#rendered(state, left, base, new Set(left));
  }

  /** Does a little of what a later review would have to do; says whether there was anything. */
  settle(base: RenderState): boolean {
    if (this.#base !== base) return false;
    const some = [...this.#come.values(), ...[...this.#left.values()].map(({ change }) => change)].slice(0, FEW);
    this.#move(base, some);
    return some.length > 0;
  }

  /** What has come must be seen. What has left may wait for an idle moment, if not for long: it only adds strictness. */
  #due(reviewed: string): readonly ObjectChange[] {
    const due = [...this.#come.values()];
    const before = performance.now() - this.lagMs;
    for (const [key, { change, since }] of this.#left) if (since <= before || key === reviewed) due.push(change);
    return due;
  }

  #move(base: RenderState, moved: readonly ObjectChange[]): void {
    if (moved.length === 0) return;
    this.#state = this.#rendered(this.#state ?? base, moved, base);
    for (const key of moved.map(refKey)) {
      this.#come.delete(key);
      this.#left.delete(key);
    }
  }

  #rendered(
    from: RenderState,
    moved: readonly ObjectChange[],
    base: RenderState,
    without: ReadonlySet<ObjectChange> = NOTHING,
  ): RenderState {
    const session = new RenderSession(this.renderer.context, from);
    for (const ref of moved) {
      const held = this.#held.get(refKey(ref));
      const edit = held === undefined || without.has(held) ? restored(ref, base) : this.renderer.parseEdit(held);
      session.applyEdits(ref.alias, [edit]);
    }
    session.run();
    session.touched.forEach((key) => this.#touched.add(key));
    // Its outputs are made by each review, with the reviewed change in.
    return session.toState(from.outputs);
  }

  #isCurrent({ base, ground }: ReviewedSession): boolean {
    if (this.#entries.size === 0) this.#reset(base);
    return this.#base === base && ground === (this.#state ?? base) && this.#come.size === 0;
  }

  #follow({ session, ground }: ReviewedSession): void {
    session.touched.forEach((key) => this.#touched.add(key));
    this.#state = session.toState(ground.outputs);
  }

  /** Another root: everything in the ledger comes on top of it anew. */
  #reset(base: RenderState | undefined): void {
    this.#base = base;
    this.#state = undefined;
    this.#touched.clear();
    this.#come.clear();
    this.#left.clear();
    for (const [key, change] of this.#held) this.#come.set(key, change);
  }
}

/** A review's session that ran to its end, and what it stands on. */
export interface ReviewedSession {
  readonly session: RenderSession;
  readonly ground: RenderState;
  /** The accepted root of its time. */
  readonly base: RenderState;
}

/** Objects that move in about the time of a review. */
const FEW = 4;
const NOTHING: ReadonlySet<ObjectChange> = new Set();

/** What has left the ledger is what the accepted root has in its place. */
function restored({ alias, namespace, name }: ObjectChange, base: RenderState): ReturnType<Renderer['parseEdit']> {
  return { namespace, name, object: base.snapshots.get(alias)?.find(namespace, name) };
}
