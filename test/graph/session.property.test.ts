import { describe, expect, it } from '@jest/globals';
import fc from 'fast-check';

import { EMPTY_GENERATION, type Generation, nodeByKey, nodeCount } from '../../src/graph/generation.js';
import { GraphSession, type Reader } from '../../src/graph/session.js';
import {
  AnswerKey,
  fromScratch,
  type Inputs,
  isInput,
  type Program,
  ProgramFault,
  type QuerySpec,
  runQuery,
} from './answer-key.js';

const INPUTS = ['i0', 'i1', 'i2', 'i3'] as const;
const QUERIES = Array.from({ length: 7 }, (_, number) => `q${number}`);
const VALUES = 3;

function querySpec(number: number): fc.Arbitrary<QuerySpec> {
  const readable = [...INPUTS, ...QUERIES.slice(0, number)];
  return fc.record({
    first: fc.constantFrom(...readable),
    then: fc.array(fc.array(fc.constantFrom(...readable), { maxLength: 3 }), { minLength: VALUES, maxLength: VALUES }),
    modulus: fc.constantFrom(1, 2, VALUES),
    throwsAt: fc.oneof(
      { weight: 4, arbitrary: fc.constant(undefined) },
      { weight: 1, arbitrary: fc.constantFrom(1, 2, 3, 4) },
    ),
  });
}

const programs: fc.Arbitrary<Program> = fc
  .tuple(...QUERIES.map((_, number) => querySpec(number)))
  .map((specs) => new Map(specs.map((spec, number) => [`q${number}`, spec])));

type Step =
  | { readonly do: 'set'; readonly input: string; readonly value: number }
  | { readonly do: 'ask' | 'retire'; readonly query: string }
  | { readonly do: 'commit' | 'abort' };

const steps: fc.Arbitrary<readonly Step[]> = fc.array(
  fc.oneof(
    {
      weight: 5,
      arbitrary: fc.record({
        do: fc.constant('set' as const),
        input: fc.constantFrom(...INPUTS),
        value: fc.nat(VALUES - 1),
      }),
    },
    { weight: 4, arbitrary: fc.record({ do: fc.constant('ask' as const), query: fc.constantFrom(...QUERIES) }) },
    { weight: 1, arbitrary: fc.record({ do: fc.constant('retire' as const), query: fc.constantFrom(...QUERIES) }) },
    { weight: 3, arbitrary: fc.record({ do: fc.constant('commit' as const) }) },
    { weight: 1, arbitrary: fc.record({ do: fc.constant('abort' as const) }) },
  ),
  { minLength: 5, maxLength: 40 },
);

const counted = { commits: 0, refusals: 0, aborts: 0, faults: 0, retirements: 0 };

/** What one session works on, next to the answer key for it. */
interface Open {
  readonly inputs: Inputs;
  readonly key: AnswerKey;
  readonly session: GraphSession;
  readonly runs: string[];
  readonly marked: Set<string>;
}

/** The graph and the answer key side by side, each with its own committed state and its own session. */
class Bench {
  #generation: Generation = EMPTY_GENERATION;
  #inputs: Inputs = new Map();
  #key: AnswerKey;
  #open: Open;

  constructor(private readonly program: Program) {
    this.#key = new AnswerKey(program, this.#inputs);
    this.#open = this.#opened();
  }

  step(step: Step): void {
    if (step.do === 'set') this.#set(step.input, step.value);
    else if (step.do === 'ask') this.#ask(step.query);
    else if (step.do === 'retire') this.#retire(step.query);
    else if (step.do === 'commit') this.#commit();
    else this.#abort();
    this.#compareRuns();
  }

  #opened(): Open {
    const inputs = new Map(this.#inputs);
    const runs: string[] = [];
    const marked = new Set<string>();
    const compute = (key: string, reader: Reader): unknown => {
      runs.push(key);
      return runQuery(this.program, key, (other) => {
        if (!isInput(other)) return reader.query(other) as number;
        reader.input(other);
        return inputs.get(other) ?? 0;
      });
    };
    const policy = { compute, equal: (left: unknown, right: unknown) => left === right };
    const session = new GraphSession(this.#generation, policy, (key) => marked.add(key));
    return { inputs, key: this.#key.copy(inputs), session, runs, marked };
  }

  #compareRuns(): void {
    const { runs, key } = this.#open;
    expect(runs.sort()).toEqual(key.runs.sort());
  }

  #set(input: string, value: number): void {
    const { inputs, session, key } = this.#open;
    if ((inputs.get(input) ?? 0) === value) return;
    inputs.set(input, value);
    session.touch(input);
    key.touch(input);
  }

  #ask(query: string): void {
    const { inputs, session, key } = this.#open;
    key.ask(query);
    const expected = fromScratch(this.program, inputs, query);
    if (expected !== undefined) expect(session.evaluate(query).value).toBe(expected);
    else {
      counted.faults++;
      expect(() => session.evaluate(query)).toThrow(ProgramFault);
    }
  }

  #retire(query: string): void {
    const { session, key, marked } = this.#open;
    counted.retirements++;
    session.retire(query);
    key.retire(query);
    marked.delete(query);
  }

  /** Only what was marked is evaluated; then every root has to have its value, or nothing is committed. */
  #commit(): void {
    const { inputs, session, key, marked } = this.#open;
    marked.forEach((query) => this.#ask(query));
    if (key.rootKeys.some((query) => fromScratch(this.program, inputs, query) === undefined)) {
      counted.refusals++;
      expect(() => session.toGeneration()).toThrow('left unevaluated');
      return;
    }
    counted.commits++;
    this.#compareRuns();
    this.#generation = session.toGeneration();
    this.#inputs = inputs;
    this.#key = key;
    this.#compareNodes();
    this.#open = this.#opened();
  }

  #compareNodes(): void {
    const reachable = this.#key.reachable();
    expect(new Set(this.#generation.ids.keys())).toEqual(reachable);
    expect(nodeCount(this.#generation)).toBe(reachable.size);
    expect(this.#generation.nodes.count((node) => node !== undefined)).toBe(reachable.size);
    for (const query of this.#key.rootKeys) {
      expect(nodeByKey(this.#generation, query)?.value).toBe(fromScratch(this.program, this.#inputs, query));
    }
  }

  #abort(): void {
    counted.aborts++;
    this.#open = this.#opened();
  }
}

describe('a graph of random queries', () => {
  it('equals a recomputation, runs exactly what must run and holds exactly what is depended on', () => {
    fc.assert(
      fc.property(programs, steps, (program, history) => {
        const bench = new Bench(program);
        history.forEach((step) => bench.step(step));
      }),
      { numRuns: 1_500 },
    );
    expect(Math.min(...Object.values(counted))).toBeGreaterThan(50);
  });
});
