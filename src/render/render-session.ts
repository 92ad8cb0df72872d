import type { GraphPolicy, Reader } from '../graph/session.js';
import { GraphSession } from '../graph/session.js';
import { overlay, type ObjectEdit, type StoreChange, sameContent } from '../store/object-store.js';
import type { ObjectSnapshot } from '../store/snapshot.js';
import type { TemplateHost } from '../template/template-host.js';
import { Activation, sameSignature } from './activation.js';
import { type ChunkTree, withChunk, withoutChunk } from './chunk-tree.js';
import type { Contribution } from './contribution.js';
import { type WinnerChange, winnerIn, winnersIn } from './contribution-index.js';
import { EMPTY_GROUP, GroupDraft, type GroupState } from './group-state.js';
import { stopOverLimit } from './heap-limit.js';
import { InstanceIo } from './instance-io.js';
import { EMPTY_RESULT, type InstanceResult, type RenderFault, sameResult } from './instance-result.js';
import { inputsOfChange, instanceKey, isSignatureKey, parseInstanceKey } from './keys.js';
import type { Outputs } from './output-tree.js';
import type { RenderPlan } from './plan.js';
import {
  type ChangedInstance,
  inOrder,
  instancesFor,
  type PlannedInstance,
  plannedInstance,
  Subject,
} from './planned-instance.js';
import type { ProgressBuffer } from './progress.js';
import { renderOutputs } from './render-outputs.js';
import { OutputRuns } from './output-runs.js';
import type { RenderState } from './render-state.js';
import { type GroupWinnerChange, SelectionNews } from './selection-news.js';
import { faultOf, RenderFailure, RenderStopped } from './template-fault.js';

export interface RenderContext {
  readonly plan: RenderPlan;
  readonly host: TemplateHost;
  readonly progress: ProgressBuffer;
  /** Heap use above which a render ends with a clear message instead of the thread's death; bytes. */
  readonly softHeapBytes: number;
}

/** Reading the heap's size takes about 2 us; an instance writes at most 1 MiB by default. */
const HEAP_CHECK_EVERY = 64;

/**
 * One render's private state over a committed one (decision 0023, "Render transaction"). `apply` takes changes in, `run`
 * brings every instance up to date, wave by wave, `outputs` puts the files together; `toState` makes the next
 * committed state. Whoever drops the session instead leaves no trace.
 */
export class RenderSession {
  readonly changed = new Map<string, ChangedInstance>();
  readonly executedKeys: string[] = [];
  /** What instances that threw had read until then. */
  readonly failedReads = new Map<string, readonly string[]>();
  #graph: GraphSession | undefined;
  /** The instance that runs or ran last. */
  running: PlannedInstance | undefined;
  readonly #snapshots: Map<string, ObjectSnapshot>;
  readonly #groups = new Map<string, GroupDraft>();
  readonly #files: Map<string, ChunkTree>;
  readonly outputRuns: OutputRuns;
  readonly #touched = new Set<string>();
  readonly #activation: Activation;
  /** By wave and key: what has to be brought up to date. */
  readonly #pending: Map<string, PlannedInstance>[];
  readonly #news: SelectionNews;
  /** The latest wave that has begun in this session. */
  #reached = 0;
  #done = 0;
  #known = 0;

  constructor(
    readonly context: RenderContext,
    readonly base: RenderState,
  ) {
    this.#snapshots = new Map(base.snapshots);
    this.#files = new Map(base.files);
    this.outputRuns = new OutputRuns(base.outputRuns, this.#touched);
    this.#pending = Array.from({ length: context.plan.waves }, () => new Map<string, PlannedInstance>());
    this.#news = new SelectionNews(context.plan.waves, {
      winner: (group, cell, key) => this.winner(group, cell, key),
      touch: (key) => this.#touch(key),
    });
    this.#activation = new Activation(context.plan, {
      graph: () => this.graph,
      find: ({ alias, namespace, name }) => this.snapshot(alias).find(namespace, name),
      awaitInstance: (key) => this.#await(key),
      retireInstance: (key) => this.#retire(key),
    });
  }

  /** Made when it is used first: whoever only reads what is committed needs none, and a graph may yet have to be built. */
  get graph(): GraphSession {
    return (this.#graph ??= new GraphSession(this.base.generation, this.#policy(), (key) =>
      isSignatureKey(key) ? this.#activation.mark(key) : this.#await(key),
    ));
  }

  #policy(): GraphPolicy {
    return {
      inputsOnly: true,
      compute: (key, reader) =>
        isSignatureKey(key) ? this.#activation.compute(key, reader) : this.#compute(key, reader),
      equal: (left, right) =>
        Array.isArray(left)
          ? sameSignature(left as readonly string[], right as readonly string[])
          : sameResult(left as InstanceResult, right as InstanceResult),
    };
  }

  // --- Reads of instances and outputs

  snapshot(alias: string): ObjectSnapshot {
    const snapshot = this.#snapshots.get(alias);
    if (snapshot === undefined) throw new Error(`no store is called ${alias}`);
    return snapshot;
  }

  winner(group: string, cell: string, key: string): Contribution | undefined {
    const draft = this.#groups.get(group);
    return draft === undefined
      ? winnerIn(this.#base(group).publications.entries, cell, key)
      : draft.publications.winner(cell, key);
  }

  winners(group: string, cell: string): readonly Contribution[] {
    const draft = this.#groups.get(group);
    return draft === undefined
      ? winnersIn(this.#base(group).publications.entries, cell)
      : draft.publications.winners(cell);
  }

  count(group: string, cell: string): number {
    const draft = this.#groups.get(group);
    return draft === undefined
      ? (this.#base(group).publications.counts.get(cell) ?? 0)
      : draft.publications.count(cell);
  }

  get winnerChanges(): readonly GroupWinnerChange[] {
    return this.#news.winnerChanges;
  }

  groupTrees(group: string): { readonly texts: ChunkTree; readonly uniqueTexts: ChunkTree } {
    return this.#groups.get(group) ?? this.#base(group);
  }

  fileTree(output: string): ChunkTree {
    return this.#files.get(output);
  }

  // --- Changes

  /** Takes edits of one alias over the pinned snapshot; those that change nothing are passed over. */
  applyEdits(alias: string, edits: readonly ObjectEdit[]): void {
    const before = this.snapshot(alias);
    const real = edits.filter((edit) => !sameContent(before.find(edit.namespace, edit.name), edit.object));
    const changes = real.map((edit) => ({
      alias,
      namespace: edit.namespace,
      name: edit.name,
      before: before.find(edit.namespace, edit.name),
      after: edit.object,
    }));
    this.applyChanges(overlay(before, real), changes);
  }

  /** Moves one alias to a new snapshot, of which `changes` tells every difference to the old one. */
  applyChanges(snapshot: ObjectSnapshot, changes: readonly StoreChange[]): void {
    this.#snapshots.set(snapshot.alias, snapshot);
    for (const change of changes) {
      for (const key of inputsOfChange(change, snapshot.paths)) this.#touch(key);
      this.#followSource(change);
    }
  }

  /** A cold start: pins the snapshot and asks for every instance of it. */
  enumerate(snapshot: ObjectSnapshot): void {
    this.#snapshots.set(snapshot.alias, snapshot);
    const { alias } = snapshot;
    if (!this.context.plan.bySource.has(alias)) return;
    const subjects = [...snapshot.identities()].map(({ namespace, name }) => new Subject(alias, namespace, name));
    for (const { ref } of subjects) this.#activation.markObject(ref);
    for (const spec of this.context.plan.always.get(alias) ?? [])
      for (const instance of instancesFor(this.context.plan, spec, subjects)) this.#plan(instance);
  }

  #followSource(change: StoreChange): void {
    if ((change.before === undefined) === (change.after === undefined)) return;
    if (change.after === undefined) this.#activation.retireObject(change);
    else this.#activation.markObject(change);
    for (const component of this.context.plan.always.get(change.alias) ?? []) {
      const key = instanceKey({
        component: component.name,
        source: change.alias,
        namespace: change.namespace,
        name: change.name,
      });
      if (change.after === undefined) this.#retire(key);
      else this.#await(key);
    }
  }

  #await(key: string): void {
    this.#plan(plannedInstance(this.context.plan, parseInstanceKey(key), key));
  }

  #plan(instance: PlannedInstance): void {
    const wave = this.#pending[instance.wave];
    if (wave === undefined || wave.has(instance.key)) return;
    wave.set(instance.key, instance);
    this.#known++;
  }

  #retire(key: string): void {
    for (const wave of this.#pending) wave.delete(key);
    const before = this.graph.valueOf(key) as InstanceResult | undefined;
    this.graph.retire(key);
    if (before !== undefined)
      this.#install({
        instance: plannedInstance(this.context.plan, parseInstanceKey(key), key),
        before,
        after: undefined,
      });
  }

  /** Reads of publications that have another answer than before; each is told once. */
  takeChangedSelections(): ReadonlySet<string> {
    return this.#news.takeChanged();
  }

  // --- Execution

  /**
   * Brings all pending instances up to date. Throws RenderFailure with every fault of the first wave that has any (the
   * session can go on after its cause was taken away), RenderStopped when cancelled or out of heap.
   */
  run(): void {
    this.context.progress.stage('instances');
    this.#activation.settle();
    this.#pending.forEach((wave, number) => {
      this.#reached = Math.max(this.#reached, number);
      this.#runWave(wave);
      this.#news.settle(number);
    });
    this.running = undefined;
  }

  #runWave(wave: Map<string, PlannedInstance>): void {
    const instances = inOrder(wave);
    wave.clear();
    const faults: RenderFault[] = [];
    const executed: ChangedInstance[] = [];
    for (const instance of instances) this.#runInstance(instance, faults, executed);
    for (const change of executed) this.#install(change);
    if (faults.length > 0) throw new RenderFailure(faults);
  }

  #runInstance(instance: PlannedInstance, faults: RenderFault[], executed: ChangedInstance[]): void {
    this.#beforeInstance(instance);
    const { key } = instance;
    try {
      const { value, before, changed, outcome } = this.graph.evaluate(key);
      if (outcome === 'executed') this.executedKeys.push(key);
      if (!changed) return;
      executed.push({ instance, before: before as InstanceResult | undefined, after: value as InstanceResult });
    } catch (error) {
      if (error instanceof RenderStopped) throw error;
      this.failedReads.set(key, this.graph.failedReads);
      faults.push(this.#fault(instance, error));
      this.#pending[instance.wave]?.set(key, instance);
    }
  }

  #beforeInstance(instance: PlannedInstance): void {
    const { progress, softHeapBytes } = this.context;
    progress.counts(++this.#done, this.#known);
    this.running = instance;
    progress.instance(instance.key);
    if (progress.cancelled) throw new RenderStopped('cancelled', 'the render was cancelled');
    if (this.#done % HEAP_CHECK_EVERY === 1) stopOverLimit(progress, softHeapBytes);
  }

  #compute(key: string, reader: Reader): InstanceResult {
    const instance = this.running;
    if (instance?.key !== key) throw new Error(`${key} is computed although it is not the instance that runs`);
    const { spec, subject } = instance;
    const { ref: renderSubject } = subject;
    const { alias: source } = renderSubject;
    reader.input(subject.findKey);
    const item = subject.itemIn(this.snapshot(source));
    const io = new InstanceIo(this, reader, this.context.plan, spec, key);
    return io.result(
      this.context.host.run(spec.template, spec.kind, { item, source, props: NO_PROPS, renderSubject }, io),
    );
  }

  #fault(instance: PlannedInstance, error: unknown): RenderFault {
    const { spec, subject } = instance;
    const { alias: source, namespace, name } = subject.ref;
    const compiled = this.context.host.compiledOf(spec.template);
    const item = subject.itemIn(this.snapshot(source));
    return faultOf(error, compiled, { component: spec.name, source, namespace, name }, item);
  }

  // --- Results

  #install(change: ChangedInstance): void {
    const { instance, before, after } = change;
    const { key, spec } = instance;
    const first = before === undefined && this.#isCold ? undefined : this.changed.get(key);
    this.changed.set(key, first === undefined ? change : { instance, before: first.before, after });
    const { group } = spec;
    const changes = this.#draft(group).install(key, before ?? EMPTY_RESULT, after ?? EMPTY_RESULT);
    for (const change of changes) this.#note(group, change);
  }

  /** Writes the directory output that shows the publication; its readers are told when the wave is over. */
  #note(group: string, change: WinnerChange): void {
    const wave = this.context.plan.groups.get(group)?.wave ?? 0;
    if (!this.#isUnread(wave)) this.#news.note(wave, group, change);
    const { cell, key, after } = change;
    const directory = this.context.plan.directories.get(group)?.get(cell);
    if (directory === undefined) return;
    const files = this.#files.get(directory.name);
    const next =
      after === undefined
        ? withoutChunk(files, key)
        : withChunk(files, { key, text: String(after.value), owner: after.owner });
    this.#files.set(directory.name, next);
  }

  /** Over an empty base nobody can have read what a wave publishes before a later wave has begun: there is nobody to tell. */
  #isUnread(wave: number): boolean {
    return this.#isCold && wave >= this.#reached;
  }

  get #isCold(): boolean {
    return this.base.generation.number === 0;
  }

  #touch(key: string): void {
    this.#touched.add(key);
    this.graph.touch(key);
  }

  #draft(group: string): GroupDraft {
    const held = this.#groups.get(group);
    if (held !== undefined) return held;
    const draft = new GroupDraft(this.#base(group));
    this.#groups.set(group, draft);
    return draft;
  }

  #base(group: string): GroupState {
    return this.base.groups.get(group) ?? EMPTY_GROUP;
  }

  /** Puts the files together; of the output templates, those run that read something else than before. */
  outputs(): Outputs {
    this.context.progress.stage('outputs');
    return renderOutputs(this);
  }

  /** Inputs that have changed since the base. */
  get touched(): ReadonlySet<string> {
    return this.#touched;
  }

  toState(outputs: Outputs): RenderState {
    const groups = new Map(this.base.groups);
    for (const [name, draft] of this.#groups) groups.set(name, draft.toState());
    return {
      generation: this.graph.toGeneration(),
      gatedInstances: this.base.gatedInstances + this.#activation.gained,
      snapshots: this.#snapshots,
      groups,
      files: this.#files,
      outputs,
      outputRuns: this.outputRuns.all(),
    };
  }
}

const NO_PROPS = Object.freeze({});
