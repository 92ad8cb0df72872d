import { describe, expect, it } from '@jest/globals';
import fc from 'fast-check';
import { JsonTooLarge, jsonValue } from '../../src/store/json-value.js';
import { isDeepFrozen } from './stored.js';

const copyOf = (value: unknown, characters = 1_000_000): unknown => jsonValue(value, { left: characters });

describe('jsonValue', () => {
  it('is what a trip through JSON makes of the value, with its keys in order, deep-frozen', () => {
    fc.assert(
      fc.property(fc.object({ withNullPrototype: true, values: [fc.anything({ maxDepth: 0 })] }), (value) => {
        fc.pre(!/toJSON/.test(Object.keys(value).join()));
        const copy = copyOf(value);
        expect(copy).toStrictEqual(JSON.parse(JSON.stringify(value)));
        expect(isDeepFrozen(copy)).toBe(true);
        const keys = Object.keys(copy as object);
        const numbers = keys.filter((key) => /^(0|[1-9]\d*)$/.test(key)).length;
        expect(keys.slice(numbers)).toEqual([...keys.slice(numbers)].sort());
      }),
    );
  });

  it.each([
    [Number.NaN, null],
    [Number.NEGATIVE_INFINITY, null],
    [-0, 0],
    [
      [undefined, () => 1, Symbol('x')],
      [null, null, null],
    ],
    [{ a: undefined, b: () => 1, c: 1 }, { c: 1 }],
    [JSON.parse('{"__proto__":{"a":1}}'), JSON.parse('{"__proto__":{"a":1}}')],
  ])('has JSON forms only: %p', (value, expected) => {
    expect(copyOf(value)).toStrictEqual(expected);
  });

  it('has text of its own for what differs', () => {
    const texts = [null, 0, '0', false, '', [], {}, [0], { 0: 0 }, [[]], { a: {} }, { a: [] }].map((value) =>
      JSON.stringify(copyOf(value)),
    );
    expect(new Set(texts).size).toBe(texts.length);
  });

  it('ends at its budget, for a value in a circle too', () => {
    const circle: unknown[] = [];
    circle.push(circle);
    expect(() => copyOf(circle, 1_000)).toThrow(JsonTooLarge);
    expect(() => copyOf('x'.repeat(100), 50)).toThrow(JsonTooLarge);
  });

  it('refuses a bigint', () => {
    expect(() => copyOf({ a: 1n })).toThrow('a bigint has no form in JSON');
  });
});
