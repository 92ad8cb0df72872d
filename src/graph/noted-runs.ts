import type { Reader } from './frame-recorder.js';

export interface NotedRun {
  /** Keys of inputs in the order of the reads, repeated ones too. */
  readonly reads: readonly string[];
  readonly value: unknown;
}

/** Runs over an empty generation, where none can be stale and nobody depends on another: kept as they were, for later. */
export class NotedRuns {
  readonly all = new Map<string, NotedRun>();
  /** What the last run that threw had read. */
  failedReads: readonly string[] = [];
  /** Those of the run that goes on: runs are never inside each other here. */
  #reads: string[] = [];
  readonly #reader: Reader = {
    input: (key) => void this.#reads.push(key),
    query: (key) => {
      throw new Error(`graph: the query ${key} is read, although the graph's policy has queries read inputs only`);
    },
  };

  has(key: string): boolean {
    return this.all.has(key);
  }

  valueOf(key: string): unknown {
    return this.all.get(key)?.value;
  }

  /** Throws what `compute` throws. */
  run(key: string, compute: (key: string, reader: Reader) => unknown): unknown {
    const reads: string[] = [];
    this.#reads = reads;
    try {
      const value = compute(key, this.#reader);
      this.all.set(key, { reads, value });
      return value;
    } catch (error) {
      this.failedReads = [...new Set(reads)];
      throw error;
    }
  }
}
