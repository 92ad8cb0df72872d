import { describe, expect, it } from '@jest/globals';

import { budgetOf } from '../../src/admission/deadline.js';

const SETTINGS = { budgetMs: 8_000, marginMs: 300 };

describe('the budget of a review', () => {
  it.each([
    ['10s', 8_000],
    ['9.3s', 8_000],
    ['9s', 7_700],
    ['5s', 3_700],
    ['3s', 1_700],
    ['2s', 700],
    ['1.9s', 600],
    ['30s', 8_000],
    ['1m', 8_000],
    ['1m30s', 8_000],
    ['1h', 8_000],
    ['2000ms', 700],
    ['1s2000ms', 1_700],
  ])(
    'of timeout=%s is what is surely left of it, less the margin, at most what is configured: %d ms',
    (timeout, ms) => {
      expect(budgetOf(timeout, SETTINGS)).toBeCloseTo(ms, 6);
    },
  );

  it.each(['1s', '1.2s', '0.1s', '10ms', '1800ms'])('of timeout=%s is half a second, which is the least', (timeout) => {
    expect(budgetOf(timeout, SETTINGS)).toBe(500);
  });

  it.each([
    undefined,
    '',
    '0s',
    '0',
    '-5s',
    '-1',
    'soon',
    '10',
    's',
    '10 s',
    ' 10s',
    '10S',
    '1e3s',
    '+5s',
    '5s5',
    'NaN',
    '∞s',
  ])('of timeout=%j is the configured one', (timeout) => {
    expect(budgetOf(timeout, SETTINGS)).toBe(8_000);
  });

  it('is never longer than configured, whatever is asked for', () => {
    expect(budgetOf('1s', { budgetMs: 200, marginMs: 300 })).toBe(200);
    expect(budgetOf(`${'9'.repeat(400)}h`, SETTINGS)).toBe(8_000);
  });

  it('is read in time that grows with the length of the text only', () => {
    expect(budgetOf(`${'1'.repeat(16_000)}x`, SETTINGS)).toBe(8_000);
    expect(budgetOf(`${'1s'.repeat(8_000)}x`, SETTINGS)).toBe(8_000);
  });
});
