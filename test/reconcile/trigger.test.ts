import { describe, expect, it, jest } from '@jest/globals';

import { Trigger } from '../../src/reconcile/trigger.js';

/** Cycles that end when told. */
class Cycles {
  started = 0;
  #ends: (() => void)[] = [];

  readonly run = (): Promise<void> => {
    this.started++;
    return new Promise((resolve) => this.#ends.push(resolve));
  };

  async end(): Promise<void> {
    this.#ends.shift()?.();
    await jest.advanceTimersByTimeAsync(0);
  }
}

async function withTimers(run: (cycles: Cycles, trigger: Trigger) => Promise<void>): Promise<void> {
  jest.useFakeTimers();
  try {
    const cycles = new Cycles();
    await run(cycles, new Trigger(cycles.run, 50));
  } finally {
    jest.useRealTimers();
  }
}

describe('triggers', () => {
  it('that come within the debounce make one cycle', () =>
    withTimers(async (cycles, trigger) => {
      trigger.fire();
      await jest.advanceTimersByTimeAsync(49);
      trigger.fire();
      expect(cycles.started).toBe(0);
      await jest.advanceTimersByTimeAsync(1);
      expect(cycles.started).toBe(1);
      await cycles.end();
      await jest.advanceTimersByTimeAsync(1_000);
      expect(cycles.started).toBe(1);
    }));

  it('start a cycle at once when they say so, though one is waiting', () =>
    withTimers(async (cycles, trigger) => {
      trigger.fire();
      trigger.fire(true);
      await jest.advanceTimersByTimeAsync(0);
      expect(cycles.started).toBe(1);
    }));

  it('that come while a cycle runs make one more after it, however many they are', () =>
    withTimers(async (cycles, trigger) => {
      trigger.fire(true);
      await jest.advanceTimersByTimeAsync(0);
      for (let at = 0; at < 5; at++) trigger.fire();
      trigger.fire(true);
      await jest.advanceTimersByTimeAsync(1_000);
      expect(cycles.started).toBe(1);
      await cycles.end();
      await jest.advanceTimersByTimeAsync(50);
      expect(cycles.started).toBe(2);
      await cycles.end();
      await jest.advanceTimersByTimeAsync(1_000);
      expect(cycles.started).toBe(2);
    }));

  it('settle when nothing is wanted or running, and what waits starts at once for that', () =>
    withTimers(async (cycles, trigger) => {
      trigger.fire();
      let settled = false;
      const done = trigger.settled().then(() => (settled = true));
      expect(cycles.started).toBe(1);
      trigger.fire();
      await cycles.end();
      expect([settled, cycles.started]).toEqual([false, 2]);
      await cycles.end();
      await done;
      expect(settled).toBe(true);
    }));

  it('start nothing any more once closed, and closing waits for the cycle that runs', () =>
    withTimers(async (cycles, trigger) => {
      trigger.fire(true);
      await jest.advanceTimersByTimeAsync(0);
      trigger.fire();
      let closed = false;
      const closing = trigger.close().then(() => (closed = true));
      await jest.advanceTimersByTimeAsync(0);
      expect(closed).toBe(false);
      await cycles.end();
      await closing;
      trigger.fire(true);
      await trigger.settled();
      await jest.advanceTimersByTimeAsync(1_000);
      expect(cycles.started).toBe(1);
    }));
});
