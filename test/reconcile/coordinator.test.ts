import { existsSync, readFileSync, readdirSync, realpathSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';

import { afterEach, beforeEach, describe, expect, it } from '@jest/globals';

import { createHaproxyChecker } from '../../src/check/haproxy-checker.js';
import type { ObjectChange } from '../../src/render/protocol.js';
import { findHaproxy } from '../cases/checker-shim.js';
import { component, gone, output, renderConfig, site, type ConfigParts } from '../support/render-config.js';
import { openWorld, type World, type WorldOptions } from '../support/runtime-world.js';
import { makeScratch, type Scratch } from '../support/scratch.js';
import { byLine, Held, ScriptedChecker, silently, unavailable } from '../support/scripted-checker.js';

const BACKEND = `backend <%= item.metadata.name %>
  timeout server <%= item.spec.timeout %>
`;
const FRONT = 'defaults\n  mode http\n  timeout client 5s\n  timeout connect 5s\nfrontend f\n  bind *:8080\n';

/** A configuration that real HAProxy takes, with a backend for each Site. */
const HAPROXY: ConfigParts = {
  components: [component('backends', BACKEND, { kind: 'haproxy' })],
  outputs: [output('haproxy.cfg', `${FRONT}<%~ group('lines') %>\n`, 'haproxy')],
};

let scratch: Scratch;
let world: World | undefined;

beforeEach(() => void (scratch = makeScratch()));
afterEach(async () => {
  await world?.close();
  world = undefined;
  scratch.remove();
});

async function open(options: Partial<WorldOptions> = {}): Promise<World> {
  world = openWorld({ config: renderConfig(), output: join(scratch.path, 'out'), ...options });
  await world.runtime.coordinator.cycle();
  return world;
}

function openHaproxy(objects: readonly ObjectChange[]): Promise<World> {
  const command = [findHaproxy() ?? 'haproxy', '-c', '-C', '{dir}', '-f', 'haproxy.cfg'];
  const config = renderConfig(HAPROXY);
  return open({ config, objects, checker: createHaproxyChecker({ settings: { ...config.check, command } }) });
}

/** The published text of the first output; undefined when nothing is published. */
function published(): string | undefined {
  const current = join(scratch.path, 'out/current');
  if (!existsSync(current)) return undefined;
  return readFileSync(join(current, readdirSync(current)[0] ?? ''), 'utf8');
}

const results = (of: World): string[] => of.reports.map(({ kind, result }) => `${kind} ${result}`);
const held = (of: World): string[] => of.runtime.coordinator.quarantined.map(({ name }) => name).sort();
const scripted = (of: World): ScriptedChecker => of.runtime.checker as ScriptedChecker;

describe('the reconcile loop', () => {
  it('renders, checks and publishes, and runs only what a change concerns', async () => {
    const shop = await openHaproxy([site('a', { timeout: '5s' }), site('b', { timeout: '6s' })]);
    expect(published()).toBe(`${FRONT}backend a\n  timeout server 5s\nbackend b\n  timeout server 6s\n`);
    await shop.store(site('b', { timeout: '7s' }));
    expect(published()).toContain('backend b\n  timeout server 7s\n');
    expect(results(shop)).toEqual(['cold published', 'warm published']);
    expect(shop.log.at(-1)).toMatchObject({ msg: 'published', executed: 1, instances: 2, cold: false });
  });

  it('publishes nothing, and asks no checker, when no output changes', async () => {
    const shop = await open({ objects: [site('a', { line: 'one' })] });
    const before = realpathSync(join(scratch.path, 'out/current'));
    await shop.store(site('a', { line: 'one' }, { labels: { a: 'b' } }));
    expect(realpathSync(join(scratch.path, 'out/current'))).toBe(before);
    expect([results(shop).at(-1), scripted(shop).runs]).toEqual(['warm unchanged', 1]);
  });

  it('makes one cycle of many changes', async () => {
    const shop = await open();
    const many = Array.from({ length: 50 }, (_, at) => site(`n${at}`, { line: `line ${at}` }));
    for (const change of many.slice(1)) shop.runtime.coordinator.change([change]);
    await shop.store(many[0] ?? gone('sites', 'shop', 'x'));
    expect(published()?.split('\n')).toHaveLength(51);
    expect(results(shop)).toEqual(['cold published', 'warm published']);
  });

  it('leaves out an object that cannot be taken in, and says so', async () => {
    const shop = await open({ objects: [site('a', { line: 'one' })] });
    await shop.store({ ...site('b', {}), text: 'no JSON' }, { ...site('c', {}), alias: 'pods' });
    expect(shop.log.filter(({ msg }) => msg === 'object left out').map((line) => line['reason'])).toEqual([
      expect.stringContaining('sites shop/b is not JSON'),
      expect.stringContaining('pods shop/c belongs to no watched resource'),
    ]);
    expect(published()).toBe('one\n');
  });
});

describe('what the checker refuses', () => {
  it('is never published: the bad object is held back, the others go on, and it is served once it is repaired', async () => {
    const shop = await openHaproxy([site('a', { timeout: '5s' }), site('bad', { timeout: '5 parsecs' })]);
    expect(published()).toBe(`${FRONT}backend a\n  timeout server 5s\n`);
    expect(held(shop)).toEqual(['bad']);
    expect(shop.log.find(({ msg }) => msg === 'object quarantined')).toMatchObject({
      object: 'sites shop/bad',
      reason: expect.stringMatching(/^spec\.timeout: the checker refuses it: .*timeout server/),
      effect: 'it is not served',
    });
    await shop.store(site('c', { timeout: '9s' }));
    expect(published()).toContain('backend c');
    expect(held(shop)).toEqual(['bad']);

    await shop.store(site('bad', { timeout: '6s' }));
    expect(published()).toContain('backend bad\n  timeout server 6s');
    expect(held(shop)).toEqual([]);
    expect(shop.log.some(({ msg }) => msg === 'object left quarantine')).toBe(true);
    expect(shop.log.filter(({ msg }) => msg === 'object quarantined')).toHaveLength(1);
  });

  it('leaves the last accepted revision of an object in service', async () => {
    const shop = await openHaproxy([site('a', { timeout: '5s' })]);
    await shop.store(site('a', { timeout: 'soon' }), site('b', { timeout: '6s' }));
    expect(published()).toBe(`${FRONT}backend a\n  timeout server 5s\nbackend b\n  timeout server 6s\n`);
    expect(shop.runtime.coordinator.quarantined).toEqual([expect.objectContaining({ name: 'a', servedOld: true })]);
    await shop.store(gone('sites', 'shop', 'a'));
    expect(published()).toBe(`${FRONT}backend b\n  timeout server 6s\n`);
    expect(held(shop)).toEqual([]);
  });

  it('is the same after a restart: old revisions are kept beside the output', async () => {
    const first = await openHaproxy([site('a', { timeout: '5s' })]);
    await first.store(site('a', { timeout: 'soon' }));
    await first.close();
    const second = await openHaproxy([site('a', { timeout: 'soon' })]);
    expect(published()).toBe(`${FRONT}backend a\n  timeout server 5s\n`);
    expect(held(second)).toEqual(['a']);
  });

  it('is found by halving where the checker names no line', async () => {
    const names = Array.from({ length: 20 }, (_, at) => `n${at}`);
    const objects = names.map((name) => site(name, { line: name === 'n13' ? 'refused' : name }));
    const shop = await open({ objects, checker: new ScriptedChecker(silently) });
    expect(held(shop)).toEqual(['n13']);
    expect(published()?.split('\n')).toHaveLength(20);
    expect(scripted(shop).runs).toBeLessThanOrEqual(16);

    await shop.store(site('n2', { line: 'refused too' }), site('n3', { line: 'fine' }));
    expect(held(shop)).toEqual(['n13', 'n2']);
    expect(published()).toMatch(/^n2$/m);
    expect(published()).toMatch(/^fine$/m);
  });

  it('stays unpublished, and is reported, where no object is to blame', async () => {
    const refused = { kind: 'refused', findings: [], durationMs: 1 } as const;
    const checker = new ScriptedChecker(() => refused);
    const shop = await open({ checker, objects: [site('a', { line: 'one' }), site('b', { line: 'two' })] });
    expect(results(shop)).toEqual(['cold refused']);
    expect([published(), held(shop), shop.runtime.host.rooted]).toEqual([undefined, [], false]);
    expect(shop.runtime.coordinator.problem).toContain('the last accepted configuration stays');
    checker.verdict = byLine;
    await shop.store(site('c', { line: 'three' }));
    expect(published()).toBe('one\ntwo\nthree\n');
    expect(shop.runtime.coordinator.problem).toBeUndefined();
  });
});

describe('a checker that gives no verdict', () => {
  it('has the check alone repeated: nothing is published before, dropped or rendered again', async () => {
    const checker = new ScriptedChecker(() => unavailable('killed'));
    const shop = await open({ checker, objects: [site('a', { line: 'one' })] });
    expect([published(), shop.runtime.host.rooted]).toEqual([undefined, false]);
    expect(shop.runtime.coordinator.problem).toContain('the check is repeated');
    const again = new Promise<void>((resolve) => {
      checker.verdict = (request) => (resolve(), byLine(request));
    });
    await again;
    await shop.runtime.coordinator.settled();
    expect(published()).toBe('one\n');
    expect(results(shop)).toEqual(['cold unchecked', 'warm published']);
    expect(shop.log.at(-1)).toMatchObject({ msg: 'published', executed: 0 });
  });
});

describe('an output that cannot be published', () => {
  it('is tried again by itself, while reviews go on', async () => {
    writeFileSync(join(scratch.folder('out'), 'releases'), 'in the way');
    const shop = await open({ objects: [site('a', { line: 'one' })] });
    expect(results(shop)).toEqual(['cold failed']);
    expect(shop.runtime.host.rooted).toBe(true);
    expect(shop.runtime.coordinator.problem).toContain('could not be published');
    rmSync(join(scratch.path, 'out/releases'));
    while (shop.reports.length < 2) await new Promise((resolve) => setTimeout(resolve, 20));
    expect(published()).toBe('one\n');
    expect(shop.runtime.coordinator.problem).toBeUndefined();
  });
});

describe('a stored object that breaks a bound of the render', () => {
  const text = `<% if (item.spec.loop) for (;;); %>
<% if (item.spec.hoard) for (const all = []; ; ) all.push(new Array(100000).fill(all.length)); %>
<%= item.spec.line %>
`;
  const config = renderConfig({
    components: [component('site', text)],
    render: { timeoutMs: 300, heapMiB: 48 },
  });

  it('of time is held back, and the others are served', async () => {
    const shop = await open({ config, objects: [site('a', { line: 'one' })] });
    await shop.store(site('b', { line: 'two', loop: true }), site('c', { line: 'three' }));
    expect(published()).toBe('one\nthree\n');
    expect(held(shop)).toEqual(['b']);
  });

  it('of memory ends the thread at most: the next one holds it back and serves the others', async () => {
    const shop = await open({ config, objects: [site('a', { line: 'one' })] });
    await shop.store(site('b', { line: 'two', hoard: true }), site('c', { line: 'three' }));
    await shop.runtime.coordinator.settled();
    expect(published()).toBe('one\nthree\n');
    expect(held(shop)).toEqual(['b']);
    await shop.store(site('b', { line: 'mended' }));
    expect(published()).toBe('one\nmended\nthree\n');
  });

  it('of time in the first render, which has none, does not keep the process from ending', async () => {
    world = openWorld({ config, objects: [site('a', { line: 'one', loop: true })] });
    world.runtime.coordinator.start();
    const { host } = world.runtime;
    while (host.progress.stage !== 'instances') await new Promise((resolve) => setTimeout(resolve, 10));
    await world.close();
    expect(world.runtime.coordinator.problem).toBeUndefined();
  });
});

describe('closing', () => {
  it('ends a check that is under way and starts no other', async () => {
    const running = new Held();
    const checker = new ScriptedChecker(running.verdict);
    world = openWorld({ config: renderConfig(), checker, objects: [site('a', { line: 'one' })] });
    world.runtime.coordinator.start();
    await running.started;
    await world.close();
    expect(checker.runs).toBe(1);
    expect(world.log.filter(({ level }) => level >= 50)).toEqual([]);
  });
});
