import { describe, expect, it } from '@jest/globals';

import { IngestError } from '../../src/store/canonical.js';
import { ObjectStore, overlay } from '../../src/store/object-store.js';
import { fromText, names, stored } from './stored.js';

const INDEX = ['$.zone'];

/** Names of what changed since the revision, or why that can't be told. */
function changed(store: ObjectStore, revision: number): readonly string[] | string {
  const reading = store.changesSince(revision);
  return reading.kind === 'gap' ? reading.reason : reading.changes.map(({ namespace, name }) => `${namespace}/${name}`);
}

describe('a store', () => {
  it('journals each change with what was there before and after', () => {
    const store = new ObjectStore('things', INDEX);
    const first = stored('a', 'x', { zone: 'z1' });
    const second = stored('a', 'x', { zone: 'z2' });
    const about = { alias: 'things', namespace: 'a', name: 'x' };
    expect(store.upsert(first)).toEqual({ ...about, before: undefined, after: first });
    expect(store.upsert(second)).toEqual({ ...about, before: first, after: second });
    expect(store.remove('a', 'x')).toEqual({ ...about, before: second, after: undefined });
    expect(store.revision).toBe(3);
    expect(changed(store, 1)).toEqual(['a/x', 'a/x']);
    expect(changed(store, 3)).toEqual([]);
  });

  it.each([
    ['another order of fields', '{"zone":"z","metadata":{"name":"x","namespace":"a"}}'],
    ['another resourceVersion', '{"metadata":{"namespace":"a","name":"x","resourceVersion":"2"},"zone":"z"}'],
    ['other managedFields', '{"metadata":{"namespace":"a","name":"x","managedFields":[1]},"zone":"z"}'],
    ['another ignored field', '{"metadata":{"namespace":"a","name":"x"},"zone":"z","status":{"ready":true}}'],
  ])('makes no entry for %s', (_, text) => {
    const store = new ObjectStore('things', INDEX);
    store.upsert(stored('a', 'x', { zone: 'z' }));
    const { root } = store.snapshot();
    expect(store.upsert(fromText(text))).toBeUndefined();
    expect(store.revision).toBe(1);
    expect(store.snapshot().root).toBe(root);
  });

  it('makes no entry when what is removed is not there', () => {
    const store = new ObjectStore('things', INDEX);
    expect(store.remove('a', 'x')).toBeUndefined();
    expect(store.revision).toBe(0);
  });

  it('refuses an object without a name, and names with control characters', () => {
    const store = new ObjectStore('things', INDEX);
    expect(() => store.upsert(fromText('{"metadata":{"namespace":"a"}}'))).toThrow(IngestError);
    expect(() => store.upsert(stored('a', 'x\0y'))).toThrow('control character');
    expect(() => store.upsert(stored('a\nb', 'x'))).toThrow('control character');
    expect(store.revision).toBe(0);
  });

  it('reads a gap where its journal has been trimmed, and exact changes after that', () => {
    const store = new ObjectStore('things', INDEX, 3);
    for (let port = 1; port <= 7; port++) store.upsert(stored('a', `x${port}`));
    expect(store.revision).toBe(7);
    expect(changed(store, 3)).toBe('trimmed');
    expect(changed(store, 4)).toEqual(['a/x5', 'a/x6', 'a/x7']);
    expect(changed(store, 6)).toEqual(['a/x7']);
  });

  it('keeps the journal bounded for as long as it lives', () => {
    const store = new ObjectStore('things', INDEX, 2);
    for (let port = 0; port < 100; port++) store.upsert(stored('a', 'x', { port }));
    expect(changed(store, store.revision - 2)).toEqual(['a/x', 'a/x']);
    expect(changed(store, store.revision - 5)).toBe('trimmed');
  });

  it('reads a gap for everything before a replacement, even by equal objects', () => {
    const store = new ObjectStore('things', INDEX);
    store.upsert(stored('a', 'x'));
    const before = store.revision;
    store.replace([stored('a', 'x')]);
    expect(changed(store, before)).toBe('replaced');
    expect(changed(store, store.revision)).toEqual([]);
    store.upsert(stored('a', 'y'));
    expect(changed(store, store.revision - 1)).toEqual(['a/y']);
    expect(changed(store, 0)).toBe('replaced');
  });

  it('holds after a replacement exactly what it was replaced by', () => {
    const store = new ObjectStore('things', INDEX);
    store.upsert(stored('a', 'old', { zone: 'z' }));
    store.replace([stored('b', 'new', { zone: 'z' })]);
    expect(names(store.snapshot().list())).toEqual(['b/new']);
    expect(names(store.snapshot().get(['z']))).toEqual(['b/new']);
  });
});

describe('an overlay', () => {
  const store = new ObjectStore('things', INDEX);
  store.upsert(stored('a', 'x', { zone: 'z1' }));
  store.upsert(stored('a', 'y', { zone: 'z1' }));
  const base = store.snapshot();

  it('shows objects added, changed and removed, in lists and by key', () => {
    const view = overlay(base, [
      { namespace: 'a', name: 'x', object: stored('a', 'x', { zone: 'z2' }) },
      { namespace: 'a', name: 'y', object: undefined },
      { namespace: 'b', name: 'w', object: stored('b', 'w', { zone: 'z1' }) },
    ]);
    expect(names(view.list())).toEqual(['a/x', 'b/w']);
    expect(names(view.get(['z1']))).toEqual(['b/w']);
    expect(names(view.get(['z2']))).toEqual(['a/x']);
    expect(view.find('a', 'y')).toBeUndefined();
    expect(view.size).toBe(2);
  });

  it('leaves the store and its snapshot as they are', () => {
    overlay(base, [{ namespace: 'a', name: 'x', object: undefined }]);
    expect(names(base.list())).toEqual(['a/x', 'a/y']);
    expect(names(store.snapshot().get(['z1']))).toEqual(['a/x', 'a/y']);
    expect(store.revision).toBe(2);
  });

  it('is the snapshot itself when it changes nothing', () => {
    expect(overlay(base, [])).toBe(base);
    expect(overlay(base, [{ namespace: 'q', name: 'q', object: undefined }])).toBe(base);
  });
});
