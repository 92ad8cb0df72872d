import { afterEach, beforeEach, describe, expect, it, jest } from '@jest/globals';

import { Ledger } from '../../src/admission/ledger.js';
import type { ReviewedChange } from '../../src/admission/reviewed-change.js';
import type { ObjectChange, ThreadApi } from '../../src/render/protocol.js';
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

/** The render thread's half, as far as it knows its entries. */
class Ground {
  readonly entries = new Map<number, ObjectChange>();
  readonly renders: (number | undefined)[] = [];

  remember({ number, change, render }: ThreadApi['remember'][0]): void {
    this.entries.set(number, change);
    this.renders.push(render);
  }

  forget({ number }: ThreadApi['forget'][0]): void {
    this.entries.delete(number);
  }

  get names(): string[] {
    return [...this.entries.values()].map(({ name }) => name);
  }
}

let ground: Ground;
let ledger: Ledger;
beforeEach(() => {
  ground = new Ground();
  ledger = new Ledger(ground);
});

/** What the review of this change sees. */
function seen(reviewed: ReviewedChange): string[] {
  const own = ledger.own(reviewed);
  return [...ground.entries].filter(([number]) => !own.includes(number)).map(([, { name }]) => name);
}

describe('the ledger of admitted changes', () => {
  it('shows each to the reviews of other objects, in the order of admission', () => {
    ledger.add(admitted('one'), 7);
    ledger.add(admitted('two'));
    expect(ground.renders).toEqual([7, undefined]);
    expect(seen(admitted('other'))).toEqual(['one', 'two']);
    expect(seen(admitted('one'))).toEqual(['two']);
    expect(ledger.hasOthers(admitted('one'))).toBe(true);
  });

  it('has nothing to show to the review of the only object in it', () => {
    expect(ledger.hasOthers(admitted('one'))).toBe(false);
    ledger.add(admitted('one'));
    expect(ledger.hasOthers(admitted('one'))).toBe(false);
  });

  it('is never entered by dry runs', () => {
    ledger.add(admitted('one', { dryRun: true }));
    expect(ledger.size).toBe(0);
    expect(ground.names).toEqual([]);
  });

  it('holds at most a thousand, the newest', () => {
    for (let at = 0; at < 1_003; at++) ledger.add(admitted(`n${at}`));
    expect(ledger.size).toBe(1_000);
    expect(ground.names).toHaveLength(1_000);
    expect(ground.names[0]).toBe('n3');
  });

  it('holds at most 32 MiB, the newest', () => {
    for (const name of ['a', 'b', 'c', 'd', 'e']) ledger.add(admitted(name, { size: 10 * 1024 * 1024 }));
    expect(ground.names).toEqual(['c', 'd', 'e']);
    ledger.add(admitted('huge', { size: 33 * 1024 * 1024 }));
    expect(ground.names).toEqual([]);
    ledger.add(admitted('small'));
    expect(ground.names).toEqual(['small']);
  });

  it('keeps what the watch has shown until the accepted root has seen it', () => {
    ledger.add(admitted('one'));
    ledger.accepted(7);
    ledger.shown([site('one', { line: 'newer' })], 8);
    ledger.accepted(7);
    expect(ground.names).toEqual(['one']);
    ledger.shown([site('one', { line: 'newer still' })], 9);
    ledger.accepted(8);
    expect(ground.names).toEqual([]);
  });

  it('knows a generated name again by the uid of the object', () => {
    ledger.add(admitted('web-abc', { objectUid: '0a1b-2c' }));
    ledger.add(admitted('other-abc', { objectUid: '9f9f-9f' }));
    ledger.shown([site('web-x7k2p', {}, { uid: '0a1b-2c' })], 3);
    ledger.accepted(3);
    expect(ground.names).toEqual(['other-abc']);
    expect(seen(admitted('other-z', { objectUid: '9f9f-9f' }))).toEqual([]);
  });

  it('lets a deletion that the watch shows take its entry away', () => {
    ledger.add(admitted('one', { objectUid: 'u-1' }));
    ledger.shown([gone('sites', 'shop', 'one')], 2);
    ledger.accepted(2);
    expect(ledger.size).toBe(0);
  });
});

describe('without any news', () => {
  beforeEach(() => void jest.useFakeTimers());
  afterEach(() => void jest.useRealTimers());

  it('the ledger forgets by itself after five seconds', () => {
    ledger.add(admitted('one'));
    jest.advanceTimersByTime(3_000);
    ledger.add(admitted('two'));
    jest.advanceTimersByTime(1_999);
    expect(ground.names).toEqual(['one', 'two']);
    jest.advanceTimersByTime(1);
    expect(ground.names).toEqual(['two']);
    jest.advanceTimersByTime(3_000);
    expect(ledger.size).toBe(0);
    expect(ground.names).toEqual([]);
  });

  it('counts a change again that is admitted again, from then', () => {
    ledger.add(admitted('one', { objectUid: 'u-1' }));
    jest.advanceTimersByTime(4_000);
    const deletion = gone('sites', 'shop', 'one');
    ledger.add(admitted('one', { objectUid: 'u-1', operation: 'DELETE', change: deletion }));
    jest.advanceTimersByTime(2_000);
    expect([...ground.entries.values()]).toEqual([deletion]);
  });
});
