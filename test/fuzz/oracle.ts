import { type Alias, type FuzzObject, type Place, placeKey } from './world.js';
import type { FuzzConfig } from './fuzz-config.js';
import { filesOf, type NaiveFile } from './naive-files.js';
import { EMPTY_VIEW, instanceKey, type Memos, type NaiveFailure, NaiveSession } from './naive-session.js';
import { isObjectRead, NaiveWorld, type Read, vectorsOf, type View } from './naive-world.js';
import { newEvents, type NaiveReview, warningsOf } from './naive-effects.js';

/** A finished render. */
export interface NaiveCommit {
  readonly view: View;
  readonly memos: Memos;
  readonly world: NaiveWorld;
  readonly files: readonly NaiveFile[];
}

export interface Held {
  readonly place: Place;
  /** Served in its place; undefined when it is left out. */
  readonly accepted: FuzzObject | undefined;
  readonly refused: FuzzObject | undefined;
  readonly reads: readonly Read[];
}

export type NaiveReconcile = { readonly attempts: readonly string[] } & (
  | { readonly kind: 'failed' | 'stopped' }
  | {
      readonly kind: 'rendered';
      readonly cold: boolean;
      readonly executed: readonly string[];
      readonly files: readonly NaiveFile[];
      readonly events: readonly string[];
    }
);

export interface Edit {
  readonly place: Place;
  readonly object: FuzzObject | undefined;
}

interface Change extends Edit {
  readonly before: FuzzObject | undefined;
}

/** Rounds of faults after which a render gives up, as the engine declares. */
const MAX_FAULT_ROUNDS = 16;

/**
 * The answer key: stores, quarantine, committed and accepted renders as DESIGN 4, 5, 8 and 9 describe them, by the simplest
 * means. Shares no code with src/graph, src/store or src/render.
 */
export class Oracle {
  stores: Map<string, Map<string, FuzzObject>> = new Map();
  held = new Map<string, Held>();
  committed: NaiveCommit | undefined;
  accepted: NaiveCommit | undefined;
  #journal: Change[] = [];
  #gap = false;
  /** Changes that had no say on the quarantine yet. */
  #news: { changes: Change[]; gap: boolean } = { changes: [], gap: false };
  /** Quarantine as the last accepted render left it: what a restart gets back. */
  #saved: readonly Held[] = [];
  /** What the last ledger that could be rendered came to: the next one runs only how it differs. */
  #ground: { readonly base: NaiveCommit; readonly memos: Memos } | undefined;
  /** What the last review came to, over the whole ledger. */
  #last: { readonly base: NaiveCommit; readonly memos: Memos } | undefined;

  constructor(private readonly config: FuzzConfig) {}

  find({ alias, namespace, name }: Place): FuzzObject | undefined {
    return this.stores.get(alias)?.get(`${namespace}/${name}`);
  }

  change({ place, object }: Edit): void {
    const before = this.find(place);
    if (same(before, object)) return;
    this.#journal.push({ place, before, object });
    this.#news.changes.push({ place, before, object });
    this.stores = edited(this.stores, [{ place, object }]);
  }

  replace(alias: Alias, edits: readonly Edit[]): void {
    this.stores = edited(new Map(this.stores).set(alias, new Map()), edits);
    this.#gap = this.#news.gap = true;
  }

  /** The journal no longer reaches back to the last render. */
  loseJournal(): void {
    this.#gap = this.#news.gap = true;
  }

  restart(): void {
    this.committed = this.accepted = undefined;
    this.#journal = [];
    this.#gap = false;
    this.#news = { changes: [], gap: false };
    const kept = this.#saved.filter(({ place, refused }) => refused !== undefined && same(this.find(place), refused));
    this.held = new Map(
      kept.map((held) => [placeKey(held.place), { ...held, reads: held.reads.map((read) => ({ ...read })) }]),
    );
  }

  // --- Reconcile

  reconcile(stopAfter?: number): NaiveReconcile {
    const cold = this.committed === undefined || this.#gap;
    this.#liftWhatChanged(cold);
    const base = cold ? undefined : this.committed;
    const session = new NaiveSession(this.config, base?.memos ?? new Map(), stopAfter);
    const baseWorld = base?.world ?? new NaiveWorld(EMPTY_VIEW);
    const touched = this.#watchHeld(session, baseWorld);
    // What only a quarantine has changed is no reason to try its object again: it would be put aside again.
    const follows = !cold && this.#journal.length > 0;
    const retried = new Set<string>();
    for (let round = 0; ; round++) {
      session.moveTo(this.view());
      const run = session.run();
      const { attempts, executed } = session;
      if (run.kind === 'stopped') return { kind: 'stopped', attempts };
      if (run.kind === 'faults') {
        if (round >= MAX_FAULT_ROUNDS) return { kind: 'failed', attempts };
        this.#putFaulty(run.faults, touched);
        continue;
      }
      const mended = [...touched].filter((key) => follows && !retried.has(key) && this.held.has(key));
      touched.clear();
      mended.forEach((key) => retried.add(key));
      mended.forEach((key) => this.held.delete(key));
      if (mended.length > 0) continue;
      const files = filesOf(this.config, run.world);
      if (files === undefined) return { kind: 'failed', attempts };
      const events = newEvents(baseWorld, run.world);
      this.committed = { view: this.view(), memos: session.memos, world: run.world, files };
      this.#journal = [];
      this.#gap = false;
      return { kind: 'rendered', cold, executed, attempts, files, events };
    }
  }

  view(): View {
    return edited(
      this.stores,
      [...this.held.values()].map(({ place, accepted }) => ({ place, object: accepted })),
    );
  }

  /** Notes held objects that had read a publication which has another answer now. */
  #watchHeld(session: NaiveSession, base: NaiveWorld): Set<string> {
    const touched = new Set<string>();
    const look = (world: NaiveWorld, key: string, { reads }: Held): void => {
      for (const read of reads.filter((candidate) => !isObjectRead(candidate))) {
        if (world !== base && !world.results.has(read.args[0] as string)) continue;
        const now = world.observe(read);
        if (world !== base && now !== read.seen) touched.add(key);
        read.seen = now;
      }
    };
    const lookAtAll = (world: NaiveWorld): void => this.held.forEach((held, key) => look(world, key, held));
    lookAtAll(base);
    session.onSettled = lookAtAll;
    return touched;
  }

  /** Each change is looked at once; where it can't be told what has changed, everything may have. */
  #liftWhatChanged(cold: boolean): void {
    const { changes, gap } = this.#news;
    this.#news = { changes: [], gap: false };
    const isUnknown = gap || (cold && changes.length > 0);
    for (const [key, { place, refused, reads }] of this.held) {
      const own = (read: Read): boolean =>
        read.kind === 'find' && read.args.join(' ') === `${place.alias} ${place.namespace} ${place.name}`;
      const mayHaveMended = isUnknown
        ? !same(this.find(place), refused) || reads.some((read) => !own(read))
        : changes.some((change) => placeKey(change.place) === key || reads.some((read) => affects(change, read)));
      if (mayHaveMended) this.held.delete(key);
    }
  }

  #putFaulty(faults: readonly NaiveFailure[], touched: Set<string>): void {
    const reads = new Map<string, { place: Place; reads: Read[] }>();
    for (const { instance, reads: own } of faults) {
      const [, alias, namespace, name] = instance;
      const place = { alias: alias as Alias, namespace, name };
      const found = reads.get(placeKey(place)) ?? { place, reads: [] };
      found.reads.push(...own.map((read) => ({ ...read })));
      reads.set(placeKey(place), found);
    }
    for (const [key, found] of reads) {
      this.#put(found.place, found.reads);
      touched.delete(key);
    }
  }

  #put(place: Place, reads: readonly Read[]): void {
    const key = placeKey(place);
    const refused = this.find(place);
    const old = this.accepted?.view.get(place.alias)?.get(`${place.namespace}/${place.name}`);
    const accepted = this.held.has(key) || same(old, refused) ? undefined : old;
    this.held.set(key, { place, accepted, refused, reads });
  }

  // --- After the check

  accept(): void {
    this.accepted = this.committed;
    this.#saved = [...this.held.values()];
  }

  putAside(places: readonly Place[]): void {
    for (const place of places) {
      const memos = [...(this.committed?.memos.values() ?? [])].filter(
        ({ instance: [, ...at] }) => at.join(' ') === `${place.alias} ${place.namespace} ${place.name}`,
      );
      this.#put(
        place,
        memos.flatMap(({ reads }) => reads.map((read) => ({ ...read }))),
      );
    }
  }

  lift(place: Place): void {
    this.held.delete(placeKey(place));
  }

  // --- Reviews

  review(ledger: readonly Edit[], change: Edit): NaiveReview {
    const base = this.accepted;
    if (base === undefined) return { kind: 'cold', attempts: [] };
    if (this.#ground?.base !== base || ledger.length === 0) this.#ground = undefined;
    const session = new NaiveSession(this.config, this.#ground?.memos ?? base.memos);
    const others = ledger.filter(({ place }) => placeKey(place) !== placeKey(change.place));
    session.moveTo(edited(base.view, ledger));
    let ground = session.run();
    if (ground.kind === 'done' && ledger.length > 0) this.#ground = { base, memos: copied(this.config, session) };
    if (ground.kind === 'done' && others.length < ledger.length) {
      session.moveTo(edited(base.view, others));
      ground = session.run();
    }
    if (ground.kind !== 'done') {
      this.#ground = undefined;
      const again = this.review([], change);
      return { ...again, attempts: [...session.attempts, ...again.attempts], forgets: true };
    }
    session.executed = [];
    const beforeMemos = new Map(session.memos);
    session.moveTo(edited(base.view, [...others, change]));
    const run = session.run();
    const { attempts, executed } = session;
    if (run.kind === 'stopped') throw new Error('no review is stopped');
    if (run.kind === 'faults')
      return {
        kind: 'fault',
        attempts,
        executed,
        objects: run.faults.map(({ instance }) => instance.slice(1).join(' ')),
      };
    const files = filesOf(this.config, run.world);
    if (files === undefined) return { kind: 'fault', attempts, executed, objects: [] };
    const warnings = warningsOf(change.place, ground.world, run.world);
    const quiet =
      ledger.length === 0 &&
      executed.every(
        (key) => JSON.stringify(beforeMemos.get(key)?.result) === JSON.stringify(session.memos.get(key)?.result),
      ) &&
      session.memos.size === base.memos.size;
    this.#last = others.length === ledger.length ? { base, memos: copied(this.config, session) } : undefined;
    return { kind: 'rendered', attempts, executed, files, warnings, ledger: others, quiet };
  }

  /** The change of the last review is admitted: what it came to is ground now, and is not run again. */
  admit(): void {
    this.#ground = this.#last ?? this.#ground;
  }

  /** Files of the accepted state with all these edits; undefined when it has none or they fail. */
  filesWith(edits: readonly Edit[]): readonly NaiveFile[] | undefined {
    if (this.accepted === undefined) return undefined;
    const session = new NaiveSession(this.config, new Map());
    session.moveTo(edited(this.accepted.view, edits));
    const run = session.run();
    return run.kind === 'done' ? filesOf(this.config, run.world) : undefined;
  }

  /** Objects whose instances wrote what the checker refuses. */
  refusedPlaces(): Place[] {
    const places = new Map<string, Place>();
    for (const { instance, result } of this.committed?.memos.values() ?? []) {
      const [, alias, namespace, name] = instance;
      const place = { alias: alias as Alias, namespace, name };
      if (result.text.includes('REFUSE')) places.set(placeKey(place), place);
    }
    return [...places.entries()].sort(([a], [b]) => (a < b ? -1 : 1)).map(([, place]) => place);
  }

  results(): Map<string, unknown> {
    return new Map(
      [...(this.accepted?.memos.values() ?? [])].map(({ instance, result }) => [instanceKey(instance), result]),
    );
  }
}

export function same(left: FuzzObject | undefined, right: FuzzObject | undefined): boolean {
  return JSON.stringify(left) === JSON.stringify(right);
}

function copied(config: FuzzConfig, session: NaiveSession): Memos {
  return new NaiveSession(config, session.memos).memos;
}

function edited(view: View, edits: readonly Edit[]): Map<string, Map<string, FuzzObject>> {
  const next = new Map([...view].map(([alias, objects]) => [alias, new Map(objects)]));
  for (const { place, object } of edits) {
    const objects = next.get(place.alias) ?? new Map<string, FuzzObject>();
    next.set(place.alias, objects);
    if (object === undefined) objects.delete(`${place.namespace}/${place.name}`);
    else objects.set(`${place.namespace}/${place.name}`, object);
  }
  return next;
}

/** Whether the change can be seen by the read, now or at some moment since. */
function affects({ place, before, object }: Change, { kind, args }: Read): boolean {
  if (args[0] !== place.alias) return false;
  if (kind === 'list') return true;
  if (kind === 'find') return args[1] === place.namespace && args[2] === place.name;
  if (kind !== 'get') return false;
  const prefix = args.slice(1);
  return [before, object].some(
    (held) =>
      held !== undefined &&
      vectorsOf(place.alias, held).some((vector) => prefix.every((part, at) => vector[at] === part)),
  );
}
