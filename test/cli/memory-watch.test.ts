import { afterEach, describe, expect, it, jest } from '@jest/globals';

import { watchMemory } from '../../src/cli/memory-watch.js';

afterEach(() => {
  jest.useRealTimers();
});

function watched(): { at(used: number): void; readonly warnings: readonly Record<string, unknown>[] } {
  jest.useFakeTimers();
  let now = 0;
  const warnings: Record<string, unknown>[] = [];
  const log = { warn: (fields: Record<string, unknown>) => void warnings.push(fields) };
  watchMemory({ log: log as never, limit: 1000 * 1024 * 1024, used: () => now, everyMs: 10 });
  return {
    warnings,
    at: (mebibytes) => {
      now = mebibytes * 1024 * 1024;
      jest.advanceTimersByTime(10);
    },
  };
}

describe('the memory watch', () => {
  it('says nothing while there is room', () => {
    const { at, warnings } = watched();
    for (const used of [100, 500, 899]) at(used);
    expect(warnings).toEqual([]);
  });

  it('warns once when the limit is near, and again only after there was room', () => {
    const { at, warnings } = watched();
    for (const used of [910, 950, 850, 920]) at(used);
    expect(warnings).toHaveLength(1);
    expect(warnings[0]).toMatchObject({ usedMiB: 910, limitMiB: 1000 });
    for (const used of [700, 910]) at(used);
    expect(warnings).toHaveLength(2);
  });
});
