import { describe, expect, it } from '@jest/globals';

import { parsePath } from '../../src/store/json-path.js';
import { indexVectors } from '../../src/store/key-index.js';
import { ObjectStore } from '../../src/store/object-store.js';
import { fromText, names, stored } from './stored.js';

function vectors(content: Readonly<Record<string, unknown>>, ...paths: readonly string[]): unknown {
  return indexVectors(stored('a', 'x', content), paths.map(parsePath));
}

describe('the key vectors of an object', () => {
  it('are all combinations of the values that its paths select, each once', () => {
    const found = vectors({ hosts: ['h1', 'h2', 'h1'], ports: [80, 443] }, '$.hosts[*]', '$.ports[*]');
    expect(found).toEqual([
      ['h1', '80'],
      ['h1', '443'],
      ['h2', '80'],
      ['h2', '443'],
    ]);
  });

  it('are none when one of the paths selects nothing', () => {
    expect(vectors({ hosts: [] }, '$.metadata.namespace', '$.hosts[*]')).toEqual([]);
    expect(vectors({}, '$.metadata.namespace', '$.missing')).toEqual([]);
    expect(vectors({})).toEqual([]);
  });

  it('take strings, numbers and truth values, and nothing that could pass for two keys', () => {
    const values = ['text', 1, true, null, {}, [], 'a\0b'];
    expect(vectors({ values }, '$.values[*]')).toEqual([['text'], ['1'], ['true']]);
  });

  it('come from own properties only', () => {
    expect(vectors({}, '$.constructor')).toEqual([]);
    expect(vectors({}, "$['__proto__']")).toEqual([]);
  });
});

describe('a read by prefix', () => {
  function storeWith(indexBy: readonly string[], ...objects: readonly ReturnType<typeof stored>[]): ObjectStore {
    const store = new ObjectStore('things', indexBy);
    objects.forEach((object) => store.upsert(object));
    return store;
  }

  it('finds by the first keys, by all keys, and everything by none, in canonical order', () => {
    const snapshot = storeWith(
      ['$.zone', '$.host'],
      stored('b', 'x', { zone: 'z1', host: 'h1' }),
      stored('a', 'y', { zone: 'z1', host: 'h2' }),
      stored('a', 'x', { zone: 'z2', host: 'h1' }),
      stored('a', 'w', {}),
    ).snapshot();
    expect(names(snapshot.get(['z1']))).toEqual(['a/y', 'b/x']);
    expect(names(snapshot.get(['z1', 'h1']))).toEqual(['b/x']);
    expect(names(snapshot.get(['z1', 'h3']))).toEqual([]);
    expect(snapshot.get([])).toBe(snapshot.list());
    expect(names(snapshot.list())).toEqual(['a/w', 'a/x', 'a/y', 'b/x']);
  });

  it('gives an object with several vectors once', () => {
    const snapshot = storeWith(
      ['$.zone', '$.hosts[*]'],
      stored('a', 'x', { zone: 'z', hosts: ['h1', 'h2'] }),
    ).snapshot();
    expect(names(snapshot.get(['z']))).toEqual(['a/x']);
    expect(names(snapshot.get(['z', 'h2']))).toEqual(['a/x']);
  });

  it('takes no key for the beginning of another', () => {
    const snapshot = storeWith(
      ['$.host'],
      stored('a', 'x', { host: 'h1' }),
      stored('a', 'y', { host: 'h10' }),
    ).snapshot();
    expect(names(snapshot.get(['h1']))).toEqual(['a/x']);
    expect(names(snapshot.get(['h']))).toEqual([]);
  });

  it('finds nothing for a prefix that is too long, or that holds the separator', () => {
    const snapshot = storeWith(['$.zone', '$.host'], stored('a', 'x', { zone: 'z', host: 'h' })).snapshot();
    expect(snapshot.get(['z', 'h', 'more'])).toEqual([]);
    expect(snapshot.get(['z\0h'])).toEqual([]);
  });

  it.each(['constructor', '__proto__', 'toString', 'hasOwnProperty', ''])(
    'treats %j as a key like any other',
    (key) => {
      const store = storeWith(['$.metadata.namespace', '$.host']);
      expect(store.snapshot().get([key])).toEqual([]);
      const object = fromText(
        `{"metadata":{"namespace":${JSON.stringify(key)},"name":"x"},"host":${JSON.stringify(key)}}`,
      );
      store.upsert(object);
      expect(store.snapshot().get([key])).toEqual([object]);
      expect(store.snapshot().get([key, key])).toEqual([object]);
      expect(store.snapshot().find(key, 'x')).toBe(object);
      store.remove(key, 'x');
      expect(store.snapshot().get([key])).toEqual([]);
    },
  );

  it('reads a field called __proto__ where the object has one', () => {
    const store = storeWith(["$['__proto__']"]);
    store.upsert(fromText('{"metadata":{"name":"x"},"__proto__":"own"}'));
    expect(names(store.snapshot().get(['own']))).toEqual(['undefined/x']);
  });
});
