import { readFileSync, readdirSync } from 'node:fs';
import { join } from 'node:path';

import { describe, expect, it } from '@jest/globals';
import { parse } from 'yaml';

import { PROJECT_ROOT } from '../support/project.js';
import { readCase } from './case-schema.js';
import type { CaseOutcome } from './case-schema.js';

const DATA = join(PROJECT_ROOT, 'test/cases/data');

const MINIMAL = { title: 't', kind: 'k', source: ['s'] };

function read(more: Record<string, unknown>): CaseOutcome {
  return readCase({ ...MINIMAL, ...more });
}

function problemsOf(more: Record<string, unknown>): readonly string[] {
  const outcome = read(more);
  return outcome.ok ? [] : outcome.problems;
}

describe('the format of a case', () => {
  it.each(readdirSync(DATA).filter((name) => name.endsWith('.yaml')))('knows every field of %s', (name) => {
    const outcome = readCase(parse(readFileSync(join(DATA, name), 'utf8')));
    expect(outcome.ok ? [] : outcome.problems).toEqual([]);
  });

  it('refuses an unknown field of a case and says where it stands', () => {
    expect(problemsOf({ review: {}, colour: 'red' })).toEqual([expect.stringMatching(/the case: .*colour/)]);
  });

  it('refuses an unknown field of a review', () => {
    expect(problemsOf({ reviews: [{ operation: 'CREATE' }, { operatoin: 'CREATE' }] })).toEqual([
      expect.stringMatching(/reviews\.1: .*operatoin/),
    ]);
  });

  it.each([
    ['expect', { verdikt: 'allowed' }],
    ['expect.ifDenied', { ifDenied: { ifDenied: {} } }],
    ['expect.routes.0', { routes: [{ host: 'a', path: '/', to: 'none', port: 80 }] }],
  ])('refuses an unknown field below %s', (place, block) => {
    expect(problemsOf({ reviews: [{ expect: block }] })).toEqual([expect.stringContaining(`reviews.0.${place}: `)]);
  });

  it('refuses an unknown field of a checker stand-in, of a raw request and of a query', () => {
    const problems = problemsOf({
      reviews: [{ checker: { exit: 1 } }, { raw: { body: '', size: 1 } }, { query: { timeouts: '1s' } }],
    });
    expect(problems).toHaveLength(3);
  });

  it('refuses a verdict, a runner and a moment that nobody knows', () => {
    const bad = { runners: ['grpc'], during: 'lunch', review: { expect: { verdict: 'perhaps' } } };
    expect(problemsOf(bad).length).toBeGreaterThanOrEqual(3);
  });

  it('takes either one review or a list, never both and never none', () => {
    expect(problemsOf({})).toEqual([expect.stringContaining('either review or reviews')]);
    expect(problemsOf({ review: {}, reviews: [{}] })).toEqual([expect.stringContaining('either review or reviews')]);
  });

  it('gives the one block of a single review to that review, and what speaks of the whole case to its end', () => {
    const outcome = read({ review: {}, expect: { verdict: 'denied', checkerRunsTotalAtMost: 3 } });
    if (!outcome.ok) throw new Error(outcome.problems.join());
    expect(outcome.case.reviews[0]?.expect).toEqual({ verdict: ['denied'] });
    expect(outcome.case.expect).toEqual({ checkerRunsTotalAtMost: 3 });
  });

  it('runs a case through both runners unless it says otherwise', () => {
    const outcome = read({ review: {} });
    expect(outcome.ok && outcome.case.runners).toEqual(['https', 'offline']);
  });

  it('keeps an object as it is, keys such as __proto__ included', () => {
    const object = JSON.parse(
      '{"kind":"Ingress","metadata":{"labels":{"__proto__":"x","constructor":"y"}}}',
    ) as unknown;
    const outcome = read({ given: [object], review: {} });
    expect(outcome.ok && JSON.stringify(outcome.case.given[0])).toBe(JSON.stringify(object));
  });
});

describe('@repeat', () => {
  it('stands for so many copies of its list, each with its number', () => {
    const of = [
      { kind: 'A', metadata: { name: 'a-{i}' } },
      { kind: 'B', metadata: { name: '{i}' } },
    ];
    const outcome = read({ given: [{ '@repeat': { count: 2, of } }, { kind: 'C' }], review: {} });
    expect(outcome.ok && outcome.case.given).toEqual([
      { kind: 'A', metadata: { name: 'a-0' } },
      { kind: 'B', metadata: { name: '0' } },
      { kind: 'A', metadata: { name: 'a-1' } },
      { kind: 'B', metadata: { name: '1' } },
      { kind: 'C' },
    ]);
  });

  it('may stand in a list of reviews', () => {
    const outcome = read({ reviews: [{ '@repeat': { count: 3, of: [{ operation: 'CREATE', name: 'n{i}' }] } }] });
    expect(outcome.ok && outcome.case.reviews.map(({ name }) => name)).toEqual(['n0', 'n1', 'n2']);
  });

  it('is refused with any other field', () => {
    expect(() => read({ given: [{ '@repeat': { count: 1, of: [], step: 2 } }], review: {} })).toThrow('@repeat');
    expect(() => read({ given: [{ '@repeat': { count: 1, of: [] }, kind: 'A' }], review: {} })).toThrow('@repeat');
  });
});
