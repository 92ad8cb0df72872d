import { describe, expect, it } from '@jest/globals';

import { findKey } from '../../src/render/keys.js';
import { contentHash, type NewQuarantine, Quarantine } from '../../src/render/quarantine.js';
import type { StoredObject } from '../../src/store/canonical.js';
import { stored } from '../store/stored.js';

const REF = { alias: 'sites', namespace: 'a', name: 'x' };
const OLD = stored('a', 'x', { version: 1 });
const BAD = stored('a', 'x', { version: 2 });
const NEW = stored('a', 'x', { version: 3 });

function entry(more: Partial<NewQuarantine> = {}): NewQuarantine {
  return { ...REF, faults: ['f'], reason: 'r', current: BAD, accepted: OLD, reads: [], ...more };
}

/** What the next render sees in place of the object, when the stores hold `current`. */
function served(quarantine: Quarantine, current: StoredObject | undefined): unknown {
  return quarantine.edits(() => current).get('sites');
}

describe('an object in quarantine', () => {
  it('is served at its last accepted revision', () => {
    const quarantine = new Quarantine();
    quarantine.put(entry());
    expect(served(quarantine, BAD)).toEqual([{ namespace: 'a', name: 'x', object: OLD }]);
    expect(quarantine.entries()).toEqual([{ ...REF, faults: ['f'], reason: 'r', servedOld: true }]);
  });

  it.each([
    ['never had an accepted one', { accepted: undefined }],
    ['is refused at just that one', { accepted: BAD }],
  ])('is left out when it %s', (_, more) => {
    const quarantine = new Quarantine();
    quarantine.put(entry(more));
    expect(served(quarantine, BAD)).toEqual([{ namespace: 'a', name: 'x', object: undefined }]);
    expect(quarantine.entry(REF)?.servedOld).toBe(false);
  });

  it('is left out when it is put in again: what was served is at fault itself', () => {
    const quarantine = new Quarantine();
    quarantine.put(entry());
    quarantine.put(entry());
    expect(served(quarantine, BAD)).toEqual([{ namespace: 'a', name: 'x', object: undefined }]);
  });

  it('is served as the stores have it at the next render once it is lifted, however often it changes until then', () => {
    const quarantine = new Quarantine();
    quarantine.put(entry());
    quarantine.lift(REF);
    expect(served(quarantine, BAD)).toEqual([{ namespace: 'a', name: 'x', object: BAD }]);
    expect(served(quarantine, NEW)).toEqual([{ namespace: 'a', name: 'x', object: NEW }]);
    expect(served(quarantine, undefined)).toEqual([{ namespace: 'a', name: 'x', object: undefined }]);
    expect(quarantine.size).toBe(0);
  });

  it('is no edit any more after a commit, and one again for a render from nothing', () => {
    const quarantine = new Quarantine();
    quarantine.put(entry());
    quarantine.committed();
    expect(served(quarantine, BAD)).toBeUndefined();
    expect(quarantine.allEdits(() => BAD).get('sites')).toEqual([{ namespace: 'a', name: 'x', object: OLD }]);
  });

  it('is found by what it read', () => {
    const quarantine = new Quarantine();
    quarantine.put(entry({ reads: ['one', 'two'] }));
    expect(quarantine.readersOf(new Set(['two', 'three'])).map(({ name }) => name)).toEqual(['x']);
    expect(quarantine.readersOf(new Set(['three']))).toEqual([]);
  });

  it('may have mended unseen when it is another revision, or has read something besides itself', () => {
    const own = findKey('sites', 'a', 'x');
    const quarantine = new Quarantine();
    quarantine.put(entry({ reads: [own] }));
    expect(quarantine.perhapsMended(() => BAD)).toEqual([]);
    expect(quarantine.perhapsMended(() => NEW)).toHaveLength(1);
    expect(quarantine.perhapsMended(() => undefined)).toHaveLength(1);
    quarantine.put(entry({ reads: [own, 'other'] }));
    expect(quarantine.perhapsMended(() => BAD)).toHaveLength(1);
  });

  it('is recorded with the refused revision by hash and the accepted one as text', () => {
    const quarantine = new Quarantine();
    quarantine.put(entry({ reads: ['read'] }));
    const about = { ...REF, faults: ['f'], reason: 'r', servedOld: true, reads: ['read'] };
    expect(quarantine.records()).toEqual([{ ...about, accepted: JSON.stringify(OLD), refused: contentHash(BAD) }]);
  });

  it('is not confused with an object of another alias or namespace', () => {
    const quarantine = new Quarantine();
    quarantine.put(entry());
    expect(quarantine.has({ ...REF, alias: 'zones' })).toBe(false);
    expect(quarantine.has({ ...REF, namespace: '' })).toBe(false);
    quarantine.lift({ ...REF, name: 'y' });
    expect(quarantine.has(REF)).toBe(true);
  });
});
