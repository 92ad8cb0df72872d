import { describe, expect, it } from '@jest/globals';
import fc from 'fast-check';
import { Rotation, type RotationOptions, type RotationStep } from '../../src/cluster/certificate-rotation.js';
import { issueCertificate } from '../../src/cluster/issue-certificate.js';
import { anchorOf, contentOf, dataOf, goodUntil, type TlsContent } from '../../src/cluster/tls-secret.js';

const HOUR = 3_600_000;
const NOW = Date.parse('2030-01-01T00:00:00Z');
const OPTIONS: RotationOptions = {
  names: ['gate.infra.svc'],
  calledName: 'gate.infra.svc',
  lifetimeMs: 30 * HOUR,
  propagationMs: HOUR,
};

async function fresh(now = NOW, names = OPTIONS.names, { lifetimeMs } = OPTIONS): Promise<TlsContent> {
  const made = await issueCertificate({ names, authority: 'test', lifetimeMs, now });
  return { pair: { cert: made.cert, key: made.key }, bundle: [made.ca] };
}

interface Moment {
  readonly stored?: TlsContent;
  readonly held?: TlsContent;
  readonly trusted?: readonly string[];
  readonly at?: number;
}

function stepOf(rotation: Rotation, { stored, held, trusted, at = 0 }: Moment): Promise<RotationStep> {
  return rotation.step({ stored, held, trusted: () => Promise.resolve(trusted), now: NOW + at, elapsed: at });
}

async function written(moment: Moment, rotation = new Rotation(OPTIONS)): Promise<{ what: string } & TlsContent> {
  const step = await stepOf(rotation, moment);
  if (step.kind !== 'write') throw new Error(`it waits ${step.ms} ms`);
  return { what: step.what, ...step.content };
}

describe('Rotation', () => {
  it('makes a certificate where there is none, or one that nobody can use', async () => {
    const other = await fresh();
    const useless: readonly Moment[] = [
      {},
      { stored: { pair: { cert: '', key: '' }, bundle: [] } },
      { stored: { ...other, bundle: (await fresh()).bundle } },
      { stored: { ...other, pair: { ...other.pair, key: (await fresh()).pair.key } } },
      { stored: await fresh(NOW, ['other.infra.svc']) },
      { stored: await fresh(NOW - 31 * HOUR) },
    ];
    for (const moment of useless) {
      const made = await written(moment);
      expect(made).toMatchObject({ what: 'issued', bundle: [expect.any(String)] });
      expect(goodUntil(made.pair, made.bundle)).toBe(NOW + OPTIONS.lifetimeMs);
    }
  });

  it('leaves it alone until a third of its lifetime is left', async () => {
    const stored = await fresh();
    expect(await stepOf(new Rotation(OPTIONS), { stored })).toEqual({ kind: 'wait', ms: 20 * HOUR });
    expect(await stepOf(new Rotation(OPTIONS), { stored, at: 19.5 * HOUR })).toEqual({ kind: 'wait', ms: HOUR / 2 });
    const announced = await written({ stored, at: 20 * HOUR });
    expect(announced).toMatchObject({ what: 'announced', pair: stored.pair });
    expect(announced.bundle).toEqual([stored.bundle[0], anchorOf(announced.next?.cert ?? '', announced.bundle)]);
  });

  it('swaps only after the API server has trusted the new CA for the propagation time, without a gap', async () => {
    const stored = await written({ stored: await fresh(), at: 20 * HOUR });
    const rotation = new Rotation(OPTIONS);
    const [at, later] = [20 * HOUR, 21 * HOUR];
    const waits = { kind: 'wait', ms: HOUR / 10 };
    expect(await stepOf(rotation, { stored, trusted: stored.bundle, at })).toEqual(waits);
    expect(await stepOf(rotation, { stored, trusted: stored.bundle, at: later - 1 })).toEqual(waits);
    expect(await stepOf(rotation, { stored, trusted: stored.bundle.slice(0, 1), at: later })).toMatchObject({
      untrusted: true,
    });
    expect(await stepOf(rotation, { stored, trusted: stored.bundle, at: later })).toEqual(waits);
    const swapped = await written({ stored, trusted: stored.bundle, at: later + HOUR }, rotation);
    expect(swapped).toEqual({ what: 'swapped', pair: stored.next, bundle: stored.bundle });
  });

  it('retires the old CA when the propagation time has passed since', async () => {
    const { next, bundle } = await written({ stored: await fresh(), at: 20 * HOUR });
    if (next === undefined) throw new Error('nothing is announced');
    const stored = { pair: next, bundle };
    const rotation = new Rotation(OPTIONS);
    expect(await stepOf(rotation, { stored, at: 21 * HOUR })).toMatchObject({ kind: 'wait' });
    const retired = await written({ stored, at: 22 * HOUR }, rotation);
    expect(retired).toEqual({ what: 'old CA retired', pair: next, bundle: [bundle[1]] });
  });

  it('does not wait for trust when the pair in use has expired, and needs none when nothing is registered', async () => {
    const stored = await written({ stored: await fresh(), at: 20 * HOUR });
    const late = await written({ stored, trusted: [], at: 31 * HOUR });
    expect(late).toEqual({ what: 'replaced by the next one', pair: stored.next, bundle: stored.bundle });
    const rotation = new Rotation(OPTIONS);
    await stepOf(rotation, { stored, at: 20 * HOUR });
    expect(await written({ stored, at: 21 * HOUR }, rotation)).toMatchObject({ what: 'swapped' });
  });

  it('announces anew what was announced too long ago, and takes the unused CA away', async () => {
    const stored = await written({ stored: await fresh(10 * HOUR + NOW), at: 30 * HOUR });
    const stale = { ...stored, next: (await fresh(NOW - 10 * HOUR)).pair };
    const again = await written({ stored: stale, at: 30 * HOUR });
    expect(again).toMatchObject({ what: 'announced', pair: stored.pair });
    const tooOld = await written({ stored: await fresh(), at: 20 * HOUR });
    const base = await fresh(NOW + 40 * HOUR);
    const mixed = { pair: base.pair, bundle: [...base.bundle, ...tooOld.bundle], next: tooOld.next ?? base.pair };
    const renewed = await written({ stored: mixed, at: 61 * HOUR });
    expect(renewed.bundle).toEqual([base.bundle[0], anchorOf(renewed.next?.cert ?? '', renewed.bundle)]);
  });

  it('puts back what is served when the Secret was deleted or damaged, and renews it at once', async () => {
    const held = await fresh();
    for (const stored of [undefined, { ...held, bundle: [] }]) {
      const restored = await written({ held, ...(stored === undefined ? {} : { stored }) });
      expect(restored).toMatchObject({ what: 'announced', pair: held.pair });
      expect(restored.bundle).toEqual([held.bundle[0], expect.any(String)]);
    }
  });

  it('survives the way through the Secret', async () => {
    const content = await written({ stored: await fresh(), at: 20 * HOUR });
    const { pair, bundle, next } = content;
    const metadata = { name: 'tls', resourceVersion: '1' };
    expect(contentOf({ metadata, data: dataOf(content) as Record<string, string> })).toEqual({ pair, bundle, next });
    expect(dataOf({ pair, bundle })).toMatchObject({ 'next.crt': null, 'next.key': null });
    expect(contentOf({ metadata })).toEqual({ pair: { cert: '', key: '' }, bundle: [] });
  });
});

const TICK = HOUR / 4;
/** So long that a rotation ends in time, however often the leader, which then waits anew, is killed. */
const LONG: RotationOptions = { ...OPTIONS, lifetimeMs: 300 * HOUR };

/** Everybody sees a written value late, but never later than the propagation time, and never goes back. */
class Spread<T> {
  readonly #history: { readonly value: T; readonly at: number }[];
  readonly #seen: number[];

  constructor(first: T, readers: number) {
    this.#history = [{ value: first, at: 0 }];
    this.#seen = Array.from({ length: readers }, () => 0);
  }

  get newest(): T {
    return this.#history.at(-1)?.value as T;
  }

  isCurrent(reader: number): boolean {
    return this.#seen[reader] === this.#history.length - 1;
  }

  write(value: T, at: number): void {
    this.#history.push({ value, at });
  }

  /** Reader sees the newest now, or only what is older than it may be late. */
  look(reader: number, now: number, isPrompt: boolean): void {
    const limit = isPrompt ? now : now - LONG.propagationMs + TICK;
    const index = this.#history.findLastIndex(({ at }) => at <= limit);
    this.#seen[reader] = Math.max(this.#seen[reader] ?? 0, index);
  }

  of(reader: number): T {
    return this.#history[this.#seen[reader] ?? 0]?.value as T;
  }
}

interface Tick {
  /** Who leads from now on; others: the leader stays. */
  readonly newLeader: number;
  readonly registers: boolean;
  readonly deletes: boolean;
  readonly prompt: readonly boolean[];
}

const REPLICAS = 3;
const API_SERVERS = 2;

class World {
  now = 0;
  readonly secret: Spread<TlsContent | undefined>;
  readonly registered: Spread<readonly string[]>;
  readonly served: TlsContent[];
  readonly steps: string[] = [];
  #leader = 0;
  #rotation = new Rotation(LONG);

  constructor(first: TlsContent) {
    this.secret = new Spread<TlsContent | undefined>(first, REPLICAS);
    this.registered = new Spread(first.bundle, API_SERVERS);
    this.served = Array.from({ length: REPLICAS }, () => first);
  }

  async tick({ newLeader, registers, deletes, prompt }: Tick): Promise<void> {
    this.now += TICK;
    if (deletes) this.secret.write(undefined, this.now);
    if (newLeader < REPLICAS) {
      this.#leader = newLeader;
      this.#rotation = new Rotation(LONG);
    }
    for (let replica = 0; replica < REPLICAS; replica++) {
      this.secret.look(replica, this.now, prompt[replica] ?? true);
      this.served[replica] = this.secret.of(replica) ?? (this.served[replica] as TlsContent);
    }
    const held = this.served[this.#leader] as TlsContent;
    if (registers && held.bundle.join() !== this.registered.newest.join()) this.registered.write(held.bundle, this.now);
    for (let server = 0; server < API_SERVERS; server++)
      this.registered.look(server, this.now, prompt[REPLICAS + server] ?? true);
    this.#expectTrust();
    await this.#lead(held);
  }

  async #lead(held: TlsContent): Promise<void> {
    const step = await this.#rotation.step({
      stored: this.secret.of(this.#leader),
      held,
      trusted: () => Promise.resolve(this.registered.newest),
      now: NOW + this.now,
      elapsed: this.now,
    });
    // The revision in the write lets it fail where somebody else has written meanwhile.
    if (!this.secret.isCurrent(this.#leader)) return;
    // Nothing happens for long: the time goes by in one.
    if (step.kind === 'wait') return void (this.now += step.ms > HOUR ? step.ms - TICK : 0);
    this.steps.push(step.what);
    this.secret.write(step.content, this.now);
  }

  #expectTrust(): void {
    for (const { pair } of this.served) {
      for (let server = 0; server < API_SERVERS; server++) {
        const until = memoized(pair, this.registered.of(server));
        if (until === undefined || until <= NOW + this.now) {
          throw new Error(`a handshake fails at hour ${this.now / HOUR}, after ${this.steps.join(', ')}`);
        }
      }
    }
  }
}

const known = new Map<string, number | undefined>();

function memoized(pair: TlsContent['pair'], bundle: readonly string[]): number | undefined {
  const key = pair.cert + bundle.join();
  if (!known.has(key)) known.set(key, goodUntil(pair, bundle));
  return known.get(key);
}

describe('Rotation, with leaders that are killed at any time, late replicas and late API servers', () => {
  const tick = fc.record({
    newLeader: fc.nat(REPLICAS + 12),
    registers: fc.boolean(),
    deletes: fc.nat(150).map((n) => n === 150),
    prompt: fc.array(fc.boolean(), { minLength: REPLICAS + API_SERVERS, maxLength: REPLICAS + API_SERVERS }),
  });
  const calm: Tick = { newLeader: REPLICAS, registers: true, deletes: false, prompt: [] };

  it('never lets a handshake fail, and comes to rest with one CA', async () => {
    await fc.assert(
      fc.asyncProperty(fc.array(tick, { minLength: 100, maxLength: 120 }), async (ticks) => {
        const world = new World(await fresh(NOW, LONG.names, LONG));
        for (const each of ticks) await world.tick(each);
        expect(world.steps.filter((what) => what === 'swapped').length).toBeGreaterThan(0);
        for (let n = 0; n < 40; n++) await world.tick(calm);
        const last = world.secret.newest;
        expect(last?.bundle.length === 1 || last?.next !== undefined || world.steps.at(-1) === 'swapped').toBe(true);
      }),
      { numRuns: 6, endOnFailure: true },
    );
  });
});
