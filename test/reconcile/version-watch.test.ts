import { describe, expect, it } from '@jest/globals';

import { VersionWatch } from '../../src/reconcile/version-watch.js';

function watch(probe: () => Promise<string | undefined>): { readonly watch: VersionWatch; readonly warned: object[] } {
  const warned: object[] = [];
  return { watch: new VersionWatch(probe, { warn: (fields: object) => void warned.push(fields) }), warned };
}

const CHECKER = 'HAProxy version 2.6.12-1+deb12u4 2026/10/17 - https://haproxy.org/';

describe('the version of the checker', () => {
  it('may differ from the running one in the last number only', async () => {
    const { watch: versions, warned } = watch(() => Promise.resolve(CHECKER));
    await versions.compare('2.6.12-1+deb12u4');
    await versions.compare('2.6.9');
    expect(warned).toEqual([]);
  });

  it('of another release is told once for each', async () => {
    const { watch: versions, warned } = watch(() => Promise.resolve(CHECKER));
    for (const running of ['2.8.3-a', '2.8.4', '2.60.1', '2.8.3-a']) await versions.compare(running);
    expect(warned).toEqual([
      expect.objectContaining({ checker: '2.6', running: '2.8', fix: expect.stringContaining('check.command') }),
      expect.objectContaining({ checker: '2.6', running: '2.60' }),
    ]);
  });

  it('that nobody knows is no reason to warn', async () => {
    const { watch: versions, warned } = watch(() => Promise.resolve(undefined));
    await versions.compare('2.8.3');
    const failing = watch(() => Promise.reject(new Error('no')));
    await failing.watch.compare('2.8.3');
    expect([...warned, ...failing.warned]).toEqual([]);
  });
});
