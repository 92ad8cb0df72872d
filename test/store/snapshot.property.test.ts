import { describe, expect, it } from '@jest/globals';
import fc from 'fast-check';

import type { StoredObject } from '../../src/store/canonical.js';
import { ObjectStore, overlay } from '../../src/store/object-store.js';
import type { ObjectSnapshot } from '../../src/store/snapshot.js';
import { names, stored } from './stored.js';

/** Few enough to collide, many enough for trees of several levels (a node holds 32). */
const NAMESPACES = ['', 'a', 'b', 'constructor', '__proto__', 'é'];
const identities = fc.record({
  namespace: fc.constantFrom(...NAMESPACES),
  name: fc.integer({ min: 0, max: 40 }).map((number) => `n${number}`),
});
const contents = fc.record({
  zone: fc.constantFrom('z1', 'z2', '__proto__'),
  hosts: fc.uniqueArray(fc.constantFrom('h1', 'h10', 'constructor'), { maxLength: 2 }),
});

type Step = { readonly namespace: string; readonly name: string } & (
  | { readonly do: 'put' | 'overlay'; readonly content: { readonly zone: string; readonly hosts: readonly string[] } }
  | { readonly do: 'remove' | 'pin' }
);

const steps: fc.Arbitrary<readonly Step[]> = fc.array(
  fc
    .oneof(
      {
        weight: 8,
        arbitrary: fc.record({ do: fc.constant('put' as const), content: contents, at: identities }),
      },
      { weight: 1, arbitrary: fc.record({ do: fc.constant('overlay' as const), content: contents, at: identities }) },
      { weight: 3, arbitrary: fc.record({ do: fc.constant('remove' as const), at: identities }) },
      { weight: 1, arbitrary: fc.record({ do: fc.constant('pin' as const), at: identities }) },
    )
    .map(({ at, ...step }) => ({ ...step, ...at })),
  { minLength: 20, maxLength: 300, size: 'max' },
);

type Model = ReadonlyMap<string, StoredObject>;

/** Objects of the plain model in canonical order, by code units. */
function ordered(model: Model): readonly StoredObject[] {
  return [...model].sort(([a], [b]) => (a < b ? -1 : 1)).map(([, object]) => object);
}

function expectSame(snapshot: ObjectSnapshot, model: Model): void {
  const all = ordered(model);
  expect(snapshot.list()).toEqual(all);
  expect(snapshot.size).toBe(all.length);
  expect([...snapshot.identities()].map(({ namespace, name }) => `${namespace}/${name}`)).toEqual(names(all));
  for (const zone of ['z1', 'z2', '__proto__', 'z']) {
    const inZone = all.filter((object) => object['zone'] === zone && hostsOf(object).length > 0);
    expect(names(snapshot.get([zone]))).toEqual(names(inZone));
    for (const host of ['h1', 'h10', 'constructor', 'h']) {
      expect(names(snapshot.get([zone, host]))).toEqual(
        names(inZone.filter((object) => hostsOf(object).includes(host))),
      );
    }
  }
}

function hostsOf(object: StoredObject): readonly string[] {
  return object['hosts'] as readonly string[];
}

describe('snapshots of a store', () => {
  it('each stay what they were, whatever happens to the store, and equal a plain map', () => {
    fc.assert(
      fc.property(steps, (history) => {
        const store = new ObjectStore('things', ['$.zone', '$.hosts[*]'], 16);
        let model: Model = new Map();
        const pinned: { readonly snapshot: ObjectSnapshot; readonly model: Model }[] = [];
        for (const step of history) {
          const { namespace, name } = step;
          const key = `${namespace}\0${name}`;
          if (step.do === 'put') {
            const object = stored(namespace, name, step.content);
            const isNews = JSON.stringify(model.get(key)) !== JSON.stringify(object);
            expect(store.upsert(object) !== undefined).toBe(isNews);
            if (isNews) model = new Map(model).set(key, object);
          } else if (step.do === 'remove') {
            expect(store.remove(namespace, name) !== undefined).toBe(model.has(key));
            model = new Map([...model].filter(([held]) => held !== key));
          } else if (step.do === 'overlay') {
            const object = stored(namespace, name, step.content);
            const snapshot = overlay(store.snapshot(), [{ namespace, name, object }]);
            pinned.push({ snapshot, model: new Map(model).set(key, object) });
          } else pinned.push({ snapshot: store.snapshot(), model });
        }
        expectSame(store.snapshot(), model);
        pinned.forEach((pin) => expectSame(pin.snapshot, pin.model));
      }),
      { numRuns: 30 },
    );
  });

  it('are told apart by the journal: the changes since one, replayed over it, give the other', () => {
    fc.assert(
      fc.property(steps, fc.nat(60), (history, from) => {
        const store = new ObjectStore('things', ['$.zone', '$.hosts[*]'], 32);
        let pinned = store.snapshot();
        history.forEach((step, at) => {
          if (step.do === 'put') store.upsert(stored(step.namespace, step.name, step.content));
          else if (step.do === 'remove') store.remove(step.namespace, step.name);
          if (at === history.length - from) pinned = store.snapshot();
        });
        const reading = store.changesSince(pinned.revision);
        if (reading.kind === 'gap') return expect(store.revision - pinned.revision).toBeGreaterThan(32);
        const edits = reading.changes.map(({ namespace, name, after }) => ({ namespace, name, object: after }));
        expect(overlay(pinned, edits).list()).toEqual(store.snapshot().list());
        expect(reading.changes).toHaveLength(store.revision - pinned.revision);
      }),
      { numRuns: 60 },
    );
  });
});
