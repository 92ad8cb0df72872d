import { describe, expect, it } from '@jest/globals';
import fc from 'fast-check';
import { ANY, JsonPathError, parsePath, pathExists, valuesAt } from '../../src/store/json-path.js';

const select = (root: unknown, path: string): unknown[] => valuesAt(root, parsePath(path));

describe('parsePath', () => {
  it.each([
    ['$', []],
    ['$.metadata.name', ['metadata', 'name']],
    ["$.metadata.labels['kubernetes.io/service-name']", ['metadata', 'labels', 'kubernetes.io/service-name']],
    ['$["a b"].c', ['a b', 'c']],
    ['$.spec.rules[*].host', ['spec', 'rules', ANY, 'host']],
    ["$['it\\'s'][\"a\\\\b\"]", ["it's", 'a\\b']],
    ["$['']", ['']],
    ["$['[*]']", ['[*]']],
    ['$._a1.gr\u00fcn', ['_a1', 'gr\u00fcn']],
    ['$.__proto__.constructor', ['__proto__', 'constructor']],
  ])('reads %s', (text, path) => {
    expect(parsePath(text)).toEqual(path);
  });

  it.each([
    ['', 0],
    ['metadata.name', 0],
    ['@.name', 0],
    ['$metadata', 1],
    ['$.', 1],
    ['$..name', 1],
    ['$.a.*', 3],
    ['$.a[0]', 3],
    ['$.a[-1]', 3],
    ['$.a[1:2]', 3],
    ['$.a[?@.b]', 3],
    ["$.a['b','c']", 3],
    ["$.a['b", 3],
    ['$.a[b]', 3],
    ['$.a-b', 3],
    ['$.a b', 3],
    ['$.1', 1],
    ["$['a\\nb']", 1],
    ['$.a ', 3],
  ])('refuses %j and says where', (text, position) => {
    const attempt = (): unknown => parsePath(text);
    expect(attempt).toThrow(JsonPathError);
    expect(attempt).toThrow(expect.objectContaining({ position }) as unknown as Error);
  });

  it('reads back every name that is written in quotes', () => {
    fc.assert(
      fc.property(fc.array(fc.string({ unit: 'binary' })), (names) => {
        const text = names.map((name) => `['${name.replace(/['\\]/g, '\\$&')}']`).join('');
        expect(parsePath(`$${text}`)).toEqual(names);
      }),
    );
  });

  it('either reads a text or throws JsonPathError at a place inside of it', () => {
    const piece = fc.constantFrom('$', '.', 'a', '[*]', "['", "']", '[', ']', '"', '\\', "'", '*', ' ', '\n');
    fc.assert(
      fc.property(fc.array(piece, { maxLength: 12 }), (pieces) => {
        const text = pieces.join('');
        try {
          parsePath(text);
        } catch (error) {
          if (!(error instanceof JsonPathError)) throw error;
          expect(error.position).toBeGreaterThanOrEqual(0);
          expect(error.position).toBeLessThanOrEqual(text.length);
        }
      }),
    );
  });

  it('is not slowed down by an open quote', () => {
    expect(() => parsePath(`$['${'\\'.repeat(200_001)}`)).toThrow(JsonPathError);
  });
});

describe('valuesAt', () => {
  it('selects the root with $ alone, whatever it is', () => {
    expect([select(1, '$'), select(null, '$'), select([1], '$')]).toEqual([[1], [null], [[1]]]);
  });

  it('selects every element with [*], of arrays in arrays too', () => {
    const ingress = { rules: [{ paths: ['/a', '/b'] }, {}, { paths: ['/c'] }, { paths: '/d' }] };
    expect(select(ingress, '$.rules[*].paths[*]')).toEqual(['/a', '/b', '/c']);
  });

  it('keeps values that are null, false, 0 or empty', () => {
    const root = { n: null, f: false, z: 0, e: '' };
    expect(['n', 'f', 'z', 'e'].flatMap((name) => select(root, `$.${name}`))).toEqual([null, false, 0, '']);
  });

  it.each([
    ['a name of a text', 'text', '$.length'],
    ['a name of an array', { list: ['a'] }, '$.list.length'],
    ['[*] of a mapping', { map: { a: 1 } }, '$.map[*]'],
    ['[*] of a text', { text: 'abc' }, '$.text[*]'],
    ['a name below null', { a: null }, '$.a.b'],
    ['a name that is missing', {}, '$.a'],
  ])('finds nothing for %s', (_, root, path) => {
    expect(select(root, path)).toEqual([]);
    expect(pathExists(root, parsePath(path))).toBe(false);
  });

  it.each(['constructor', '__proto__', 'toString', 'hasOwnProperty'])('sees %s as data only', (name) => {
    expect(select({}, `$.${name}`)).toEqual([]);
    expect(select(JSON.parse(`{"${name}": "own"}`), `$.${name}`)).toEqual(['own']);
  });

  it('agrees with a walk that is obviously right', () => {
    const object = fc.letrec<{ node: unknown }>((tie) => ({
      node: fc.oneof(
        { maxDepth: 4 },
        fc.constantFrom(null, 0, 'x'),
        fc.array(tie('node'), { maxLength: 3 }),
        fc.dictionary(fc.constantFrom('a', 'b', '__proto__'), tie('node'), { maxKeys: 3 }),
      ),
    })).node;
    const path = fc.array(fc.constantFrom<string | typeof ANY>('a', 'b', '__proto__', ANY), { maxLength: 4 });
    fc.assert(
      fc.property(object, path, (root, steps) => {
        expect(valuesAt(root, steps)).toEqual(slowly(root, steps));
      }),
    );
  });
});

function slowly(root: unknown, [step, ...rest]: readonly (string | typeof ANY)[]): unknown[] {
  if (step === undefined) return [root];
  const isList = Array.isArray(root);
  if (typeof root !== 'object' || root === null || (step === ANY) !== isList) return [];
  const found: unknown[] = [];
  for (const [key, value] of Object.entries(root)) if (step === ANY || key === step) found.push(...slowly(value, rest));
  return found;
}
