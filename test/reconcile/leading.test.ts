import { existsSync, readdirSync, readFileSync, realpathSync } from 'node:fs';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, it } from '@jest/globals';
import { component, renderConfig, site } from '../support/render-config.js';
import { openWorld, type World, type WorldOptions } from '../support/runtime-world.js';
import { makeScratch, type Scratch } from '../support/scratch.js';
import { Held, PASSED, ScriptedChecker, silently } from '../support/scripted-checker.js';

let scratch: Scratch;
let world: World | undefined;
let term: AbortController;

beforeEach(() => {
  scratch = makeScratch();
  term = new AbortController();
});
afterEach(async () => {
  await world?.close();
  world = undefined;
  scratch.remove();
});

/** A replica that takes part in an election; its first cycle has not begun. */
function replica(options: Partial<WorldOptions> = {}): World {
  const output = join(scratch.path, 'out');
  world = openWorld({
    config: renderConfig(),
    output,
    isElected: true,
    objects: [site('a', { line: 'one' })],
    ...options,
  });
  return world;
}

async function follower(options: Partial<WorldOptions> = {}): Promise<World> {
  const opened = replica(options);
  await opened.runtime.coordinator.cycle();
  return opened;
}

async function lead({ runtime }: World): Promise<void> {
  runtime.coordinator.lead(term.signal);
  await runtime.coordinator.settled();
}

async function until(condition: () => boolean): Promise<void> {
  while (!condition()) await new Promise((resolve) => setTimeout(resolve, 10));
}

const current = (): string => join(scratch.path, 'out/current');
function published(): string | undefined {
  return existsSync(current()) ? readFileSync(join(current(), 'out.txt'), 'utf8') : undefined;
}
const results = (of: World): string[] => of.reports.map(({ kind, result }) => `${kind} ${result}`);
const messages = (of: World): string[] => of.log.map(({ msg }) => msg);

describe('a follower', () => {
  it('renders, checks and accepts, so that it can judge, and publishes nothing', async () => {
    const shop = await follower();
    await shop.store(site('b', { line: 'two' }));
    expect(results(shop)).toEqual(['cold accepted', 'warm accepted']);
    expect([shop.runtime.host.rooted, shop.runtime.checker]).toEqual([true, expect.objectContaining({ runs: 2 })]);
    expect(await shop.runtime.host.request('acceptedFiles', null)).toEqual([
      expect.objectContaining({ text: 'one\ntwo\n' }),
    ]);
    expect(published()).toBeUndefined();
    expect(shop.log.at(-1)).toMatchObject({ msg: 'reconciled', role: 'follower', executed: 1 });
  });

  it('writes no Events and leaves the quarantine file to the leader, whose it becomes when it leads', async () => {
    const noisy = component('site', "<% event('Warning', 'Odd', 'odd line') %><%= item.spec.line %>\n");
    const shop = await follower({ config: renderConfig({ components: [noisy] }) });
    await shop.store(site('b', { line: 'refused' }));
    expect(messages(shop)).not.toContain('event');
    expect(shop.runtime.coordinator.quarantined).toHaveLength(1);
    expect(readdirSync(join(scratch.path, 'out'))).toEqual([]);

    await lead(shop);
    expect(published()).toBe('one\n');
    expect(readFileSync(join(scratch.path, 'out/quarantine.json'), 'utf8')).toContain('"name":"b"');
    await shop.store(site('c', { line: 'three' }));
    expect(shop.log.filter(({ msg }) => msg === 'event')).toEqual([
      expect.objectContaining({ object: 'sites shop/c' }),
    ]);
  });
});

describe('promotion', () => {
  it('publishes at once what is warm, and runs no instance for it', async () => {
    const shop = await follower();
    await lead(shop);
    expect(published()).toBe('one\n');
    expect(shop.log.at(-1)).toMatchObject({ msg: 'published', executed: 0, cold: false });
    expect(results(shop)).toEqual(['cold accepted', 'warm published']);
    expect(shop.runtime.checker).toMatchObject({ runs: 1 });
  });

  it('during a cold render lets it end, and publishes then without another', async () => {
    const running = new Held();
    const shop = replica({ checker: new ScriptedChecker(running.verdict) });
    shop.runtime.coordinator.start();
    await running.started;
    shop.runtime.coordinator.lead(term.signal);
    running.end();
    await shop.runtime.coordinator.settled();
    expect(results(shop)).toEqual(['cold accepted', 'warm published']);
    expect(published()).toBe('one\n');
  });

  it('for another term publishes again, since another has led meanwhile', async () => {
    const shop = await follower();
    await lead(shop);
    const first = realpathSync(current());
    term.abort();
    await shop.runtime.coordinator.settled();
    term = new AbortController();
    await lead(shop);
    expect(realpathSync(current())).not.toBe(first);
    expect(results(shop).at(-1)).toBe('warm published');
  });

  it('by a term that is over already changes nothing', async () => {
    const shop = await follower();
    term.abort();
    await lead(shop);
    expect(published()).toBeUndefined();
  });
});

describe("a term's end", () => {
  it('ends its check, publishes nothing of it, and goes on as a follower', async () => {
    const running = new Held();
    const shop = replica({ checker: new ScriptedChecker(running.verdict) });
    shop.runtime.coordinator.lead(term.signal);
    shop.runtime.coordinator.start();
    await running.started;
    term.abort();
    (shop.runtime.checker as ScriptedChecker).verdict = () => PASSED;
    await until(() => shop.reports.length === 2);
    expect(results(shop)).toEqual(['cold cancelled', 'warm accepted']);
    expect([published(), shop.runtime.host.rooted]).toEqual([undefined, true]);
    expect(shop.log.filter(({ level }) => level >= 40)).toEqual([]);
  });

  it('between check and switch keeps the release from taking effect', async () => {
    const shop = await follower();
    await lead(shop);
    const before = realpathSync(current());
    const releases = (): string[] => readdirSync(join(scratch.path, 'out/releases'));
    shop.runtime.coordinator.change([site('a', { line: 'changed' })]);
    (shop.runtime.checker as ScriptedChecker).verdict = () => {
      // The answer and the files still have to come: by then the term is over, or just about to be.
      setImmediate(() => term.abort());
      return PASSED;
    };
    await shop.runtime.coordinator.settled();
    expect([realpathSync(current()), published()]).toEqual([before, 'one\n']);
    expect(releases()).toHaveLength(1);
    expect(results(shop).slice(2)).toContain('warm cancelled');
    expect(shop.runtime.coordinator.problem).toBeUndefined();
  });

  it('in the midst of a publication withdraws it where it has not taken effect, and that is no failure', async () => {
    const published: string[] = [];
    const place = {
      publish: async (_: unknown, path: string, signal?: AbortSignal): Promise<{ readonly path: string }> => {
        term.abort();
        if (signal?.aborted === true) throw new Error('withdrawn');
        published.push(path);
        return { path };
      },
    };
    const shop = await follower({ publishTo: [place] });
    await lead(shop);
    expect([published, results(shop)]).toEqual([[], ['cold accepted', 'warm cancelled', 'warm unchanged']]);
    expect(shop.log.filter(({ level }) => level >= 40)).toEqual([]);
    expect(shop.runtime.coordinator.problem).toBeUndefined();
  });

  it('ends its cold render, which the follower begins anew', async () => {
    const busy = component(
      'site',
      '<% let n = 0; for (let i = 0; i < 3000000; i++) n += i % 7; %>\n<%= item.spec.line %>\n',
    );
    const objects = Array.from({ length: 400 }, (_, at) => site(`s${at}`, { line: `l${at}` }));
    const shop = replica({ config: renderConfig({ components: [busy] }), objects });
    const { coordinator, host } = shop.runtime;
    coordinator.lead(term.signal);
    coordinator.start();
    await until(() => host.progress.done > 3);
    term.abort();
    await until(() => shop.reports.length === 1);
    expect(results(shop)).toEqual(['cold cancelled']);
    expect([host.rooted, host.progress.done < 400]).toEqual([false, true]);
    await coordinator.settled();
    expect(shop.log.at(-1)).toMatchObject({ msg: 'reconciled', cold: true, executed: 400, role: 'follower' });
    expect(published()).toBeUndefined();
  });

  it('ends the thread of a cold render that reads no cancel word, without blame for any object', async () => {
    const stuck = component('site', '<% if (item.spec.loop) for (;;); %>\n<%= item.spec.line %>\n');
    const shop = replica({ config: renderConfig({ components: [stuck] }), objects: [site('a', { loop: true })] });
    const { coordinator, host } = shop.runtime;
    coordinator.lead(term.signal);
    coordinator.start();
    await until(() => host.progress.stage === 'instances');
    const { instance } = host.progress;
    term.abort();
    await until(() => shop.log.some(({ msg }) => msg === 'render thread lost'));
    expect(instance).toBe('site of sites shop/a');
    await until(() => host.progress.stage === 'instances');
    expect(host.progress.instance).toBe('site of sites shop/a');
    expect(published()).toBeUndefined();
  });

  it('in the midst of a search for the guilty puts nobody aside', async () => {
    const shop = await follower({ checker: new ScriptedChecker(silently) });
    await lead(shop);
    const names = Array.from({ length: 8 }, (_, at) => site(`n${at}`, { line: at === 3 ? 'refused' : `l${at}` }));
    const checker = shop.runtime.checker as ScriptedChecker;
    const until = checker.runs + 4;
    checker.verdict = async (request) => {
      if (checker.runs === until) term.abort();
      return silently(request);
    };
    await shop.store(...names);
    expect(results(shop)).toContain('warm cancelled');
    expect(shop.runtime.coordinator.quarantined.map(({ name }) => name)).toEqual(['n3']);
    expect(published()).toBe('one\n');
  });

  it('leaves reviews alone: a cancelled render is not theirs', async () => {
    const shop = await follower();
    await lead(shop);
    term.abort();
    const change = site('b', { line: 'two' });
    const body = { without: [], change, timeoutMs: 5_000, expiresAt: Date.now() + 5_000 };
    expect((await shop.runtime.host.request('review', body)).render).toMatchObject({ kind: 'rendered', executed: 1 });
  });
});
