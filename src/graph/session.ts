import { FrameRecorder, type Reader } from './frame-recorder.js';
import { EMPTY_IDS, settled, sizeOf, unsettled, withId, withoutId } from './id-set.js';
import { deferredGeneration, type Generation, type GraphNode, type NodeId } from './generation.js';
import { NotedRuns } from './noted-runs.js';

export type { Reader };

/** The policy that a graph is built with. */
export interface GraphPolicy {
  /** Computes the query of this key. Must be a pure function of what it reads through `reader`. */
  compute(key: string, reader: Reader): unknown;
  /** Whether two results are the same value, effects included: then consumers stay green (early cut-off). */
  equal(left: unknown, right: unknown): boolean;
  /** No query reads another one: then runs over an empty generation are only noted, and the graph is built of them later. */
  readonly inputsOnly?: boolean;
}

/** Work done by a session, in counts: how tests and benchmarks prove that cost follows the change. */
export interface SessionCounters {
  executed: number;
  verified: number;
  cutOff: number;
  retired: number;
  edgesWalked: number;
}

export interface Evaluation {
  readonly value: unknown;
  /** Value of the run before, undefined when there was none. */
  readonly before: unknown;
  readonly outcome: 'executed' | 'verified' | 'green';
  /** Whether the value differs from the one before. */
  readonly changed: boolean;
}

/** `dirty`: a dependency has changed, so it runs. `check`: a dependency may have; its frame is verified first. */
type Mark = 'dirty' | 'check';

/** A node as this session has written it, to be changed in place until the session commits. */
type OwnNode = { -readonly [Field in keyof GraphNode]: GraphNode[Field] };

const COMMITTED = 'graph: the session has been committed, its nodes are shared';
const NO_READS: readonly string[] = [];
const NO_NODES = new Set<NodeId>();
const NO_EDGES: readonly NodeId[] = [];

/**
 * One render's private layer over a committed generation (decision 0023, "Dependency graph"; the marks are those of
 * Salsa's red-green evaluation, pushed). Nothing of the generation is written; the session commits whole or is dropped.
 */
export class GraphSession {
  readonly counters: SessionCounters = { executed: 0, verified: 0, cutOff: 0, retired: 0, edgesWalked: 0 };
  /** Keys that the last failed evaluation had read up to its throw, those of failed dependencies too: what may mend it. */
  failedReads: readonly string[] = NO_READS;
  /** Nodes of the generation that this session has changed; undefined: retired. */
  readonly #written = new Map<NodeId, OwnNode | undefined>();
  /** Nodes with numbers that the generation does not have yet, from `#firstFresh` on: most of a cold render, none of a warm one. */
  readonly #fresh: (OwnNode | undefined)[] = [];
  readonly #firstFresh: NodeId;
  readonly #ids = new Map<string, NodeId | undefined>();
  readonly #marks = new Map<NodeId, Mark>();
  readonly #running = new Set<NodeId>();
  /** Nodes without observers, to be removed unless the run that goes on comes to depend on them. */
  readonly #orphans: NodeId[] = [];
  /** Runs of which nothing is in the graph yet; undefined: all are. */
  #noted: NotedRuns | undefined;
  #isCommitted = false;
  #taken = 0;
  #freed: NodeId[] = [];
  #next: NodeId;

  constructor(
    readonly base: Generation,
    private readonly policy: GraphPolicy,
    /** Called once for each root that becomes dirty or has to be checked. When all these are evaluated, nothing is stale. */
    private readonly onMarked: (key: string) => void = () => undefined,
  ) {
    this.#firstFresh = this.#next = base.nodes.size;
    if (policy.inputsOnly === true && base.number === 0) this.#noted = new NotedRuns();
  }

  has(key: string): boolean {
    this.#build();
    return this.#idOf(key) !== undefined;
  }

  /** Value of the query's last run in this session or before it; undefined when it never ran. */
  valueOf(key: string): unknown {
    return this.#noted === undefined ? this.#nodeByKey(key)?.value : this.#noted.valueOf(key);
  }

  /** Keys that the query's last run read. */
  frameOf(key: string): readonly string[] {
    this.#build();
    return (this.#nodeByKey(key)?.frame ?? []).map((id) => this.#node(id).key);
  }

  isMarked(key: string): boolean {
    this.#build();
    const id = this.#idOf(key);
    return id !== undefined && this.#marks.has(id);
  }

  /** The input has changed: the queries that observed it become dirty. An input nobody observed costs nothing. */
  touch(key: string): void {
    this.#build();
    const id = this.#idOf(key);
    if (id !== undefined) this.#markObservers(this.#node(id), 'dirty');
  }

  /**
   * Brings the query up to date and keeps it until it is retired. Throws what `compute` throws; a query that has run before
   * then stays dirty with its old frame, and the session can go on.
   */
  evaluate(key: string): Evaluation {
    this.failedReads = NO_READS;
    if (this.#noted?.has(key) === false) return this.#note(key, this.#noted);
    this.#build();
    const id = this.#idOf(key) ?? this.#create(key, 'query');
    try {
      const evaluation = this.#bringUpToDate(id, key);
      this.#setRoot(id, true);
      return evaluation;
    } finally {
      this.#sweep();
    }
  }

  /** Nobody outside asks for the query any more: it goes with its edges, unless another query depends on it. */
  retire(key: string): void {
    this.#build();
    const id = this.#idOf(key);
    if (id !== undefined) this.#setRoot(id, false);
    this.#sweep();
  }

  /**
   * The next generation; the session can only be read from then on. Throws when a query is still marked: a graph with stale
   * values is never published. Of noted runs alone the graph is built when somebody asks for it (decision 0023, "Cold graph
   * construction isn't part of that output transaction's latency").
   */
  toGeneration(): Generation {
    if (this.#noted === undefined) return this.#nextGeneration();
    this.#isCommitted = true;
    return deferredGeneration(this.base.number + 1, () => {
      this.#build();
      return this.#nextGeneration();
    });
  }

  #nextGeneration(): Generation {
    if (this.#marks.size > 0) {
      const stale = [...this.#marks.keys()].slice(0, 3).map((id) => this.#node(id).key);
      throw new Error(`graph: ${this.#marks.size} queries were left unevaluated, among them ${stale.join(', ')}`);
    }
    const { base } = this;
    this.#isCommitted = true;
    const own = [...this.#ownNodes()];
    for (const [, node] of own) if (node !== undefined) node.observers = settled(node.observers);
    return {
      number: base.number + 1,
      nodes: base.nodes.with(own),
      ids: base.ids.with(this.#ids),
      free: base.free.skipLast(this.#taken).concat(this.#freed),
    };
  }

  #note(key: string, noted: NotedRuns): Evaluation {
    if (this.#isCommitted) throw new Error(COMMITTED);
    try {
      const value = noted.run(key, this.policy.compute);
      this.counters.executed++;
      return { value, before: undefined, outcome: 'executed', changed: true };
    } catch (error) {
      this.failedReads = noted.failedReads;
      throw error;
    }
  }

  /** Nodes and edges of the runs that were only noted. */
  #build(): void {
    const noted = this.#noted;
    if (noted === undefined || noted.all.size === 0) return;
    this.#noted = undefined;
    const isCommitted = this.#isCommitted;
    this.#isCommitted = false;
    for (const [key, { reads, value }] of noted.all) {
      const frame = new FrameRecorder(this.#readOf);
      const id = this.#create(key, 'query');
      for (const input of reads) frame.input(input);
      this.#install(id, key, undefined, value, frame.ids);
    }
    this.#sweep();
    this.#isCommitted = isCommitted;
  }

  *#ownNodes(): IterableIterator<[NodeId, OwnNode | undefined]> {
    yield* this.#written;
    for (let at = 0; at < this.#fresh.length; at++) yield [this.#firstFresh + at, this.#fresh[at]];
  }

  #bringUpToDate(id: NodeId, key: string): Evaluation {
    if (this.#running.has(id)) throw new Error(`graph: the query ${key} depends on itself`);
    if (this.#find(id) === undefined) return this.#execute(id, key);
    const mark = this.#marks.get(id);
    if (mark === undefined) return this.#unchanged(id, 'green');
    if (mark === 'check' && !this.#frameChanged(id)) return this.#verify(id);
    return this.#execute(id, key);
  }

  #execute(id: NodeId, key: string): Evaluation {
    const before = this.#find(id);
    const frame = new FrameRecorder(this.#readOf);
    this.#running.add(id);
    let value: unknown;
    try {
      value = this.policy.compute(key, frame);
      // A dependency that failed has no edge, so nothing that was made without it may stay.
      if (frame.failure !== undefined) throw frame.failure.error;
    } catch (error) {
      this.#abandon(id, key, before === undefined, frame.ids);
      throw error;
    } finally {
      this.#running.delete(id);
    }
    this.counters.executed++;
    return this.#install(id, key, before, value, frame.ids);
  }

  #install(
    id: NodeId,
    key: string,
    before: GraphNode | undefined,
    value: unknown,
    frame: readonly NodeId[],
  ): Evaluation {
    const same = before !== undefined && this.policy.equal(before.value, value);
    if (same) this.counters.cutOff++;
    const kept = same ? before.value : value;
    const edges = this.#replaceFrame(id, before?.frame ?? [], frame);
    // Read again: the query's own evaluation may have added observers.
    const observers = this.#find(id)?.observers ?? EMPTY_IDS;
    const root = before?.root ?? this.#running.size === 0;
    this.#write(id, { key, kind: 'query', root, frame: edges, observers, value: kept });
    if (!root && sizeOf(observers) === 0) this.#orphans.push(id);
    this.#marks.delete(id);
    if (!same && before !== undefined) this.#markObservers(this.#node(id), 'dirty');
    return { value: kept, before: before?.value, outcome: 'executed', changed: !same };
  }

  #verify(id: NodeId): Evaluation {
    this.#marks.delete(id);
    this.counters.verified++;
    return this.#unchanged(id, 'verified');
  }

  #unchanged(id: NodeId, outcome: 'green' | 'verified'): Evaluation {
    const { value } = this.#node(id);
    return { value, before: value, outcome, changed: false };
  }

  /** Brings the dependencies up to date, in the order they were read; true as soon as one made `id` dirty. */
  #frameChanged(id: NodeId): boolean {
    for (const dependency of this.#node(id).frame) {
      this.counters.edgesWalked++;
      if (this.#marks.has(dependency)) this.#bringUpToDate(dependency, this.#node(dependency).key);
      if (this.#marks.get(id) === 'dirty') return true;
    }
    return false;
  }

  /** After a throw no new query stays; inputs that only this run has read are orphans already. */
  #abandon(id: NodeId, key: string, isNew: boolean, frame: readonly NodeId[]): void {
    this.failedReads = [...this.failedReads, ...frame.map((dependency) => this.#node(dependency).key)];
    if (isNew) this.#forget(id, key);
  }

  readonly #readOf = {
    input: (key: string): NodeId => this.#idOf(key) ?? this.#create(key, 'input'),
    query: (key: string): { id: NodeId; value: unknown } => {
      const id = this.#idOf(key) ?? this.#create(key, 'query');
      return { id, value: this.#bringUpToDate(id, key).value };
    },
  };

  /** Keeps the old array when nothing moved, the common case: then no edge is touched at all. */
  #replaceFrame(id: NodeId, before: readonly NodeId[], after: readonly NodeId[]): readonly NodeId[] {
    if (before.length === after.length && before.every((dependency, at) => after[at] === dependency)) return before;
    // A node that is new has nothing to compare with, and a cold render makes thousands.
    const gone = before.length === 0 ? NO_NODES : new Set(before);
    for (const dependency of after) if (!gone.delete(dependency)) this.#observe(dependency, id);
    for (const dependency of gone) this.#unobserve(dependency, id);
    return after;
  }

  #observe(dependency: NodeId, observer: NodeId): void {
    const node = this.#own(dependency);
    node.observers = unsettled(withId(node.observers, observer));
  }

  #unobserve(dependency: NodeId, observer: NodeId): void {
    const node = this.#own(dependency);
    node.observers = withoutId(node.observers, observer);
    if (sizeOf(node.observers) === 0) this.#orphans.push(dependency);
  }

  #setRoot(id: NodeId, root: boolean): void {
    if (this.#node(id).root !== root) this.#own(id).root = root;
    if (!root) this.#orphans.push(id);
  }

  /** Removes what nobody depends on, and then what only that had depended on. */
  #sweep(): void {
    for (let id = this.#orphans.pop(); id !== undefined; id = this.#orphans.pop()) {
      const node = this.#find(id);
      if (node === undefined || node.root || sizeOf(node.observers) > 0) continue;
      this.#forget(id, node.key);
      this.#marks.delete(id);
      if (node.kind === 'query') this.counters.retired++;
      for (const dependency of node.frame) this.#unobserve(dependency, id);
    }
  }

  #markObservers(node: GraphNode, mark: Mark): void {
    for (const id of node.observers) {
      this.counters.edgesWalked++;
      const held = this.#marks.get(id);
      if (held === 'dirty' || held === mark) continue;
      this.#marks.set(id, mark);
      if (held !== undefined) continue;
      const observer = this.#node(id);
      if (observer.root) this.onMarked(observer.key);
      this.#markObservers(observer, 'check');
    }
  }

  #idOf(key: string): NodeId | undefined {
    const own = this.#ids.get(key);
    if (own !== undefined) return own;
    return this.#ids.has(key) ? undefined : this.base.ids.get(key);
  }

  #node(id: NodeId): GraphNode {
    const node = this.#find(id);
    if (node === undefined) throw new Error(`graph: node ${id} is referred to but not there`);
    return node;
  }

  #find(id: NodeId): GraphNode | undefined {
    const own = this.#writtenNode(id);
    if (own !== undefined || id >= this.#firstFresh || this.#written.has(id)) return own;
    return this.base.nodes.get(id);
  }

  #writtenNode(id: NodeId): OwnNode | undefined {
    return id >= this.#firstFresh ? this.#fresh[id - this.#firstFresh] : this.#written.get(id);
  }

  #write(id: NodeId, node: OwnNode | undefined): void {
    if (id >= this.#firstFresh) this.#fresh[id - this.#firstFresh] = node;
    else this.#written.set(id, node);
  }

  #own(id: NodeId): OwnNode {
    if (this.#isCommitted) throw new Error(COMMITTED);
    const held = this.#writtenNode(id);
    if (held !== undefined) return held;
    const own = { ...this.#node(id) };
    this.#write(id, own);
    return own;
  }

  #nodeByKey(key: string): GraphNode | undefined {
    const id = this.#idOf(key);
    return id === undefined ? undefined : this.#find(id);
  }

  #create(key: string, kind: 'input' | 'query'): NodeId {
    const id = this.#freeId();
    this.#ids.set(key, id);
    if (kind === 'query') return id;
    this.#write(id, { key, kind, root: false, frame: NO_EDGES, observers: EMPTY_IDS, value: undefined });
    this.#orphans.push(id);
    return id;
  }

  #freeId(): NodeId {
    // Numbers freed by this session wait for the next one: frames of queries yet to run may still hold them.
    const { free } = this.base;
    if (this.#taken < free.size) return free.get(free.size - ++this.#taken) as NodeId;
    return this.#next++;
  }

  #forget(id: NodeId, key: string): void {
    this.#ids.set(key, undefined);
    this.#write(id, undefined);
    this.#freed.push(id);
  }
}
