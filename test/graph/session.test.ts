import { describe, expect, it } from '@jest/globals';

import { EMPTY_GENERATION, type Generation, nodeByKey, nodeCount } from '../../src/graph/generation.js';
import { GraphSession, type Reader } from '../../src/graph/session.js';

type Compute = (reader: Reader) => unknown;

/** A session over plain functions; `log` holds the queries that ran, in order. */
function sessionOf(
  queries: Readonly<Record<string, Compute>>,
  base: Generation = EMPTY_GENERATION,
): { readonly session: GraphSession; readonly log: string[]; readonly marked: string[] } {
  const log: string[] = [];
  const marked: string[] = [];
  const policy = {
    compute: (key: string, reader: Reader): unknown => {
      log.push(key);
      return queries[key]?.(reader);
    },
    equal: (left: unknown, right: unknown) => left === right,
  };
  return { session: new GraphSession(base, policy, (key) => marked.push(key)), log, marked };
}

function committed(queries: Readonly<Record<string, Compute>>, ...roots: readonly string[]): Generation {
  const { session } = sessionOf(queries);
  roots.forEach((key) => session.evaluate(key));
  return session.toGeneration();
}

/** Reads one input and gives a constant. */
function constant(input: string, value: unknown): Compute {
  return (reader) => (reader.input(input), value);
}

describe('a graph session', () => {
  it('runs a query once and only again when an input that it read is touched', () => {
    const { session, log } = sessionOf({ a: constant('x', 1) });
    session.evaluate('a');
    session.touch('y');
    expect(session.evaluate('a').outcome).toBe('green');
    session.touch('x');
    expect(session.evaluate('a').outcome).toBe('executed');
    expect(log).toEqual(['a', 'a']);
  });

  it('leaves consumers alone when a dependency computes the same value again', () => {
    const queries = { low: constant('x', 1), high: (reader: Reader) => reader.query('low') };
    const { session, log } = sessionOf(queries, committed(queries, 'high'));
    session.touch('x');
    expect(session.evaluate('high')).toEqual({ value: 1, before: 1, outcome: 'verified', changed: false });
    expect(log).toEqual(['low']);
    expect(session.counters).toMatchObject({ executed: 1, verified: 1, cutOff: 1 });
  });

  it('keeps the value that was there when a run gives an equal one', () => {
    const value = { text: 'same' };
    const policy = { compute: (_: string, reader: Reader) => (reader.input('x'), { text: 'same' }), equal: () => true };
    const first = new GraphSession(EMPTY_GENERATION, { ...policy, compute: (_, reader) => (reader.input('x'), value) });
    first.evaluate('a');
    const session = new GraphSession(first.toGeneration(), policy);
    session.touch('x');
    expect(session.evaluate('a').value).toBe(value);
  });

  it('forgets the dependencies of a branch that is no longer taken', () => {
    let branch = 'left';
    const queries = { a: (reader: Reader) => (reader.input('switch'), reader.input(branch), branch) };
    const base = committed(queries, 'a');
    const { session, log, marked } = sessionOf(queries, base);
    branch = 'right';
    session.touch('switch');
    session.evaluate('a');
    session.touch('left');
    expect(session.frameOf('a')).toEqual(['switch', 'right']);
    expect({ log, marked }).toEqual({ log: ['a'], marked: ['a'] });
    expect(session.has('left')).toBe(false);
    expect(nodeByKey(base, 'left')?.observers).toHaveLength(1);
  });

  it('announces a root once, however many of its inputs are touched', () => {
    const queries = { a: (reader: Reader) => (reader.input('x'), reader.query('b')), b: constant('y', 1) };
    const { session, marked } = sessionOf(queries, committed(queries, 'a'));
    ['y', 'x', 'y'].forEach((input) => session.touch(input));
    expect(marked).toEqual(['a']);
  });

  it('reads more dependencies than a short frame holds, each once', () => {
    const inputs = Array.from({ length: 40 }, (_, number) => `x${number}`);
    const { session } = sessionOf({
      a: (reader) => [...inputs, ...inputs].forEach((input) => reader.input(input)),
    });
    session.evaluate('a');
    expect(session.frameOf('a')).toEqual(inputs);
  });

  it('tells thousands of observers of one input, and forgets them again', () => {
    const names = Array.from({ length: 3_000 }, (_, number) => `q${number}`);
    const queries = Object.fromEntries(names.map((name) => [name, constant('x', 1)]));
    const base = committed(queries, ...names);
    const { session, marked } = sessionOf(queries, base);
    session.touch('x');
    expect(marked).toHaveLength(3_000);
    names.forEach((name) => session.retire(name));
    expect(nodeCount(session.toGeneration())).toBe(0);
  });
});

describe('retirement', () => {
  it('takes inputs and queries along that only the retired query had depended on', () => {
    const queries = { a: (reader: Reader) => reader.query('b'), b: constant('x', 1), c: constant('y', 2) };
    const { session } = sessionOf(queries, committed(queries, 'a', 'c'));
    session.retire('a');
    expect([...session.toGeneration().ids.keys()].sort()).toEqual(['c', 'y']);
  });

  it('keeps a query that another one still depends on', () => {
    const queries = { a: (reader: Reader) => reader.query('b'), b: constant('x', 1) };
    const { session, log } = sessionOf(queries, committed(queries, 'a', 'b'));
    session.retire('b');
    expect(session.evaluate('a').outcome).toBe('green');
    session.retire('a');
    expect(nodeCount(session.toGeneration())).toBe(0);
    expect(log).toEqual([]);
  });

  it('removes a derived query with its last reader, without running it', () => {
    let reads = true;
    const queries = {
      a: (reader: Reader) => (reader.input('switch'), reads ? reader.query('b') : undefined),
      b: constant('x', 1),
    };
    const { session, log } = sessionOf(queries, committed(queries, 'a'));
    reads = false;
    session.touch('x');
    session.touch('switch');
    session.evaluate('a');
    expect([...session.toGeneration().ids.keys()].sort()).toEqual(['a', 'switch']);
    expect(log).toEqual(['a']);
  });

  it('makes a query that comes back run again', () => {
    const queries = { a: constant('x', 1) };
    const { session } = sessionOf(queries, committed(queries, 'a'));
    session.retire('a');
    expect(session.valueOf('a')).toBeUndefined();
    expect(session.evaluate('a')).toEqual({ value: 1, outcome: 'executed', changed: true });
    expect(nodeCount(session.toGeneration())).toBe(2);
  });

  it('gives numbers out again, so that coming and going does not grow the graph', () => {
    let generation = committed({ stays: constant('x', 1) }, 'stays');
    for (let round = 0; round < 50; round++) {
      const { session } = sessionOf({ [`q${round}`]: constant(`x${round}`, round) }, generation);
      session.retire(`q${round - 1}`);
      session.evaluate(`q${round}`);
      generation = session.toGeneration();
    }
    expect(nodeCount(generation)).toBe(4);
    expect(generation.nodes.size).toBeLessThan(9);
  });

  it('is nothing for a key that is not there', () => {
    const { session } = sessionOf({});
    session.retire('a');
    expect(session.toGeneration().number).toBe(1);
  });
});

describe('a query that throws', () => {
  const fault = new Error('no');

  it('stays dirty with its old frame and value, and runs again', () => {
    let broken = false;
    const queries = {
      a: (reader: Reader) => {
        reader.input('x');
        if (!broken) return 'fine';
        reader.input('read by the failed run alone');
        throw fault;
      },
    };
    const { session } = sessionOf(queries, committed(queries, 'a'));
    broken = true;
    session.touch('x');
    expect(() => session.evaluate('a')).toThrow(fault);
    expect(session.failedReads).toEqual(['x', 'read by the failed run alone']);
    expect(session.has('read by the failed run alone')).toBe(false);
    expect(() => session.toGeneration()).toThrow('1 queries were left unevaluated, among them a');
    broken = false;
    expect(session.evaluate('a')).toEqual({ value: 'fine', before: 'fine', outcome: 'executed', changed: false });
    expect(nodeCount(session.toGeneration())).toBe(2);
  });

  it('leaves nothing behind when it is new, nor does what it alone had asked for', () => {
    const queries = {
      a: (reader: Reader) => {
        reader.query('b');
        throw fault;
      },
      b: constant('x', 1),
    };
    const { session } = sessionOf(queries);
    expect(() => session.evaluate('a')).toThrow(fault);
    expect(nodeCount(session.toGeneration())).toBe(0);
  });

  it('names what failed dependencies had read, too', () => {
    const queries = {
      a: (reader: Reader) => (reader.input('x'), reader.query('b')),
      b: (reader: Reader) => {
        reader.input('y');
        throw fault;
      },
    };
    const { session } = sessionOf(queries);
    expect(() => session.evaluate('a')).toThrow(fault);
    expect([...session.failedReads].sort()).toEqual(['x', 'y']);
  });

  it('fails its reader even when that catches: nothing would tell it that the fault is gone', () => {
    const queries = {
      a: (reader: Reader) => {
        try {
          return reader.query('b');
        } catch {
          return 'made without b';
        }
      },
      b: () => {
        throw fault;
      },
    };
    const { session } = sessionOf(queries);
    expect(() => session.evaluate('a')).toThrow(fault);
  });

  it('leaves other queries as they were', () => {
    const queries = {
      a: constant('x', 1),
      bad: () => {
        throw fault;
      },
    };
    const { session } = sessionOf(queries);
    session.evaluate('a');
    expect(() => session.evaluate('bad')).toThrow(fault);
    session.touch('x');
    expect(session.evaluate('a').outcome).toBe('executed');
    expect(nodeCount(session.toGeneration())).toBe(2);
  });
});

describe('an input that loses its last observer while a run that has read it goes on', () => {
  it('stays', () => {
    let reads = true;
    const queries = {
      low: (reader: Reader) => (reader.input('switch'), reads && reader.input('x'), 1),
      high: (reader: Reader) => (reader.input('x'), reader.query('low')),
    };
    const { session } = sessionOf(queries, committed(queries, 'low'));
    reads = false;
    session.touch('switch');
    session.evaluate('high');
    expect(session.frameOf('high')).toEqual(['x', 'low']);
    expect([...session.toGeneration().ids.keys()].sort()).toEqual(['high', 'low', 'switch', 'x']);
  });
});

describe('a query that depends on itself', () => {
  it('is refused when it is new', () => {
    const { session } = sessionOf({ a: (reader) => reader.query('b'), b: (reader) => reader.query('a') });
    expect(() => session.evaluate('a')).toThrow('the query a depends on itself');
    expect(nodeCount(session.toGeneration())).toBe(0);
  });

  it('is refused when a change made the circle', () => {
    let circle = false;
    const queries = {
      a: (reader: Reader) => reader.query('b'),
      b: (reader: Reader) => (reader.input('x'), circle ? reader.query('a') : 1),
    };
    const { session } = sessionOf(queries, committed(queries, 'a'));
    circle = true;
    session.touch('x');
    expect(() => session.evaluate('a')).toThrow('depends on itself');
    circle = false;
    expect(session.evaluate('a').value).toBe(1);
  });
});

describe('a session that is dropped', () => {
  it('leaves the generation as it was, whatever it did', () => {
    const queries = { a: constant('x', 1), b: constant('x', 2) };
    const base = committed(queries, 'a', 'b');
    const before = JSON.stringify([base.ids, base.nodes, base.free]);
    const { session } = sessionOf({ ...queries, c: constant('x', 3) }, base);
    session.touch('x');
    session.evaluate('a');
    session.evaluate('c');
    session.retire('b');
    session.toGeneration();
    expect(JSON.stringify([base.ids, base.nodes, base.free])).toBe(before);
  });
});
