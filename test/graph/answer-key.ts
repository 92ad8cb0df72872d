/**
 * A small program of queries, as data: each adds up what it reads, and what it reads first decides what it reads next.
 * Queries read only queries with a smaller number.
 */
export interface QuerySpec {
  readonly first: string;
  /** Further reads, by the first one's value. */
  readonly then: readonly (readonly string[])[];
  /** Values are taken modulo this: small ones make many changes vanish. */
  readonly modulus: number;
  /** Sum at which the query throws. */
  readonly throwsAt: number | undefined;
}

export type Program = ReadonlyMap<string, QuerySpec>;
export type Inputs = Map<string, number>;

export class ProgramFault extends Error {}

/** Runs one query over any way of reading. */
export function runQuery(program: Program, key: string, read: (key: string) => number): number {
  const spec = program.get(key);
  if (spec === undefined) throw new Error(`no query ${key}`);
  const first = read(spec.first);
  const rest = (spec.then[first] ?? []).map(read);
  const sum = rest.reduce((total, value) => total + value, first);
  if (sum === spec.throwsAt) throw new ProgramFault(key);
  return sum % spec.modulus;
}

export function isInput(key: string): boolean {
  return key.startsWith('i');
}

/** The value with nothing remembered; undefined when it throws. */
export function fromScratch(program: Program, inputs: Inputs, key: string): number | undefined {
  const read = (other: string): number => (isInput(other) ? (inputs.get(other) ?? 0) : runQuery(program, other, read));
  try {
    return read(key);
  } catch (error) {
    if (error instanceof ProgramFault) return undefined;
    throw error;
  }
}

interface Memo {
  readonly reads: readonly string[];
  readonly value: number;
  dirty: boolean;
}

/** Says which queries must run and which nodes may be there, by plain recursion over remembered reads. */
export class AnswerKey {
  runs: string[] = [];

  constructor(
    private readonly program: Program,
    private readonly inputs: Inputs,
    private memos = new Map<string, Memo>(),
    private readonly roots = new Set<string>(),
  ) {}

  copy(inputs: Inputs): AnswerKey {
    const memos = new Map([...this.memos].map(([key, memo]) => [key, { ...memo }]));
    return new AnswerKey(this.program, inputs, memos, new Set(this.roots));
  }

  get rootKeys(): readonly string[] {
    return [...this.roots];
  }

  touch(input: string): void {
    this.#changed(input);
  }

  ask(key: string): void {
    try {
      this.#upToDate(key);
      this.roots.add(key);
    } catch (error) {
      if (!(error instanceof ProgramFault)) throw error;
    }
    this.#forgetUnreachable();
  }

  retire(key: string): void {
    this.roots.delete(key);
    this.#forgetUnreachable();
  }

  /** Keys of all nodes that something depends on. */
  reachable(): Set<string> {
    const found = new Set<string>();
    const visit = (key: string): void => {
      if (found.has(key)) return;
      found.add(key);
      this.memos.get(key)?.reads.forEach(visit);
    };
    this.roots.forEach(visit);
    return found;
  }

  /** A query runs when it is new, or when something it read has changed; asked in the order in which it read. */
  #upToDate(key: string): number {
    if (isInput(key)) return this.inputs.get(key) ?? 0;
    const memo = this.memos.get(key);
    if (memo === undefined) return this.#run(key, undefined);
    for (const read of memo.reads) {
      if (memo.dirty) break;
      this.#upToDate(read);
    }
    return memo.dirty ? this.#run(key, memo) : memo.value;
  }

  #run(key: string, memo: Memo | undefined): number {
    this.runs.push(key);
    const reads: string[] = [];
    const value = runQuery(this.program, key, (other) => {
      const seen = this.#upToDate(other);
      if (!reads.includes(other)) reads.push(other);
      return seen;
    });
    this.memos.set(key, { reads, value, dirty: false });
    if (memo !== undefined && memo.value !== value) this.#changed(key);
    return value;
  }

  #changed(key: string): void {
    for (const memo of this.memos.values()) if (memo.reads.includes(key)) memo.dirty = true;
  }

  #forgetUnreachable(): void {
    const reachable = this.reachable();
    this.memos = new Map([...this.memos].filter(([key]) => reachable.has(key)));
  }
}
