import { EMPTY_IDS, sizeOf, withId, withoutId } from './id-set.js';
import type { Generation, GraphNode, NodeId } from './generation.js';

/** What a running query may read; every read becomes an edge of its frame. */
export interface Reader {
  /** Records the read of an input. The value itself is fetched by whoever computes. */
  input(key: string): void;
  /** Value of another query, evaluated first if need be. */
  query(key: string): unknown;
}

/** The policy that a graph is built with. */
export interface GraphPolicy {
  /** Computes the query of this key. Must be a pure function of what it reads through `reader`. */
  compute(key: string, reader: Reader): unknown;
  /** Whether two results are the same value, effects included: then consumers stay green (early cut-off). */
  equal(left: unknown, right: unknown): boolean;
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
  readonly outcome: 'executed' | 'verified' | 'green';
  /** Whether the value differs from the one before. */
  readonly changed: boolean;
}

/** `dirty`: a dependency has changed, so it runs. `check`: a dependency may have; its frame is verified first. */
type Mark = 'dirty' | 'check';

/**
 * One render's private layer over a committed generation (decision 0023, "Dependency graph"; the marks are those of
 * Salsa's red-green evaluation, pushed). Nothing of the generation is written; the session commits whole or is dropped.
 */
export class GraphSession {
  readonly counters: SessionCounters = { executed: 0, verified: 0, cutOff: 0, retired: 0, edgesWalked: 0 };
  /** Keys that the last failed run had read up to its throw: what may mend it. */
  failedReads: readonly string[] = [];
  readonly #written = new Map<NodeId, GraphNode | undefined>();
  readonly #ids = new Map<string, NodeId | undefined>();
  readonly #marks = new Map<NodeId, Mark>();
  readonly #running = new Set<NodeId>();
  #taken = 0;
  #freed: NodeId[] = [];
  #next: NodeId;

  constructor(
    readonly base: Generation,
    private readonly policy: GraphPolicy,
    /** Called once for each query that becomes dirty or has to be checked. */
    private readonly onMarked: (key: string) => void = () => undefined,
  ) {
    this.#next = base.nodes.size;
  }

  has(key: string): boolean {
    return this.#idOf(key) !== undefined;
  }

  /** Value of the query's last run in this session or before it; undefined when it never ran. */
  valueOf(key: string): unknown {
    return this.#nodeByKey(key)?.value;
  }

  /** Keys that the query's last run read. */
  frameOf(key: string): readonly string[] {
    return (this.#nodeByKey(key)?.frame ?? []).map((id) => this.#node(id).key);
  }

  isMarked(key: string): boolean {
    const id = this.#idOf(key);
    return id !== undefined && this.#marks.has(id);
  }

  /** The input has changed: the queries that observed it become dirty. An input nobody observed costs nothing. */
  touch(key: string): void {
    const id = this.#idOf(key);
    if (id !== undefined) this.#markObservers(this.#node(id), 'dirty');
  }

  /** Brings the query up to date. Throws what `compute` throws; the query then stays dirty with its old frame. */
  evaluate(key: string): Evaluation {
    const id = this.#idOf(key);
    if (id === undefined) return this.#execute(this.#create(key, 'query'), key);
    const mark = this.#marks.get(id);
    if (mark === undefined) return { value: this.#node(id).value, outcome: 'green', changed: false };
    if (mark === 'check' && !this.#frameChanged(id)) return this.#verify(id);
    return this.#execute(id, key);
  }

  /** Removes the query with its edges; inputs that nobody observes any more go with it. */
  retire(key: string): void {
    const id = this.#idOf(key);
    if (id === undefined) return;
    const node = this.#node(id);
    this.#markObservers(node, 'dirty');
    for (const dependency of node.frame) this.#unobserve(dependency, id);
    this.#remove(id, node);
    this.counters.retired++;
  }

  /** The next generation. Throws when a query is still marked: a graph with stale values is never published. */
  toGeneration(): Generation {
    if (this.#marks.size > 0) {
      const stale = [...this.#marks.keys()].slice(0, 3).map((id) => this.#node(id).key);
      throw new Error(`graph: ${this.#marks.size} queries were left unevaluated, among them ${stale.join(', ')}`);
    }
    const { base } = this;
    return {
      number: base.number + 1,
      nodes: base.nodes.withMutations((nodes) => {
        for (const [id, node] of this.#written) nodes.set(id, node);
      }),
      ids: base.ids.withMutations((ids) => {
        for (const [key, id] of this.#ids)
          if (id === undefined) ids.delete(key);
          else ids.set(key, id);
      }),
      free: base.free.skipLast(this.#taken).concat(this.#freed),
    };
  }

  #execute(id: NodeId, key: string): Evaluation {
    if (this.#running.has(id)) throw new Error(`graph: the query ${key} depends on itself`);
    const before = this.#written.get(id) ?? this.base.nodes.get(id);
    const frame = new FrameRecorder(this.#readOf);
    this.#running.add(id);
    let value: unknown;
    try {
      value = this.policy.compute(key, frame);
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
    const observers = this.#written.get(id)?.observers ?? before?.observers ?? EMPTY_IDS;
    this.#written.set(id, { key, kind: 'query', frame: edges, observers, value: kept });
    this.#marks.delete(id);
    if (!same && before !== undefined) this.#markObservers(this.#node(id), 'dirty');
    return { value: kept, outcome: 'executed', changed: !same };
  }

  #verify(id: NodeId): Evaluation {
    this.#marks.delete(id);
    this.counters.verified++;
    return { value: this.#node(id).value, outcome: 'verified', changed: false };
  }

  /** Brings the dependencies up to date, in the order they were read; true as soon as one made `id` dirty. */
  #frameChanged(id: NodeId): boolean {
    for (const dependency of this.#node(id).frame) {
      this.counters.edgesWalked++;
      const node = this.#written.get(dependency) ?? this.base.nodes.get(dependency);
      if (node?.kind === 'query' && this.#marks.has(dependency)) this.evaluate(node.key);
      if (this.#marks.get(id) === 'dirty') return true;
    }
    return false;
  }

  /** After a throw nothing of the run stays: no new query, and no input that only this run has read. */
  #abandon(id: NodeId, key: string, isNew: boolean, frame: readonly NodeId[]): void {
    this.failedReads = frame.map((dependency) => this.#node(dependency).key);
    if (isNew) this.#forget(id, key);
    for (const dependency of frame) {
      const node = this.#node(dependency);
      if (node.kind === 'input' && sizeOf(node.observers) === 0) this.#remove(dependency, node);
    }
  }

  readonly #readOf = {
    input: (key: string): NodeId => this.#idOf(key) ?? this.#create(key, 'input'),
    query: (key: string): { id: NodeId; value: unknown } => {
      const { value } = this.evaluate(key);
      return { id: this.#idOf(key) as NodeId, value };
    },
  };

  /** Keeps the old array when nothing moved, the common case: then no edge is touched at all. */
  #replaceFrame(id: NodeId, before: readonly NodeId[], after: readonly NodeId[]): readonly NodeId[] {
    if (before.length === after.length && before.every((dependency, at) => after[at] === dependency)) return before;
    const old = new Set(before);
    const now = new Set(after);
    for (const dependency of now) if (!old.has(dependency)) this.#observe(dependency, id);
    for (const dependency of old) if (!now.has(dependency)) this.#unobserve(dependency, id);
    return after;
  }

  #observe(dependency: NodeId, observer: NodeId): void {
    const node = this.#node(dependency);
    this.#written.set(dependency, { ...node, observers: withId(node.observers, observer) });
  }

  #unobserve(dependency: NodeId, observer: NodeId): void {
    const node = this.#written.has(dependency) ? this.#written.get(dependency) : this.base.nodes.get(dependency);
    if (node === undefined) return; // retired in this session
    const observers = withoutId(node.observers, observer);
    if (sizeOf(observers) === 0 && node.kind === 'input') this.#remove(dependency, node);
    else this.#written.set(dependency, { ...node, observers });
  }

  #markObservers(node: GraphNode, mark: Mark): void {
    for (const id of node.observers) {
      this.counters.edgesWalked++;
      const held = this.#marks.get(id);
      if (held === 'dirty' || held === mark) continue;
      this.#marks.set(id, mark);
      if (held !== undefined) continue;
      const observer = this.#node(id);
      this.onMarked(observer.key);
      this.#markObservers(observer, 'check');
    }
  }

  #idOf(key: string): NodeId | undefined {
    return this.#ids.has(key) ? this.#ids.get(key) : this.base.ids.get(key);
  }

  #node(id: NodeId): GraphNode {
    const node = this.#written.has(id) ? this.#written.get(id) : this.base.nodes.get(id);
    if (node === undefined) throw new Error(`graph: node ${id} is referred to but not there`);
    return node;
  }

  #nodeByKey(key: string): GraphNode | undefined {
    const id = this.#idOf(key);
    return id === undefined ? undefined : (this.#written.get(id) ?? this.base.nodes.get(id));
  }

  #create(key: string, kind: 'input' | 'query'): NodeId {
    const id = this.#freeId();
    this.#ids.set(key, id);
    if (kind === 'input') this.#written.set(id, { key, kind, frame: [], observers: EMPTY_IDS, value: undefined });
    return id;
  }

  #freeId(): NodeId {
    // Numbers freed by this session wait for the next one: frames of queries yet to run may still hold them.
    const { free } = this.base;
    if (this.#taken < free.size) return free.get(free.size - ++this.#taken) as NodeId;
    return this.#next++;
  }

  #remove(id: NodeId, node: GraphNode): void {
    this.#forget(id, node.key);
    this.#marks.delete(id);
  }

  #forget(id: NodeId, key: string): void {
    this.#ids.set(key, undefined);
    this.#written.set(id, undefined);
    this.#freed.push(id);
  }
}

interface Reads {
  input(key: string): NodeId;
  query(key: string): { id: NodeId; value: unknown };
}

/** Collects the dependencies of one run, each once, in the order of their first read. */
class FrameRecorder implements Reader {
  readonly ids: NodeId[] = [];
  #seen: Set<NodeId> | undefined;

  constructor(private readonly reads: Reads) {}

  input(key: string): void {
    this.#add(this.reads.input(key));
  }

  query(key: string): unknown {
    const { id, value } = this.reads.query(key);
    this.#add(id);
    return value;
  }

  #add(id: NodeId): void {
    // Short frames are searched faster than hashed.
    if (this.ids.length < 16 ? this.ids.includes(id) : this.#set().has(id)) return;
    this.ids.push(id);
    this.#seen?.add(id);
  }

  #set(): Set<NodeId> {
    return (this.#seen ??= new Set(this.ids));
  }
}
