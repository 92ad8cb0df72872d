import { afterEach, beforeEach, describe, expect, it, jest } from '@jest/globals';

import { ColdWatch } from '../../src/reconcile/cold-watch.js';
import type { RenderProgress } from '../../src/render/progress.js';

const PROGRESS: RenderProgress = {
  stage: 'instances',
  done: 40,
  known: 100,
  heapMiB: 90,
  instance: 'site of sites a/b',
};

beforeEach(() => void jest.useFakeTimers());
afterEach(() => void jest.useRealTimers());

function open(): { watch: ColdWatch; host: { rooted: boolean; progress: RenderProgress }; lines: object[] } {
  const host = { rooted: false, progress: PROGRESS };
  const lines: object[] = [];
  const warn = (fields: object, message: string): void => void lines.push({ ...fields, message });
  const watch = new ColdWatch(host, 30_000, { warn } as ConstructorParameters<typeof ColdWatch>[2]);
  return { watch, host, lines };
}

describe('the warning of a cold render', () => {
  it('comes once the render passes render.timeout, with its progress, the effect and the fix', () => {
    const { watch, lines } = open();
    watch.begin();
    jest.advanceTimersByTime(29_999);
    expect(lines).toEqual([]);
    jest.advanceTimersByTime(1);
    expect(lines).toEqual([
      expect.objectContaining({ done: 40, known: 100, heapMiB: 90, instance: 'site of sites a/b', stage: 'instances' }),
    ]);
    expect(lines[0]).toMatchObject({ effect: expect.any(String), fix: expect.any(String) });
  });

  it('comes once, however long it takes and however often it is tried', () => {
    const { watch, lines } = open();
    watch.begin();
    jest.advanceTimersByTime(90_000);
    watch.end();
    watch.begin();
    jest.advanceTimersByTime(90_000);
    expect(lines).toHaveLength(1);
  });

  it('does not come for a render that ends in time, nor for a warm one', () => {
    const { watch, host, lines } = open();
    watch.begin();
    jest.advanceTimersByTime(29_000);
    watch.end();
    host.rooted = true;
    watch.begin();
    jest.advanceTimersByTime(90_000);
    expect(lines).toEqual([]);
  });

  it('comes again for the cold render of a later thread', () => {
    const { watch, host, lines } = open();
    watch.begin();
    jest.advanceTimersByTime(30_000);
    watch.end();
    host.rooted = true;
    watch.begin();
    watch.end();
    host.rooted = false;
    watch.begin();
    jest.advanceTimersByTime(30_000);
    expect(lines).toHaveLength(2);
  });

  it('does not come after closing', () => {
    const { watch, lines } = open();
    watch.begin();
    watch.close();
    jest.advanceTimersByTime(90_000);
    expect(lines).toEqual([]);
  });
});
