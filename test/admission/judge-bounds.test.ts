import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';

import { component, renderConfig, site } from '../support/render-config.js';
import { openRooted, type World } from '../support/runtime-world.js';
import { makeScratch } from '../support/scratch.js';
import { post } from './posting.js';

/** `loop` never ends, `hoard` takes all memory, `long` writes too much, `regex` backtracks. */
const TEMPLATE = `<% if (item.spec.loop) for (;;); %>
<% if (item.spec.regex) /^(a+)+$/.test('a'.repeat(40) + '!'); %>
<% if (item.spec.hoard) for (const all = []; ; ) all.push(new Array(100000).fill(all.length)); %>
<% if (item.spec.long) { %>
<%= 'x'.repeat(item.spec.long) %>
<% } %>
<%= item.spec.line %>
`;

const DYING = { deletionTimestamp: '2026-01-01T00:00:00Z' };

const scratch = makeScratch();
let world: World;

beforeAll(async () => {
  const config = renderConfig({
    components: [component('site', TEMPLATE)],
    admission: { renderTimeoutMs: 400 },
    render: { timeoutMs: 400, heapMiB: 48, maxInstanceBytes: 10_000 },
  });
  // With an output directory, quarantines survive the thread.
  world = await openRooted({ config, objects: [site('old', { line: 'old' })], output: scratch.path });
});

afterAll(async () => {
  await world.close();
  scratch.remove();
});

async function expectServing(): Promise<void> {
  expect(await post(world, 'fine', { line: 'fine' }, { dryRun: true })).toMatchObject({ allowed: true });
}

describe('a change whose own instance breaks a bound', () => {
  it.each(['loop', 'regex'])('of time (%s) is denied, and then denied without a render', async (how) => {
    const first = await post(world, how, { line: 'x', [how]: true });
    expect(first).toMatchObject({ allowed: false, code: 422, reason: 'too-slow' });
    expect(first.message).toContain(`sites shop/${how}: rendering it takes longer than 400 ms`);
    const again = await post(world, how, { line: 'x', [how]: true });
    expect(again).toMatchObject({ allowed: false, code: 422, reason: 'remembered', executed: 0 });
    await expectServing();
  });

  it('is another change once its content is another', async () => {
    await post(world, 'changing', { line: 'x', loop: true });
    expect(await post(world, 'changing', { line: 'x' }, { dryRun: true })).toMatchObject({ allowed: true });
  });

  it('of size is denied', async () => {
    const reply = await post(world, 'long', { line: 'x', long: 20_000 });
    expect(reply).toMatchObject({ allowed: false, code: 422 });
    expect(reply.message).toContain('render.maxInstanceBytes');
  });

  it('is let go all the same while only finalizers keep it', async () => {
    const posting = { operation: 'UPDATE', metadata: DYING } as const;
    const slow = await post(world, 'dying', { line: 'x', loop: true }, posting);
    expect(slow).toMatchObject({ allowed: true, reason: 'dying' });
    const remembered = await post(world, 'dying', { line: 'x', loop: true }, posting);
    expect(remembered).toMatchObject({ allowed: true, reason: 'dying', executed: 0 });
    expect(remembered.warnings[0]).toMatch(/^shop\/dying is still not served: rendering it takes longer/);
  });

  it('is let go when it stood so before, with a warning', async () => {
    await world.store(site('standing', { line: 'x', loop: true }));
    const reply = await post(world, 'standing', { line: 'y', loop: true }, { operation: 'UPDATE' });
    expect(reply).toMatchObject({ allowed: true, reason: 'same-fault' });
    expect(reply.warnings[0]).toMatch(/^shop\/standing is still not served: /);
    const repair = await post(world, 'standing', { line: 'y' }, { operation: 'UPDATE', dryRun: true });
    expect(repair).toMatchObject({ allowed: true, reason: 'passed' });
  });

  it('of memory ends the thread at most: it is denied, remembered, and the next is judged by a new thread', async () => {
    const first = await post(world, 'hoard', { line: 'x', hoard: true });
    expect(first).toMatchObject({ allowed: false, code: 422, reason: expect.stringMatching(/^too-/) });
    await world.runtime.coordinator.settled();
    const again = await post(world, 'hoard', { line: 'x', hoard: true });
    expect(again).toMatchObject({ allowed: false, code: 422, reason: 'remembered', executed: 0 });
    await expectServing();
  });
});

describe('a change that waits behind such a one', () => {
  it('is not blamed for it', async () => {
    const [slow, other] = await Promise.all([
      post(world, 'blocking', { line: 'x', loop: true }),
      post(world, 'waiting', { line: 'fine' }, { dryRun: true, timeout: '10s' }),
    ]);
    expect(slow).toMatchObject({ code: 422, reason: 'too-slow' });
    expect(other).toMatchObject({ allowed: true });
  });

  it('is answered when its own time is up', async () => {
    const blocking = [1, 2, 3].map((at) => post(world, `blocking-${at}`, { line: 'x', loop: true }));
    const other = await post(world, 'late', { line: 'fine' }, { timeout: '1s' });
    expect(other).toMatchObject({ allowed: false, code: 504, reason: 'late', retryAfterSeconds: 1 });
    await Promise.all(blocking);
    await expectServing();
  });
});
