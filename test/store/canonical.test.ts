import { describe, expect, it } from '@jest/globals';
import fc from 'fast-check';
import { compileDropped, identityOf, ingest, IngestError } from '../../src/store/canonical.js';
import { JsonPathError } from '../../src/store/json-path.js';
import { isDeepFrozen } from './stored.js';

const NOTHING_MORE = compileDropped([]);
const take = (value: unknown, ...ignoreFields: string[]): unknown =>
  ingest(typeof value === 'string' ? value : JSON.stringify(value), compileDropped(ignoreFields));

/** JSON with few names, names that are traps among them, so that collisions happen. */
const json = fc.letrec<{ node: unknown }>((tie) => ({
  node: fc.oneof(
    { maxDepth: 4 },
    fc.constantFrom<unknown>(null, true, 0, -1.5, '', 'x', '\ud800', '\u2028'),
    fc.array(tie('node'), { maxLength: 3 }),
    fc.dictionary(fc.constantFrom('a', 'b', 'B', '10', '9', '__proto__', 'constructor'), tie('node'), { maxKeys: 4 }),
  ),
})).node;
const object = fc.dictionary(fc.constantFrom('a', 'b', 'metadata', '__proto__'), json, { maxKeys: 4 });

/** The same JSON with its members in another order. */
function reversed(value: unknown): string {
  if (Array.isArray(value)) return `[${value.map(reversed).join(',')}]`;
  if (typeof value !== 'object' || value === null) return JSON.stringify(value);
  const members = Object.entries(value).reverse();
  return `{${members.map(([key, member]) => `${JSON.stringify(key)}:${reversed(member)}`).join(',')}}`;
}

describe('ingest', () => {
  it('makes equal content equal text, in whatever order its members came', () => {
    fc.assert(
      fc.property(object, (value) => {
        const one = ingest(JSON.stringify(value), NOTHING_MORE);
        const other = ingest(reversed(value), NOTHING_MORE);
        expect(JSON.stringify(other)).toBe(JSON.stringify(one));
      }),
    );
  });

  it('is idempotent', () => {
    fc.assert(
      fc.property(object, (value) => {
        const once = JSON.stringify(ingest(JSON.stringify(value), NOTHING_MORE));
        expect(JSON.stringify(ingest(once, NOTHING_MORE))).toBe(once);
      }),
    );
  });

  it('freezes every part of the object', () => {
    fc.assert(
      fc.property(object, (value) => {
        expect(isDeepFrozen(ingest(JSON.stringify(value), NOTHING_MORE))).toBe(true);
      }),
    );
  });

  it('keeps the order of lists, and sorts names by code unit', () => {
    expect(JSON.stringify(take({ list: [3, 1, 2], b: 1, a: 1, B: 1, '\u00e4': 1 }))).toBe(
      '{"B":1,"a":1,"b":1,"list":[3,1,2],"\u00e4":1}',
    );
  });

  it('takes names such as __proto__ and constructor as data', () => {
    const taken = take('{"__proto__": {"polluted": true}, "constructor": {"prototype": {"polluted": true}}}');
    expect(JSON.stringify(taken)).toBe('{"__proto__":{"polluted":true},"constructor":{"prototype":{"polluted":true}}}');
    expect(Object.getPrototypeOf(taken)).toBe(Object.prototype);
    expect(({} as { polluted?: boolean }).polluted).toBeUndefined();
  });

  it.each([
    ['no JSON', '{"a": ', 'is not JSON'],
    ['nothing', '', 'is not JSON'],
    ['a list', '[]', 'is not a JSON object'],
    ['null', 'null', 'is not a JSON object'],
    ['a number', '1', 'is not a JSON object'],
    ['65 levels', `${'{"a":'.repeat(65)}1${'}'.repeat(65)}`, 'nests deeper than 64 levels'],
    ['200,000 lists', `{"a":${'['.repeat(200_000)}`, 'nests deeper than 64 levels'],
    ['a million members', `{"a":[${'{},'.repeat(1_000_000)}{}]}`, 'has more than 1000000 members'],
  ])('refuses %s', (_, text, message) => {
    const attempt = (): unknown => take(text);
    expect(attempt).toThrow(IngestError);
    expect(attempt).toThrow(message);
  });

  it('takes 64 levels, and brackets inside texts', () => {
    expect(() => take(`${'{"a":'.repeat(64)}1${'}'.repeat(64)}`)).not.toThrow();
    expect(take({ a: '[{'.repeat(100), b: `\\"${'['.repeat(100)}` })).toBeDefined();
  });
});

describe('dropped fields', () => {
  it('are managedFields and resourceVersion in any case', () => {
    const metadata = { name: 'a', resourceVersion: '7', managedFields: [{ manager: 'kubectl' }], generation: 2 };
    expect(take({ metadata })).toEqual({ metadata: { generation: 2, name: 'a' } });
  });

  it('are dropped where they stand, not in other places or in lists', () => {
    const status = { status: 1 };
    expect(take({ status: { a: 1 }, spec: status, items: [status] }, '$.status')).toEqual({
      spec: status,
      items: [status],
    });
  });

  it('may share their beginning and contain each other', () => {
    const value = { metadata: { name: 'a', labels: { a: '1', b: '2', c: '3' } } };
    expect(take(value, '$.metadata.labels.a', '$.metadata.labels.b')).toEqual({
      metadata: { name: 'a', labels: { c: '3' } },
    });
    expect(take(value, '$.metadata.labels', '$.metadata.labels.a')).toEqual({ metadata: { name: 'a' } });
    expect(take(value, '$.metadata.labels.a', '$.metadata.labels')).toEqual({ metadata: { name: 'a' } });
  });

  it('leave an object alone that has something else in their place', () => {
    expect(take({ metadata: 'x', status: null }, '$.status.conditions')).toEqual({ metadata: 'x', status: null });
    expect(take({ metadata: [{ resourceVersion: 1 }] })).toEqual({ metadata: [{ resourceVersion: 1 }] });
  });

  it('make an update that touches nothing else equal', () => {
    const at = (resourceVersion: string): string =>
      JSON.stringify(take({ metadata: { name: 'a', resourceVersion }, status: { seen: resourceVersion } }, '$.status'));
    expect(at('1')).toBe(at('2'));
  });

  it('take names only', () => {
    expect(() => compileDropped(['$.spec.rules[*].host'])).toThrow(IngestError);
    expect(() => compileDropped(['status'])).toThrow(JsonPathError);
  });
});

describe('identityOf', () => {
  it.each([
    [{ metadata: { namespace: 'shop', name: 'web' } }, { namespace: 'shop', name: 'web' }],
    [{ metadata: { name: 'web' } }, { namespace: '', name: 'web' }],
    [{ metadata: { name: 7, namespace: null } }, { namespace: '', name: '' }],
    [{ metadata: null }, { namespace: '', name: '' }],
    [{}, { namespace: '', name: '' }],
  ])('of %j', (value, identity) => {
    expect(identityOf(value)).toEqual(identity);
  });

  it('is not taken from what an object inherits', () => {
    expect(identityOf({ metadata: Object.create({ name: 'inherited' }) as unknown })).toEqual({
      namespace: '',
      name: '',
    });
  });
});
