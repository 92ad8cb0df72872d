import type { NodeId } from './generation.js';

/** What a running query may read; every read becomes an edge of its frame. */
export interface Reader {
  /** Records the read of an input. The value itself is fetched by whoever computes. */
  input(key: string): void;
  /** Value of another query, evaluated first if need be. */
  query(key: string): unknown;
}

interface Reads {
  input(key: string): NodeId;
  query(key: string): { id: NodeId; value: unknown };
}

/** Collects the dependencies of one run, each once, in the order of their first read. */
export class FrameRecorder implements Reader {
  readonly ids: NodeId[] = [];
  /** What a dependency threw. */
  failure: { readonly error: unknown } | undefined;
  #seen: Set<NodeId> | undefined;

  constructor(private readonly reads: Reads) {}

  input(key: string): void {
    this.#add(this.reads.input(key));
  }

  query(key: string): unknown {
    try {
      const { id, value } = this.reads.query(key);
      this.#add(id);
      return value;
    } catch (error) {
      this.failure ??= { error };
      throw error;
    }
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
