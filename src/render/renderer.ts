import type { CheckFinding } from '../check/checker.js';
import { nodeByKey, nodeCount } from '../graph/generation.js';
import type { StoredObject } from '../store/canonical.js';
import type { StoreChange } from '../store/object-store.js';
import { overlay, type ObjectEdit } from '../store/object-store.js';
import { explainObject } from './explain.js';
import type { Explanation } from './explanation.js';
import type { RenderFault } from './instance-result.js';
import { identityKey, inputsOfChange, instanceKey, refKey } from './keys.js';
import { flatFiles, type Outputs, outputsDigest, sameOutputs } from './output-tree.js';
import type {
  ObjectChange,
  ObjectRef,
  ReconcileReply,
  StoredQuarantine,
  ThreadApi,
  ThreadStatus,
  TracedFault,
} from './protocol.js';
import { contentHash, Quarantine } from './quarantine.js';
import { describeFault, instancesOf, newEvents, readsOf } from './render-report.js';
import { type RenderContext, RenderSession } from './render-session.js';
import { completeState, emptyState, type RenderState } from './render-state.js';
import { runBounded, TimedOut } from './run-bounded.js';
import { type Cursors, StoreSet } from './store-set.js';
import { faultId, RenderFailure, RenderStopped } from './template-fault.js';
import { type TraceableRender, traceFinding } from './tracer.js';

/** A committed render and the store revisions it saw. */
interface Committed {
  readonly state: RenderState;
  readonly cursors: Cursors;
}

/** Objects one reconcile may put into quarantine because they throw, in rounds; each round has at least one. */
const MAX_FAULT_ROUNDS = 16;
/** Finished renders kept for checks that are still under way; the oldest go first. */
const MAX_RENDERS = 512;

/**
 * All render state of the process: stores, the newest committed graph, the accepted root, quarantine. Works synchronously;
 * the render thread feeds it one request after the other.
 */
export class Renderer {
  readonly stores: StoreSet;
  readonly quarantine = new Quarantine();
  readonly #renders = new Map<number, TraceableRender>();
  #committed = new Map<number, Committed>();
  #newest: Committed | undefined;
  #accepted: Committed | undefined;
  /** Graph and indexes of a cold render are built after its outputs are on their way. */
  #unfinished: RenderState | undefined;
  #lastRender = 0;
  /** Store revisions whose changes have had their say on the quarantine. */
  #looked: Cursors | undefined;
  readonly #find = ({ alias, namespace, name }: ObjectRef): StoredObject | undefined =>
    this.stores.find(alias, namespace, name);

  constructor(readonly context: RenderContext) {
    this.stores = new StoreSet(context.plan.config);
  }

  /** The newest generation whose outputs passed their check. */
  get accepted(): RenderState | undefined {
    return this.#accepted?.state;
  }

  get acceptedCursors(): Cursors | undefined {
    return this.#accepted?.cursors;
  }

  keep(render: TraceableRender): number {
    this.#renders.set(++this.#lastRender, render);
    for (const id of this.#renders.keys()) {
      if (this.#renders.size <= MAX_RENDERS) break;
      this.release(id);
    }
    return this.#lastRender;
  }

  render(id: number): TraceableRender {
    const render = this.#renders.get(id);
    if (render === undefined) throw new Error(`render ${id} is not kept any more`);
    return render;
  }

  release(id: number): void {
    this.#renders.delete(id);
    this.#committed.delete(id);
  }

  // --- Reconcile

  /**
   * Brings the graph to the stores' newest state, quarantining objects that throw, and commits it. Without a time-out it
   * runs to completion (decision 0029); with one, a render that is too slow leaves nothing behind. `number` is what it is
   * cancelled by.
   */
  reconcile(timeoutMs: number | undefined, number?: number): ReconcileReply {
    const started = performance.now();
    this.context.progress.begin(number);
    const cursors = this.stores.cursors();
    const { session, cold, follows } = this.#openSession();
    try {
      const bound = cold ? undefined : timeoutMs;
      const outputs = runBounded(() => this.#runQuarantining(session, follows), bound);
      return this.#commit(session, outputs, { cursors, cold, started });
    } catch (error) {
      if (error instanceof RenderFailure) return { kind: 'failed', faults: error.faults };
      if (error instanceof RenderStopped) return { kind: 'stopped', why: error.why, message: error.message };
      if (error instanceof TimedOut) return this.#timedOut(session, timeoutMs);
      throw error;
    } finally {
      this.context.progress.end();
      this.context.progress.stage('idle');
    }
  }

  /** The object whose instance ran when a warm render's time was up is held back, so that the next one gets on. */
  #timedOut(session: RenderSession, timeoutMs: number | undefined): ReconcileReply {
    const message = `the render took longer than ${timeoutMs} ms (render.timeout)`;
    if (session.running !== undefined) {
      const { spec, subject } = session.running;
      const reason = `its instance of ${spec.name} was running when the render's time was up`;
      this.#put(subject.ref, [`timeout ${spec.name}`], reason, []);
    }
    return { kind: 'stopped', why: 'timeout', message };
  }

  #commit(
    session: RenderSession,
    outputs: Outputs,
    about: { cursors: Cursors; cold: boolean; started: number },
  ): ReconcileReply {
    const { cursors, cold, started } = about;
    const state = session.toState(outputs);
    this.quarantine.committed();
    if (cold) this.#unfinished = state;
    // The assignment that publishes the render (decision 0023): graph, indexes and outputs at once, or nothing.
    this.#newest = { state, cursors };
    const render = this.keep({ outputs, ...readsOf(new RenderSession(this.context, state)) });
    this.#committed.set(render, this.#newest);
    const accepted = this.#accepted?.state.outputs;
    return {
      kind: 'rendered',
      render,
      cold,
      executed: session.executedKeys.length,
      verified: session.graph.counters.verified,
      instances: instancesOf(this.context, state),
      unchanged: accepted !== undefined && sameOutputs(accepted, outputs),
      digest: outputsDigest(outputs),
      quarantined: this.quarantine.entries(),
      events: newEvents(session),
      renderMs: performance.now() - started,
    };
  }

  /**
   * Over the newest graph when every change since is known; else from nothing against new snapshots. `follows`: warm, and
   * the stores have changed.
   */
  #openSession(): { session: RenderSession; cold: boolean; follows: boolean } {
    const newest = this.#newest;
    const reading = newest === undefined ? undefined : this.stores.changesSince(newest.cursors);
    const isWarm = reading?.kind === 'exact';
    this.#liftWhatMayHaveMended(isWarm);
    if (newest === undefined || !isWarm) return { session: this.#coldSession(), cold: true, follows: false };
    const session = new RenderSession(this.context, newest.state);
    for (const [alias, edits] of mergedEdits(reading.changes, this.quarantine)) session.applyEdits(alias, edits);
    this.#applyQuarantine(session);
    return { session, cold: false, follows: reading.changes.length > 0 };
  }

  #coldSession(): RenderSession {
    const session = new RenderSession(this.context, emptyState());
    const edits = this.quarantine.allEdits(this.#find);
    for (const [alias, snapshot] of this.stores.snapshots())
      session.enumerate(overlay(snapshot, edits.get(alias) ?? []));
    return session;
  }

  /**
   * A quarantined object is tried again when it, or something it read, has changed (DESIGN 9). Each change counts once,
   * whether or not a commit came of it: else what was put aside for its time would take it again at every try.
   */
  #liftWhatMayHaveMended(isWarm: boolean): void {
    const reading = this.stores.changesSince(this.#looked ?? this.stores.cursors());
    this.#looked = this.stores.cursors();
    if (this.quarantine.size === 0) return;
    if (reading.kind === 'exact' && (isWarm || reading.changes.length === 0)) this.#liftWhatChanged(reading.changes);
    // Without the journal, or the publications of before, it can't be told what has changed.
    else for (const ref of this.quarantine.perhapsMended(this.#find)) this.quarantine.lift(ref);
  }

  #liftWhatChanged(changes: readonly StoreChange[]): void {
    const inputs = new Set<string>();
    for (const change of changes) {
      this.quarantine.lift(change);
      const { paths } = this.stores.store(change.alias).snapshot();
      for (const input of inputsOfChange(change, paths)) inputs.add(input);
    }
    for (const reader of this.quarantine.readersOf(inputs)) this.quarantine.lift(reader);
  }

  /**
   * What only a quarantine has changed is no reason to try its object again: the object's own publications would call it
   * back, and the checker refuse it again.
   */
  #runQuarantining(session: RenderSession, follows: boolean): Outputs {
    const tried = new Set<string>();
    const mended = new Map<string, ObjectRef>();
    for (let round = 0; ; round++) {
      try {
        session.run();
        this.#noteMended(session, mended);
        if (follows && this.#retry(session, mended, tried)) continue;
        return session.outputs();
      } catch (error) {
        if (!(error instanceof RenderFailure) || round >= MAX_FAULT_ROUNDS) throw error;
        this.#noteMended(session, mended);
        for (const key of this.#quarantineFaulty(session, error)) mended.delete(key);
      }
    }
  }

  /** Those in quarantine that had read a publication which this render has changed. */
  #noteMended(session: RenderSession, mended: Map<string, ObjectRef>): void {
    const changed = session.takeChangedSelections();
    if (this.quarantine.size === 0) return;
    for (const reader of this.quarantine.readersOf(changed)) mended.set(refKey(reader), reader);
  }

  /** Gives them another try; each once a render, because its own publications may be what it stumbles over. */
  #retry(session: RenderSession, mended: Map<string, ObjectRef>, tried: Set<string>): boolean {
    const again = [...mended].filter(([key]) => !tried.has(key));
    mended.clear();
    for (const [key, ref] of again) {
      tried.add(key);
      this.quarantine.lift(ref);
    }
    if (again.length > 0) this.#applyQuarantine(session);
    return again.length > 0;
  }

  /** By the law a repaired session equals a new render without the object, so what has run is not run again. */
  #quarantineFaulty(session: RenderSession, failure: RenderFailure): Iterable<string> {
    const byObject = new Map<string, { ref: ObjectRef; faults: RenderFault[]; reads: string[] }>();
    for (const fault of failure.faults) {
      if (fault.instance === undefined) throw failure;
      const { source: alias, namespace, name } = fault.instance;
      const ref = { alias, namespace, name };
      const found = byObject.get(refKey(ref)) ?? { ref, faults: [], reads: [] };
      found.faults.push(fault);
      found.reads.push(...(session.failedReads.get(instanceKey(fault.instance)) ?? []));
      byObject.set(refKey(ref), found);
    }
    for (const { ref, faults, reads } of byObject.values()) {
      this.#put(ref, faults.map(faultId), faults.map(describeFault).join('; '), reads);
    }
    this.#applyQuarantine(session);
    return byObject.keys();
  }

  #applyQuarantine(session: RenderSession): void {
    for (const [alias, edits] of this.quarantine.edits(this.#find)) session.applyEdits(alias, edits);
  }

  #put(ref: ObjectRef, faults: readonly string[], reason: string, reads: readonly string[]): void {
    const { alias, namespace, name } = ref;
    const accepted = this.#accepted?.state.snapshots.get(alias)?.find(namespace, name);
    this.#looked ??= this.stores.cursors();
    this.quarantine.put({
      alias,
      namespace,
      name,
      faults,
      reason,
      current: this.#find(ref),
      accepted,
      reads,
    });
  }

  // --- After the check

  accept(id: number): StoredQuarantine {
    const committed = this.#committed.get(id);
    if (committed === undefined) throw new Error(`render ${id} was not committed`);
    this.#accepted = committed;
    return { entries: this.quarantine.records() };
  }

  /** Holds objects back that the check blames; they are left out of the next render. */
  putAside(objects: ThreadApi['quarantine'][0]['objects']): void {
    for (const object of objects) this.#put(object, object.faults, object.reason, this.#readsOfObject(object));
  }

  unquarantine(objects: readonly ObjectRef[]): void {
    for (const object of objects) this.quarantine.lift(object);
  }

  #readsOfObject(ref: ObjectRef): readonly string[] {
    const generation = this.#newest?.state.generation;
    if (generation === undefined) return [];
    return (this.context.plan.bySource.get(ref.alias) ?? []).flatMap((component) => {
      const key = instanceKey({
        component: component.name,
        source: ref.alias,
        namespace: ref.namespace,
        name: ref.name,
      });
      const frame = nodeByKey(generation, key)?.frame ?? [];
      return frame.flatMap((dependency) => generation.nodes.get(dependency)?.key ?? []);
    });
  }

  /** Objects changed since the accepted root, the newest change first; without a root, every source object. */
  suspects(): readonly ObjectRef[] {
    const reading = this.#accepted === undefined ? undefined : this.stores.changesSince(this.#accepted.cursors);
    const refs = new Map<string, ObjectRef>();
    const note = ({ alias, namespace, name }: ObjectRef): unknown =>
      refs.set(identityKey(alias, namespace, name), { alias, namespace, name });
    if (reading?.kind === 'exact') [...reading.changes].reverse().forEach(note);
    else {
      for (const [alias, snapshot] of this.stores.snapshots()) {
        for (const { namespace, name } of snapshot.identities()) note({ alias, namespace, name });
      }
    }
    return [...refs.values()].filter((ref) => !this.quarantine.has(ref));
  }

  /** Takes over quarantines of an earlier run whose objects are still the refused revisions. */
  restore(stored: StoredQuarantine): void {
    this.#looked = this.stores.cursors();
    for (const record of stored.entries) {
      const current = this.stores.find(record.alias, record.namespace, record.name);
      if (current === undefined || contentHash(current) !== record.refused) continue;
      const accepted = record.accepted === undefined ? undefined : this.stores.parse(record.alias, record.accepted);
      this.quarantine.put({ ...record, current, accepted });
    }
  }

  /** Builds what a cold render has left for later (decision 0023), if nobody has needed it before. */
  finish(): void {
    const state = this.#unfinished;
    this.#unfinished = undefined;
    if (state !== undefined) completeState(state);
  }

  get isUnfinished(): boolean {
    return this.#unfinished !== undefined;
  }

  // --- For checks and people

  files(id: number): ReturnType<typeof flatFiles> {
    return flatFiles(this.render(id).outputs);
  }

  acceptedFiles(): ReturnType<typeof flatFiles> {
    return this.#accepted === undefined ? [] : flatFiles(this.#accepted.state.outputs);
  }

  trace(id: number, findings: readonly CheckFinding[]): readonly TracedFault[] {
    const render = this.render(id);
    return findings.map((finding) => traceFinding(this.context, render, finding));
  }

  explain(ref: ObjectRef): Explanation {
    const state = this.#newest?.state ?? emptyState();
    return { ...explainObject(this.context.plan, state, ref), quarantine: this.quarantine.entry(ref) };
  }

  status(): ThreadStatus {
    const state = this.#newest?.state;
    return {
      objects: this.stores.sizes(),
      instances: state === undefined ? 0 : instancesOf(this.context, state),
      nodes: state === undefined ? 0 : nodeCount(state.generation),
      heapBytes: process.memoryUsage().heapUsed,
      quarantined: this.quarantine.entries(),
    };
  }

  parseEdit(change: ObjectChange): ObjectEdit {
    const { alias, namespace, name, text } = change;
    return { namespace, name, object: text === undefined ? undefined : this.stores.parse(alias, text) };
  }
}

/** The last edit of each identity; a quarantined object's own change was lifted before, so its new content goes in. */
function mergedEdits(changes: readonly StoreChange[], quarantine: Quarantine): Map<string, ObjectEdit[]> {
  const last = new Map<string, StoreChange>();
  for (const change of changes) {
    if (!quarantine.has(change)) last.set(identityKey(change.alias, change.namespace, change.name), change);
  }
  const edits = new Map<string, ObjectEdit[]>();
  for (const { alias, namespace, name, after } of last.values()) {
    edits.set(alias, [...(edits.get(alias) ?? []), { namespace, name, object: after }]);
  }
  return edits;
}
