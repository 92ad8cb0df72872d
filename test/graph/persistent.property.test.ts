import { describe, expect, it } from '@jest/globals';
import fc from 'fast-check';
import { KeyMap } from '../../src/graph/key-map.js';
import { PagedList } from '../../src/graph/paged-list.js';

/** Commits of changes: every generation is looked at again when all have been made. */
const commits = (largest: number) =>
  fc.array(fc.array(fc.tuple(fc.nat(largest), fc.option(fc.nat(), { nil: undefined })), { maxLength: 40 }), {
    maxLength: 12,
  });

describe('a committed list of nodes', () => {
  it('reads like an array at every generation, however later ones change it', () => {
    fc.assert(
      fc.property(commits(600), (all) => {
        const generations: { list: PagedList<number>; model: (number | undefined)[] }[] = [
          { list: PagedList.empty(), model: [] },
        ];
        for (const changes of all) {
          const { list, model } = generations.at(-1) ?? { list: PagedList.empty<number>(), model: [] };
          const next = [...model];
          for (const [index, entry] of changes) next[index] = entry;
          generations.push({ list: list.with(changes), model: next });
        }
        for (const { list, model } of generations) {
          expect(list.size).toBe(model.length);
          expect(Array.from({ length: 700 }, (_, at) => list.get(at))).toEqual(
            Array.from({ length: 700 }, (_, at) => model[at]),
          );
          expect(list.count((entry) => entry !== undefined)).toBe(model.filter((entry) => entry !== undefined).length);
        }
      }),
    );
  });
});

describe('a committed map of keys', () => {
  it('reads like a Map at every generation, however later ones change it', () => {
    fc.assert(
      fc.property(commits(30), (all) => {
        const generations: { keys: KeyMap; model: Map<string, number> }[] = [{ keys: KeyMap.EMPTY, model: new Map() }];
        for (const changes of all) {
          const { keys, model } = generations.at(-1) ?? { keys: KeyMap.EMPTY, model: new Map<string, number>() };
          const next = new Map(model);
          const named = new Map(changes.map(([key, value]) => [`k${key}`, value]));
          for (const [key, value] of named) void (value === undefined ? next.delete(key) : next.set(key, value));
          generations.push({ keys: keys.with(named), model: next });
        }
        for (const { keys, model } of generations) {
          expect(keys.size).toBe(model.size);
          expect([...keys].sort()).toEqual([...model].sort());
          expect([...keys.keys()].every((key) => keys.get(key) === model.get(key))).toBe(true);
        }
      }),
    );
  });

  it('puts many changes into the large map, and still reads the same', () => {
    const many = new Map(Array.from({ length: 3_000 }, (_, at) => [`k${at}`, at]));
    const keys = KeyMap.EMPTY.with(many).with(new Map([['k7', undefined]]));
    expect([keys.size, keys.get('k7'), keys.get('k8')]).toEqual([2_999, undefined, 8]);
  });
});
