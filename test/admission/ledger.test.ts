import { describe, expect, it } from '@jest/globals';

import { Ledger } from '../../src/admission/ledger.js';
import type { ReviewedChange } from '../../src/admission/reviewed-change.js';
import { gone, site } from '../support/render-config.js';

function admitted(name: string, more: Partial<ReviewedChange> & { size?: number } = {}): ReviewedChange {
  const { size = 0, ...rest } = more;
  return {
    change: site(name, { line: 'x'.repeat(size) }, rest.objectUid === undefined ? {} : { uid: rest.objectUid }),
    operation: 'CREATE',
    label: `sites shop/${name}`,
    title: `shop/${name}`,
    objectUid: '',
    dying: false,
    dryRun: false,
    ...rest,
  };
}

const OTHER = admitted('other');

function names(ledger: Ledger, reviewed = OTHER): string[] {
  return ledger.changes(reviewed).map(({ name }) => name);
}

describe('the ledger of admitted changes', () => {
  it('shows each to the reviews of other objects, in the order of admission', () => {
    const ledger = new Ledger();
    ledger.add(admitted('one'));
    ledger.add(admitted('two'));
    expect(names(ledger)).toEqual(['one', 'two']);
    expect(names(ledger, admitted('one'))).toEqual(['two']);
  });

  it('is seen by dry runs and never entered by them', () => {
    const ledger = new Ledger();
    ledger.add(admitted('one'));
    ledger.add(admitted('two', { dryRun: true }));
    expect(names(ledger, { ...OTHER, dryRun: true })).toEqual(['one']);
  });

  it('forgets by itself after five seconds', () => {
    let now = 0;
    const ledger = new Ledger(() => now);
    ledger.add(admitted('one'));
    now = 3_000;
    ledger.add(admitted('two'));
    now = 4_999;
    expect(names(ledger)).toEqual(['one', 'two']);
    now = 5_000;
    expect(names(ledger)).toEqual(['two']);
    now = 8_000;
    expect(ledger.size).toBe(0);
    expect(names(ledger)).toEqual([]);
  });

  it('counts a change again that is admitted again, from then', () => {
    let now = 0;
    const ledger = new Ledger(() => now);
    ledger.add(admitted('one', { objectUid: 'u-1' }));
    now = 4_000;
    ledger.add(admitted('one', { objectUid: 'u-1', operation: 'DELETE', change: gone('sites', 'shop', 'one') }));
    now = 6_000;
    expect(ledger.changes(OTHER)).toEqual([gone('sites', 'shop', 'one')]);
  });

  it('holds at most a thousand, the newest', () => {
    const ledger = new Ledger();
    for (let at = 0; at < 1_003; at++) ledger.add(admitted(`n${at}`));
    expect(ledger.size).toBe(1_000);
    expect(names(ledger)[0]).toBe('n3');
  });

  it('holds at most 32 MiB, the newest', () => {
    const ledger = new Ledger();
    for (const name of ['a', 'b', 'c', 'd', 'e']) ledger.add(admitted(name, { size: 10 * 1024 * 1024 }));
    expect(names(ledger)).toEqual(['c', 'd', 'e']);
    ledger.add(admitted('huge', { size: 33 * 1024 * 1024 }));
    expect(names(ledger)).toEqual([]);
    ledger.add(admitted('small'));
    expect(names(ledger)).toEqual(['small']);
  });

  it('keeps what the watch has shown until the accepted root has seen it', () => {
    const ledger = new Ledger();
    ledger.add(admitted('one'));
    ledger.accepted(7);
    ledger.shown([site('one', { line: 'newer' })], 8);
    ledger.accepted(7);
    expect(names(ledger)).toEqual(['one']);
    ledger.shown([site('one', { line: 'newer still' })], 9);
    ledger.accepted(8);
    expect(names(ledger)).toEqual([]);
  });

  it('knows a generated name again by the uid of the object', () => {
    const ledger = new Ledger();
    ledger.add(admitted('web-abc', { objectUid: '0a1b-2c' }));
    ledger.add(admitted('other-abc', { objectUid: '9f9f-9f' }));
    ledger.shown([site('web-x7k2p', {}, { uid: '0a1b-2c' })], 3);
    ledger.accepted(3);
    expect(names(ledger)).toEqual(['other-abc']);
    expect(names(ledger, admitted('other-z', { objectUid: '9f9f-9f' }))).toEqual([]);
  });

  it('lets a deletion that the watch shows take its entry away', () => {
    const ledger = new Ledger();
    ledger.add(admitted('one', { objectUid: 'u-1' }));
    ledger.shown([gone('sites', 'shop', 'one')], 2);
    ledger.accepted(2);
    expect(ledger.size).toBe(0);
  });
});
