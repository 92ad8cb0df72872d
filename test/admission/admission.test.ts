import { afterEach, describe, expect, it } from '@jest/globals';

import type { Checker } from '../../src/check/checker.js';
import { component, renderConfig, site, type ConfigParts } from '../support/render-config.js';
import { openRooted, openWorld, type World, type WorldOptions } from '../support/runtime-world.js';
import type { ScriptedChecker } from '../support/scripted-checker.js';
import { Held, unavailable } from '../support/scripted-checker.js';
import { post, postRequest } from './posting.js';

/** One claim has one owner: whoever comes second fails. */
const CLAIMS = `<% const rivals = resources.sites.list().filter((other) => other.spec.claim === item.spec.claim);
if (item.spec.claim && rivals.length > 1) fail('spec.claim', 'is taken'); %>
<%= item.spec.line %>
`;

let world: World | undefined;
afterEach(() => world?.close());

async function rooted(parts: ConfigParts = {}, more: Partial<WorldOptions> = {}): Promise<World> {
  const components = [component('site', CLAIMS)];
  world = await openRooted({ config: renderConfig({ components, ...parts }), ...more });
  return world;
}

describe('what was admitted a moment ago', () => {
  it('makes a clash with it a matter of coming again, never a deny', async () => {
    const shop = await rooted();
    expect(await post(shop, 'one', { line: 'one', claim: 'host' })).toMatchObject({ allowed: true });
    const second = await post(shop, 'two', { line: 'two', claim: 'host' });
    expect(second).toMatchObject({ allowed: false, code: 503, reason: 'ledger', retryAfterSeconds: 1 });
    await shop.store(site('one', { line: 'one', claim: 'host' }));
    const known = await post(shop, 'two', { line: 'two', claim: 'host' });
    expect(known).toMatchObject({ allowed: false, code: 422 });
  });

  it('is no excuse for a change that fails without it', async () => {
    const shop = await rooted({}, { objects: [site('stored', { line: 'x', claim: 'host' })] });
    await post(shop, 'one', { line: 'one' });
    const reply = await post(shop, 'two', { line: 'two', claim: 'host' });
    expect(reply).toMatchObject({ allowed: false, code: 422 });
  });

  it('is nothing after a dry run', async () => {
    const shop = await rooted();
    await post(shop, 'one', { line: 'one', claim: 'host' }, { dryRun: true });
    expect(await post(shop, 'two', { line: 'two', claim: 'host' })).toMatchObject({ allowed: true });
  });

  it('does not count among what the next review executes', async () => {
    const shop = await rooted({ components: [component('site', '<%= item.spec.line %>\n')] });
    await post(shop, 'one', { line: 'one' });
    expect(await post(shop, 'two', { line: 'two' })).toMatchObject({ allowed: true, executed: 1 });
  });
});

describe('a change that cannot be judged', () => {
  it('during the first render is told so when its time is up', async () => {
    world = openWorld({ config: renderConfig() });
    const reply = await post(world, 'early', { line: 'x' }, { timeout: '1s' });
    expect(reply).toMatchObject({ allowed: false, code: 503, reason: 'cold', retryAfterSeconds: 1 });
    expect(reply.message).toContain('the first full render');
  });

  it('during the first render waits for it', async () => {
    world = openWorld({ config: renderConfig() });
    const early = post(world, 'early', { line: 'x' }, { timeout: '10s' });
    await world.runtime.coordinator.cycle();
    expect(await early).toMatchObject({ allowed: true });
  });

  it('while too many wait is turned away at once', async () => {
    const held = new Held();
    const shop = await rooted({ admission: { queueLength: 2 } });
    const checker = shop.runtime.checker as ScriptedChecker;
    checker.verdict = held.verdict;
    const waiting = ['one', 'two'].map((name) => post(shop, name, { line: name }));
    await held.started;
    const third = await post(shop, 'three', { line: 'three' });
    expect(third).toMatchObject({ allowed: false, code: 503, reason: 'queue-full', retryAfterSeconds: 1 });
    expect(third.message).toContain('2 reviews are waiting already');
    held.end();
    expect((await Promise.all(waiting)).map(({ allowed }) => allowed)).toEqual([true, true]);
    expect(shop.runtime.admission.queueLength).toBe(0);
  });

  it.each([
    ['missing', 503],
    ['killed', 503],
    ['failed', 503],
    ['timeout', 504],
  ] as const)('because the checker is %s gets %d', async (reason, code) => {
    const shop = await rooted();
    (shop.runtime.checker as ScriptedChecker).verdict = () => unavailable(reason);
    const reply = await post(shop, 'new', { line: 'new' });
    expect(reply).toMatchObject({ allowed: false, code, reason: `checker-${reason}`, retryAfterSeconds: 1 });
  });

  it('because the checker does not end in time gets 504', async () => {
    const shop = await rooted();
    (shop.runtime.checker as ScriptedChecker).verdict = new Held().verdict;
    const reply = await post(shop, 'new', { line: 'new' }, { timeout: '1s' });
    expect(reply).toMatchObject({ allowed: false, code: 504, reason: 'checker-aborted' });
  });

  it('because of a fault of ours gets 503, and the fault stays in the log', async () => {
    const shop = await rooted();
    const broken = shop.runtime.checker as { -readonly [Key in keyof Checker]: Checker[Key] };
    Object.defineProperty(broken, 'identity', {
      get: () => {
        throw new Error('secret internals\n    at /somewhere/inside.js:1:1');
      },
    });
    const reply = await post(shop, 'new', { line: 'new' });
    expect(reply).toMatchObject({ allowed: false, code: 503, reason: 'internal' });
    expect(reply.message).not.toMatch(/secret internals|inside\.js/);
    expect(shop.log.some((line) => line['text'] === 'secret internals')).toBe(true);
  });

  it('because its caller has gone ends early and leaves nothing behind', async () => {
    const held = new Held();
    const shop = await rooted();
    (shop.runtime.checker as ScriptedChecker).verdict = held.verdict;
    const caller = new AbortController();
    const reply = post(shop, 'new', { line: 'new' }, { signal: caller.signal });
    await held.started;
    caller.abort();
    expect(await reply).toMatchObject({ allowed: false, reason: 'checker-aborted' });
    expect(shop.runtime.admission.queueLength).toBe(0);
  });
});

describe('the mode warn', () => {
  const mode = { admission: { mode: 'warn', queueLength: 256 } } as const;

  it('judges all the same and turns a deny into a warning', async () => {
    const shop = await rooted(mode);
    const reply = await post(shop, 'new', { line: 'refused' });
    expect(reply).toMatchObject({ allowed: true, reason: 'warn-refused', checkerRuns: 1 });
    expect(reply.warnings[0]).toMatch(/^would be denied: sites shop\/new: /);
  });

  it('lets pass what cannot be judged or understood', async () => {
    const shop = await rooted(mode);
    (shop.runtime.checker as ScriptedChecker).verdict = () => unavailable('missing');
    const unjudged = await post(shop, 'new', { line: 'new' });
    expect(unjudged.allowed).toBe(true);
    expect(unjudged.warnings[0]).toMatch(/^would be unjudged: /);
    const refused = await postRequest(shop, { kind: { group: 'example.org', version: 'v1', kind: 'Site' } });
    expect(refused.allowed).toBe(true);
    const deep = JSON.parse(`${'['.repeat(80)}${']'.repeat(80)}`) as unknown;
    expect(await post(shop, 'new', { line: 'x', deep })).toMatchObject({ allowed: true, reason: 'warn-malformed' });
  });

  it('remembers nothing that it would have denied', async () => {
    const shop = await rooted(mode);
    await post(shop, 'bad', { line: 'refused' });
    expect(shop.runtime.admission.ledger.size).toBe(0);
  });
});

describe('what nobody reviews', () => {
  it('is allowed without work and named without a stray slash', async () => {
    const shop = await rooted();
    const kind = { group: '', version: 'v1', kind: 'Node' };
    const resource = { group: '', version: 'v1', resource: 'nodes' };
    await postRequest(shop, { kind, resource, name: 'n1', operation: 'CREATE' });
    const pods = { kind: { ...kind, kind: 'Pod' }, resource: { ...resource, resource: 'pods' } };
    await postRequest(shop, { ...pods, name: 'web', namespace: 'shop', operation: 'CREATE' });
    await postRequest(shop, { ...pods, namespace: 'shop', operation: 'CREATE' });
    expect(shop.records.map(({ object }) => object)).toEqual(['nodes n1', 'pods shop/web', 'pods shop']);
    expect(shop.records.every(({ executed, checkerRuns }) => executed + checkerRuns === 0)).toBe(true);
  });
});
