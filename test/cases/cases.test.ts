import { join } from 'node:path';

import { describe, expect, it } from '@jest/globals';

import { PROJECT_ROOT } from '../support/project.js';
import { CONCURRENCY, createPool, findCaseTests } from './run-cases.js';

const tests = findCaseTests(join(PROJECT_ROOT, 'test/cases/data'));
const pool = createPool(CONCURRENCY);
const results = new Map<number, Promise<readonly string[]>>();

/** Jest runs one test after the other; this one starts the next few already, so that both cores have work. */
const AHEAD = 4;

function start(index: number): Promise<readonly string[]> {
  const test = tests[index];
  if (test === undefined) return Promise.resolve([]);
  const running = results.get(index) ?? pool(() => test.run());
  results.set(index, running);
  return running;
}

describe('cases', () => {
  it.each(tests.map((test, index) => ({ name: test.name, index })))(
    '$name',
    async ({ index }) => {
      const result = start(index);
      for (let next = index + 1; next <= index + AHEAD; next++) void start(next);
      expect(await result).toEqual([]);
    },
    120_000,
  );
});
