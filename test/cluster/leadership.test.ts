import { afterEach, beforeEach, describe, expect, it, jest } from '@jest/globals';
import pino from 'pino';
import type { ApiCall } from '../../src/cluster/api-client.js';
import { ApiError } from '../../src/cluster/api-error.js';
import { LEASE_TIMING, Leadership } from '../../src/cluster/leadership.js';
import { Random } from '../fuzz/random.js';
import { type Faults, LeaseApi, NO_FAULTS } from './lease-api.js';

const SECOND = 1_000;
const { leaseMs, renewMs, retryMs } = LEASE_TIMING;
/** A lease that nobody renews is another's after this: it runs out, and everybody has tried once more. */
const TAKE_OVER_MS = leaseMs + 2 * retryMs;

let log: Record<string, unknown>[];
beforeEach(() => {
  log = [];
  jest.useFakeTimers();
});
afterEach(() => {
  jest.restoreAllMocks();
  jest.useRealTimers();
});

const WHERE = { namespace: 'edge', name: 'rendergate' };
const logger = (): pino.Logger =>
  pino({ base: null }, { write: (line: string) => void log.push(JSON.parse(line) as Record<string, unknown>) });
const messages = (): unknown[] => log.map(({ msg }) => msg);
const pass = (ms: number): Promise<void> => jest.advanceTimersByTimeAsync(ms);

interface Replica {
  readonly identity: string;
  readonly leadership: Leadership;
  /** Every term so far. */
  readonly terms: AbortSignal[];
}

/** Replicas around one Lease; a second term beside one that is not over is noted in `violations`. */
class Election {
  readonly replicas: Replica[] = [];
  readonly violations: string[] = [];
  readonly random: Random;
  readonly api: LeaseApi;

  constructor(seed: number) {
    this.random = new Random(seed);
    jest.spyOn(Math, 'random').mockImplementation(() => this.random.int(1_000) / 1_000);
    this.api = new LeaseApi(this.random, (holder) => this.#held(holder));
  }

  add(): Replica {
    const identity = `replica-${this.replicas.length}`;
    const leadership = new Leadership({
      client: this.api.clientOf(identity),
      ...WHERE,
      identity,
      log: logger(),
    });
    const replica = { identity, leadership, terms: [] as AbortSignal[] };
    this.replicas.push(replica);
    leadership.start((term) => {
      for (const { identity: other } of this.leaders) this.violations.push(`${identity} leads beside ${other}`);
      replica.terms.push(term);
    });
    return replica;
  }

  get leaders(): readonly Replica[] {
    return this.replicas.filter(({ terms }) => terms.some((term) => !term.aborted));
  }

  get termCount(): number {
    return this.replicas.reduce((sum, { terms }) => sum + terms.length, 0);
  }

  /** At the moment at which the server gives the lease to somebody, nobody else may lead any more. */
  #held(holder: string): void {
    for (const { identity } of this.leaders)
      if (identity !== holder) this.violations.push(`${holder || 'nobody'} has the lease while ${identity} leads`);
  }

  async close(): Promise<void> {
    const closed = Promise.all(this.replicas.map(({ leadership }) => leadership.close()));
    await pass(60 * SECOND);
    await closed;
  }
}

describe('an election without faults', () => {
  it('has one leader, who keeps the lease with one call for each renewal', async () => {
    const election = new Election(1);
    for (let count = 0; count < 3; count++) election.add();
    await pass(120 * SECOND);
    expect([election.leaders.length, election.termCount, election.violations]).toEqual([1, 1, []]);
    const [leader] = election.leaders;
    expect(election.replicas.map(({ leadership }) => leadership.holder)).toEqual(Array(3).fill(leader?.identity));
    expect(election.replicas.filter(({ leadership }) => leadership.isLeader)).toEqual([leader]);

    const before = election.api.calls.length;
    await pass(60 * SECOND);
    const writes = election.api.calls.slice(before).filter(({ method }) => method === 'PUT').length;
    const reads = election.api.calls.slice(before).length - writes;
    expect([writes, reads].map((calls) => calls > 20 && calls < 60)).toEqual([true, true]);
    await election.close();
  });

  it('gives the lease back at once, and counts who had it', async () => {
    const election = new Election(2);
    const first = election.add();
    await pass(5 * SECOND);
    const second = election.add();
    await pass(5 * SECOND);
    const closed = first.leadership.close();
    expect(first.terms[0]?.aborted).toBe(true);
    await pass(2 * retryMs);
    await closed;
    expect([second.leadership.isLeader, second.leadership.holder]).toEqual([true, second.identity]);
    expect(election.api.lease?.spec).toMatchObject({
      holderIdentity: second.identity,
      leaseDurationSeconds: 15,
      leaseTransitions: 1,
    });
    await election.close();
    expect(election.api.lease?.spec).toMatchObject({ holderIdentity: '', leaseDurationSeconds: 1 });
    expect(election.violations).toEqual([]);
  });

  it('lets another lead only when the lease of one who has vanished has run out', async () => {
    const election = new Election(3);
    const first = election.add();
    await pass(5 * SECOND);
    const second = election.add();
    await pass(5 * SECOND);
    election.api.cutOff.add(first.identity);
    await pass(renewMs + SECOND);
    expect([first.terms[0]?.aborted, second.terms.length]).toEqual([true, 0]);
    await pass(TAKE_OVER_MS + 30 * SECOND);
    expect([second.leadership.isLeader, election.violations]).toEqual([true, []]);
    expect(log.find(({ msg }) => msg === 'not leading any more')).toMatchObject({ reason: 'not renewed for 10000 ms' });
    await election.close();
  });

  it('waits for the lease of a leader that somebody has deleted', async () => {
    const election = new Election(4);
    const first = election.add();
    await pass(5 * SECOND);
    const second = election.add();
    await pass(5 * SECOND);
    election.api.lease = undefined;
    await pass(30 * SECOND);
    expect([first.leadership.isLeader, first.terms.length, second.terms.length]).toEqual([true, 1, 0]);
    expect(election.api.lease).toMatchObject({ spec: { holderIdentity: first.identity } });
    await election.close();
  });

  it('keeps what others have written into the Lease', async () => {
    const election = new Election(5);
    election.add();
    await pass(5 * SECOND);
    const { lease } = election.api;
    if (lease === undefined) throw new Error('no lease');
    election.api.lease = {
      ...lease,
      metadata: { ...lease.metadata, resourceVersion: '999', labels: { team: 'edge' } } as never,
    };
    await pass(10 * SECOND);
    expect(election.api.lease.metadata).toMatchObject({ labels: { team: 'edge' } });
    expect(election.api.lease.metadata.resourceVersion).not.toBe('999');
    expect(election.termCount).toBe(1);
    await election.close();
  });
});

describe("a term's end", () => {
  const lease = { metadata: { resourceVersion: '1' }, spec: { holderIdentity: 'a', leaseTransitions: 0 } };

  /** A replica whose calls end as told, or with their signal. */
  function alone(answer: () => Promise<unknown>): { readonly leadership: Leadership; readonly terms: AbortSignal[] } {
    const terms: AbortSignal[] = [];
    const json = ({ signal }: ApiCall): Promise<never> =>
      new Promise((resolve, reject) => {
        signal?.addEventListener('abort', () => reject(new Error('aborted')));
        void answer().then((value) => resolve(value as never));
      });
    const leadership = new Leadership({ ...WHERE, client: { json }, identity: 'a', log: logger() });
    leadership.start((term) => terms.push(term));
    return { leadership, terms };
  }

  it('is counted from when the last renewal began, not from when its answer came', async () => {
    const began: number[] = [];
    const { leadership, terms } = alone(() => {
      began.push(performance.now());
      const isRenewal = began.length === 3;
      return new Promise((resolve) => {
        if (began.length <= 3) setTimeout(() => resolve(lease), isRenewal ? 4 * SECOND : 100);
      });
    });
    await pass(9 * SECOND);
    expect([began.length, terms.length]).toEqual([4, 1]);
    const leftMs = (began[2] ?? 0) + renewMs - performance.now();
    await pass(leftMs - 1);
    expect([terms[0]?.aborted, leadership.isLeader]).toEqual([false, true]);
    await pass(1);
    expect([terms[0]?.aborted, leadership.isLeader]).toEqual([true, false]);
    const closed = leadership.close();
    await pass(renewMs);
    await closed;
  });

  it('comes before a term begins that was won as the process ended', async () => {
    let answer: (lease: unknown) => void = () => undefined;
    const { leadership, terms } = alone(() => new Promise((resolve) => (answer = resolve)));
    await pass(0);
    answer({ ...lease, spec: { ...lease.spec, holderIdentity: '' } });
    await pass(0);
    answer(lease);
    // The answer has come, and who waits for it has not gone on yet.
    await Promise.resolve();
    const closed = leadership.close();
    await pass(renewMs);
    await closed;
    expect(terms).toEqual([]);
  });

  it('comes when somebody has given the lease to another by hand', async () => {
    const election = new Election(8);
    const only = election.add();
    await pass(5 * SECOND);
    election.api.lease = { metadata: { resourceVersion: '999' }, spec: { holderIdentity: 'x', leaseTransitions: 7 } };
    await pass(2 * retryMs);
    expect(only.terms.map(({ aborted }) => aborted)).toEqual([true]);
    expect(log.at(-1)).toMatchObject({ msg: 'not leading any more', reason: 'x holds the lease' });
    await pass(TAKE_OVER_MS + 5 * SECOND);
    expect(election.api.lease).toMatchObject({ spec: { holderIdentity: only.identity, leaseTransitions: 8 } });
    await election.close();
  });
});

describe('a lease out of reach', () => {
  const refusing = (status: number): Pick<LeaseApi, 'clientOf'> => ({
    clientOf: () => ({ json: () => Promise.reject(new ApiError(status, `refused with ${status}`)) }),
  });

  it.each([
    [403, /grant get, create and update on leases .* in namespace edge/],
    [404, /create the namespace edge/],
  ])('is told once, with what to do: %i', async (status, fix) => {
    const leadership = new Leadership({
      client: refusing(status).clientOf('a'),
      ...WHERE,
      identity: 'a',
      log: logger(),
    });
    leadership.start(() => undefined);
    await pass(60 * SECOND);
    expect(log).toEqual([
      expect.objectContaining({
        msg: 'lease is out of reach',
        fix: expect.stringMatching(fix),
        effect: expect.anything(),
      }),
    ]);
    expect([leadership.isLeader, leadership.problem]).toEqual([false, `refused with ${status}`]);
    const closed = leadership.close();
    await pass(20 * SECOND);
    await closed;
  });

  it('for a while costs nothing, and is told when it is over', async () => {
    const election = new Election(6);
    const only = election.add();
    await pass(5 * SECOND);
    election.api.faults = { ...NO_FAULTS, failed: 100 };
    await pass(renewMs / 2);
    expect(only.leadership.problem).toBe('the server has failed');
    election.api.faults = NO_FAULTS;
    await pass(5 * SECOND);
    expect([only.leadership.isLeader, only.terms.length, only.leadership.problem]).toEqual([true, 1, undefined]);
    expect(messages()).toEqual(['leading', 'lease is out of reach', 'lease is reachable again']);
    await election.close();
  });

  it('at the end is said, and does not keep the process', async () => {
    const election = new Election(7);
    const only = election.add();
    await pass(5 * SECOND);
    election.api.faults = { ...NO_FAULTS, lost: 100 };
    const closed = only.leadership.close();
    expect(only.terms[0]?.aborted).toBe(true);
    await pass(renewMs);
    await closed;
    expect(log.at(-1)).toMatchObject({ msg: 'lease not released', problem: 'no answer within 5000 ms' });
  });
});

describe('under faults', () => {
  const FAULTY: Faults = { lost: 8, unanswered: 8, failed: 10, failedLate: 10, slow: 14 };
  const SEEDS = Array.from({ length: 24 }, (_, at) => at + 100);

  /** Ten minutes of it: replicas are cut off and come back, end and are followed by new ones. */
  async function disturb(election: Election): Promise<void> {
    const { api, random } = election;
    for (let minute = 0; minute < 40; minute++) {
      api.faults = random.chance(20) ? NO_FAULTS : FAULTY;
      const victim = random.pick(
        random.chance(50) && election.leaders.length > 0 ? election.leaders : election.replicas,
      );
      if (random.chance(40)) api.cutOff.add(victim.identity);
      else api.cutOff.clear();
      if (random.chance(15)) void victim.leadership.close();
      if (random.chance(15)) election.add();
      await pass(random.int(30 * SECOND));
    }
  }

  it.each(SEEDS)('there are never two leaders, and always one soon after they have ended (seed %i)', async (seed) => {
    const election = new Election(seed);
    for (let count = 0; count < 4; count++) election.add();
    await disturb(election);
    election.api.faults = NO_FAULTS;
    election.api.cutOff.clear();
    election.add();
    await pass(2 * TAKE_OVER_MS + 30 * SECOND);
    expect(election.violations).toEqual([]);
    expect(election.leaders).toHaveLength(1);
    expect(election.termCount).toBeGreaterThan(3);
    await election.close();
    expect(election.leaders).toEqual([]);
  });
});
