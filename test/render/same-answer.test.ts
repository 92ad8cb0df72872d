import { describe, expect, it } from '@jest/globals';

import { Contribution } from '../../src/render/contribution.js';
import type { ReadableRender } from '../../src/render/instance-io.js';
import { countKey, findKey, getKey, listKey, selectKey, selectValuesKey } from '../../src/render/keys.js';
import { sameAnswer } from '../../src/render/same-answer.js';
import { ObjectStore } from '../../src/store/object-store.js';
import { stored } from '../store/stored.js';

/** One Site, which publishes its line. */
function renderOf(line: string, rank = ''): ReadableRender {
  const store = new ObjectStore('sites', ['$.spec.line']);
  store.upsert(stored('shop', 'a', { spec: { line } }));
  const published = new Contribution('site', 0, 'lines', 'a', rank, line);
  return {
    snapshot: () => store.snapshot(),
    winner: (_group, _cell, key) => (key === 'a' ? published : undefined),
    winners: () => [published],
    count: () => line.length,
  };
}

const READS = [
  ['find', findKey('sites', 'shop', 'a')],
  ['list', listKey('sites')],
  ['get', getKey('sites', ['one'])],
  ['select', selectKey('g', 'lines', 'a')],
  ['values', selectValuesKey('g', 'lines')],
  ['count', countKey('g', 'lines')],
] as const;

describe('the answer to a read', () => {
  it.each(READS)('of the kind %s is the same where everything says the same', (_, input) => {
    expect(sameAnswer(input, renderOf('one'), renderOf('one', '1'))).toBe(true);
  });

  it.each(READS)('of the kind %s is another where the object is', (_, input) => {
    expect(sameAnswer(input, renderOf('one'), renderOf('another'))).toBe(false);
  });

  it('is the same where nothing is found', () => {
    for (const input of [findKey('sites', 'shop', 'b'), getKey('sites', ['none']), selectKey('g', 'lines', 'b')])
      expect(sameAnswer(input, renderOf('one'), renderOf('another'))).toBe(true);
  });
});
