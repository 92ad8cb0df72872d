import { describe, expect, it } from '@jest/globals';
import type { CheckLane } from '../../src/check/checker.js';
import { Lanes, type Release } from '../../src/check/lanes.js';

const never = new AbortController().signal;

/** Enters and records the order in which places were given. */
class Visitors {
  readonly order: string[] = [];
  readonly releases = new Map<string, Release>();

  constructor(private readonly lanes: Lanes) {}

  enter(name: string, lane: CheckLane, signal: AbortSignal = never): Promise<void> {
    return this.lanes.enter(lane, signal).then((release) => {
      this.order.push(release === undefined ? `${name} gave up` : name);
      if (release !== undefined) this.releases.set(name, release);
    });
  }

  async leave(name: string): Promise<void> {
    this.releases.get(name)?.();
    await settled();
  }
}

async function settled(): Promise<void> {
  await new Promise((resolve) => setImmediate(resolve));
}

describe('lanes of the checker', () => {
  it('give at most one place less than there are to one lane, so that the other lane goes on', async () => {
    const visitors = new Visitors(new Lanes(3));
    for (const name of ['a1', 'a2', 'a3']) void visitors.enter(name, 'admission');
    await settled();
    expect(visitors.order).toEqual(['a1', 'a2']);
    await visitors.enter('r1', 'reconcile');
    expect(visitors.order).toEqual(['a1', 'a2', 'r1']);
  });

  it('never give more places than there are in all', async () => {
    const visitors = new Visitors(new Lanes(2));
    for (const name of ['a1', 'a2']) void visitors.enter(name, 'admission');
    for (const name of ['r1', 'r2']) void visitors.enter(name, 'reconcile');
    await settled();
    expect(visitors.order).toEqual(['a1', 'r1']);
  });

  it('serve a lane in the order of arrival', async () => {
    const visitors = new Visitors(new Lanes(2));
    for (const name of ['a1', 'a2', 'a3']) void visitors.enter(name, 'admission');
    await settled();
    await visitors.leave('a1');
    await visitors.leave('a2');
    expect(visitors.order).toEqual(['a1', 'a2', 'a3']);
  });

  it('take turns when there is only one place', async () => {
    const visitors = new Visitors(new Lanes(1));
    for (const name of ['a1', 'a2', 'a3']) void visitors.enter(name, 'admission');
    for (const name of ['r1', 'r2']) void visitors.enter(name, 'reconcile');
    await settled();
    for (const name of ['a1', 'r1', 'a2', 'r2']) await visitors.leave(name);
    expect(visitors.order).toEqual(['a1', 'r1', 'a2', 'r2', 'a3']);
  });

  it('forget one who gives up waiting', async () => {
    const visitors = new Visitors(new Lanes(1));
    const leaver = new AbortController();
    await visitors.enter('a1', 'admission');
    void visitors.enter('a2', 'admission', leaver.signal);
    void visitors.enter('a3', 'admission');
    leaver.abort();
    await settled();
    await visitors.leave('a1');
    expect(visitors.order).toEqual(['a1', 'a2 gave up', 'a3']);
  });

  it('turn away at once whoever has given up before, although a place is free', async () => {
    expect(await new Lanes(2).enter('admission', AbortSignal.abort())).toBeUndefined();
  });

  it('take a place back only once', async () => {
    const visitors = new Visitors(new Lanes(1));
    await visitors.enter('a1', 'admission');
    for (const name of ['a2', 'a3']) void visitors.enter(name, 'admission');
    await visitors.leave('a1');
    await visitors.leave('a1');
    expect(visitors.order).toEqual(['a1', 'a2']);
  });
});
