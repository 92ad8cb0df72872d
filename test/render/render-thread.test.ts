import { afterEach, describe, expect, it } from '@jest/globals';

import type { ReviewRender } from '../../src/render/protocol.js';
import { RenderThread, ThreadLost } from '../../src/render/render-thread.js';
import { component, type ConfigParts, gone, output, renderConfig, site } from '../support/render-config.js';

let thread: RenderThread | undefined;
afterEach(() => thread?.terminate());

function started(parts: ConfigParts = {}): RenderThread {
  thread = new RenderThread(renderConfig(parts));
  return thread;
}

/** Renders and accepts; the text of the first output. */
async function settled(running: RenderThread): Promise<string> {
  const reply = await running.request('reconcile', { timeoutMs: 1_000 });
  if (reply.kind !== 'rendered') throw new Error(`no render: ${JSON.stringify(reply)}`);
  await running.request('accept', { render: reply.render });
  const [first] = await running.request('acceptedFiles', null);
  return first?.text ?? '';
}

async function reviewOf(
  running: RenderThread,
  change: ReturnType<typeof site>,
  timeoutMs = 1_000,
): Promise<ReviewRender> {
  const { render } = await running.request('review', {
    without: [],
    change,
    timeoutMs,
    expiresAt: Date.now() + 60_000,
  });
  return render;
}

const TEMPERED = `<% if (item.spec.loop) for (;;) {} %>
<% if (item.spec.backtracks) /^(a+)+$/.test('a'.repeat(60) + '!'); %>
<% if (item.spec.bad) fail('spec.bad', 'is set'); %>
<%= item.spec.line %>
`;

describe('a review that does not come to an end', () => {
  it('is stopped by the bound of the review before it, and what was asked meanwhile is answered', async () => {
    const running = started({ components: [component('site', TEMPERED)] });
    await running.request('store', { changes: [site('a', { line: 'one' })] });
    expect(await settled(running)).toBe('one\n');

    const replies = await Promise.all([
      reviewOf(running, site('a', { line: 'two' }), 300),
      running.request('remember', { number: 1, change: site('b', { line: 'three' }) }),
      reviewOf(running, site('a', { loop: true }), 300),
      reviewOf(running, site('c', { line: 'four' }), 300),
      running.request('forget', { number: 1 }),
      settled(running),
    ]);
    expect(replies).toMatchObject([
      { kind: 'rendered', executed: 1 },
      null,
      { kind: 'timeout', own: true, instance: 'site of sites shop/a' },
      { kind: 'rendered', executed: 1, leansOnLedger: false },
      null,
      'one\n',
    ]);
  });

  it.each([
    ['an endless loop', { loop: true }],
    ['an expression that backtracks', { backtracks: true }],
  ])('is preempted in %s, names the instance and leaves nothing behind', async (_, spec) => {
    const running = started({ components: [component('site', TEMPERED)] });
    await running.request('store', { changes: [site('a', { line: 'one' }), site('b', { line: 'two' })] });
    expect(await settled(running)).toBe('one\ntwo\n');

    expect(await reviewOf(running, site('a', spec), 100)).toMatchObject({
      kind: 'timeout',
      own: true,
      instance: 'site of sites shop/a',
    });
    expect(await running.request('acceptedFiles', null)).toMatchObject([{ text: 'one\ntwo\n' }]);
    expect(await reviewOf(running, site('a', { line: 'changed' }))).toMatchObject({ kind: 'rendered', executed: 1 });
    expect(await running.request('reconcile', { timeoutMs: 1_000 })).toMatchObject({ executed: 0, unchanged: true });
  });
});

describe('a warm render that does not come to an end', () => {
  it('is stopped, and the next one gets on without the object that ran', async () => {
    const running = started({ components: [component('site', TEMPERED)] });
    await running.request('store', { changes: [site('a', { line: 'one' })] });
    await settled(running);
    await running.request('store', { changes: [site('a', { loop: true }), site('b', { line: 'two' })] });
    expect(await running.request('reconcile', { timeoutMs: 100 })).toMatchObject({ kind: 'stopped', why: 'timeout' });
    expect(await settled(running)).toBe('one\ntwo\n');
    const { quarantined } = await running.request('status', null);
    expect(quarantined).toMatchObject([{ name: 'a', servedOld: true }]);

    await running.request('store', { changes: [site('a', { line: 'mended' })] });
    expect(await settled(running)).toBe('mended\ntwo\n');
  });
});

describe('a cold render', () => {
  const BUSY = '<% let n = 0; for (let i = 0; i < 300000; i++) n += i % 7; %>\n<%= n %>\n';

  it('can be cancelled between two instances, shows how far it is, and begins anew afterwards', async () => {
    const running = started({ components: [component('site', BUSY)] });
    const changes = Array.from({ length: 3_000 }, (_, number) => site(`s${number}`, {}));
    await running.request('store', { changes });
    const render = running.request('reconcile', { timeoutMs: undefined });
    while (running.progress.done < 5) await new Promise((resolve) => setImmediate(resolve));
    expect(running.progress).toMatchObject({ stage: 'instances', known: 3_000 });
    expect(running.progress.instance).toMatch(/^site of sites shop\/s\d+$/);
    running.cancel();
    expect(await render).toMatchObject({ kind: 'stopped', why: 'cancelled' });
    expect(running.progress.done).toBeLessThan(3_000);
    expect(await running.request('status', null)).toMatchObject({ instances: 0, nodes: 0 });

    await running.request('store', { changes: changes.slice(3).map(({ name }) => gone('sites', 'shop', name)) });
    expect(await running.request('reconcile', { timeoutMs: 1 })).toMatchObject({
      kind: 'rendered',
      cold: true,
      executed: 3,
    });
  });

  it('has no time bound, whatever it is given', async () => {
    const running = started({ components: [component('site', BUSY)] });
    await running.request('store', { changes: Array.from({ length: 50 }, (_, number) => site(`s${number}`, {})) });
    expect(await running.request('reconcile', { timeoutMs: 1 })).toMatchObject({ kind: 'rendered', executed: 50 });
  });

  it('ends with a message when its heap grows over what the limit allows, and the thread lives on', async () => {
    const text = `<% if (item.spec.large) { %>\n<%= toJson(Array.from({ length: 60000 }, (_, at) => at + item.metadata.name.length)) %>\n<% } %>\n`;
    const running = started({ components: [component('site', text)], render: { heapMiB: 128 } });
    const changes = Array.from({ length: 2_000 }, (_, number) => site(`s${number}`, { large: true }));
    await running.request('store', { changes });
    const reply = await running.request('reconcile', { timeoutMs: undefined });
    expect(reply).toMatchObject({ kind: 'stopped', why: 'heap' });
    expect(reply).toHaveProperty('message', expect.stringContaining('raise render.heap'));
    await running.request('store', { changes: changes.map(({ name }) => gone('sites', 'shop', name)) });
    expect(await settled(running)).toBe('');
  });
});

describe('a thread that is lost', () => {
  it('tells those who wait for it, and whoever asks later', async () => {
    let reason: string | undefined;
    const config = renderConfig({ components: [component('site', TEMPERED)] });
    thread = new RenderThread(config, (said) => (reason = said));
    await thread.request('store', { changes: [site('a', { loop: true })] });
    const render = thread.request('reconcile', { timeoutMs: undefined });
    const status = thread.request('status', null);
    while (thread.progress.instance === '') await new Promise((resolve) => setImmediate(resolve));
    const ended = thread.terminate();
    await expect(render).rejects.toThrow(ThreadLost);
    await expect(status).rejects.toThrow(ThreadLost);
    await expect(thread.request('status', null)).rejects.toThrow('terminated');
    await ended;
    expect(thread.lost).toBe(true);
    expect(reason).toBeUndefined(); // it was ended on purpose
  });
});

describe('the protocol', () => {
  it('answers a request that it does not know with an error, and goes on', async () => {
    const running = started();
    await expect(running.request('nonsense' as 'status', null)).rejects.toThrow('not a function');
    await expect(running.request('store', null as never)).rejects.toThrow();
    expect(await running.request('status', null)).toMatchObject({ objects: { sites: 0, switches: 0, zones: 0 } });
  });

  it('names what a store refuses, and takes the rest', async () => {
    const bad = { alias: 'sites', namespace: 'shop', name: 'bad', text: '{' };
    const foreign = { alias: 'pods', namespace: 'shop', name: 'x', text: '{}' };
    const { refused } = await started().request('store', { changes: [bad, foreign, site('a', { line: 'one' })] });
    expect(refused).toEqual([
      expect.stringMatching(/^sites shop\/bad is not JSON/),
      'pods shop/x belongs to no watched resource (pods)',
    ]);
    expect(thread === undefined ? '' : await settled(thread)).toBe('one\n');
  });

  it('judges nothing before a render was accepted, and nothing that nobody waits for any more', async () => {
    const running = started();
    const change = site('a', { line: 'one' });
    expect(await reviewOf(running, change)).toEqual({ kind: 'cold' });
    await running.request('reconcile', { timeoutMs: undefined });
    expect(await reviewOf(running, change)).toEqual({ kind: 'cold' });
    await settled(running);
    const late = { without: [], change, timeoutMs: 1_000, expiresAt: Date.now() - 1 };
    expect((await running.request('review', late)).render).toEqual({ kind: 'late' });
    expect(await reviewOf(running, change)).toMatchObject({ kind: 'rendered', executed: 1, unchanged: false });
  });

  it('refuses a reviewed text that is no object, and one that throws with its place', async () => {
    const running = started({ components: [component('site', TEMPERED)] });
    await settled(running);
    expect(await reviewOf(running, { ...site('a', {}), text: '[]' })).toMatchObject({ kind: 'refused' });
    const fault = { field: 'spec.bad', text: 'is set', object: { alias: 'sites', namespace: 'shop', name: 'a' } };
    expect(await reviewOf(running, site('a', { bad: true }))).toMatchObject({
      kind: 'fault',
      faults: [{ ...fault, template: { name: 'site', line: 3 } }],
    });
  });

  it('gives files of a render until it is released, and accepts only what was committed', async () => {
    const running = started();
    await settled(running);
    const review = await reviewOf(running, site('a', { line: 'one' }));
    if (review.kind !== 'rendered') throw new Error(review.kind);
    const { render } = review;
    expect(await running.request('files', { render })).toEqual([{ name: 'out.txt', text: 'one\n', sensitive: false }]);
    await expect(running.request('accept', { render })).rejects.toThrow('was not committed');
    await running.request('release', { render });
    await expect(running.request('files', { render })).rejects.toThrow('is not kept any more');
  });

  it('renders reviews together when they are independent, and leaves out those that are not', async () => {
    const claims = component('claims', "<% shared.publish('hosts', item.spec.host, item.metadata.name); %>\n", {
      group: 'claims',
    });
    const main = output('out.txt', "<%~ group('lines') %>\n<%= values('claims', 'hosts').join('+') %>.\n");
    const running = started({ components: [claims, component('site', '<%= item.spec.host %>\n')], outputs: [main] });
    await settled(running);
    const renders: number[] = [];
    for (const [name, host] of [
      ['a', 'h1'],
      ['b', 'h2'],
      ['c', 'h1'],
    ] as const) {
      const review = await reviewOf(running, site(name, { host }));
      if (review.kind === 'rendered') renders.push(review.render);
    }
    const combined = await running.request('combine', { renders, timeoutMs: 1_000 });
    if (combined.render === undefined) throw new Error('nothing is combined');
    expect(combined.left).toEqual(renders.slice(2));
    expect(await running.request('files', { render: combined.render })).toMatchObject([{ text: 'h1\nh2\na+b.\n' }]);
  });

  it('drops what was known of a store that is replaced', async () => {
    const running = started();
    await running.request('store', { changes: [site('a', { line: 'one' }), site('b', { line: 'two' })] });
    await settled(running);
    await running.request('store', { changes: [site('b', { line: 'new' })], replace: ['sites'] });
    expect(await running.request('reconcile', { timeoutMs: 1_000 })).toMatchObject({ cold: true, executed: 1 });
    expect(await settled(running)).toBe('new\n');
  });

  it('suspects what has changed since the accepted root, the newest first, and not what is held back', async () => {
    const running = started();
    const suspects = async (): Promise<readonly string[]> =>
      (await running.request('suspects', null)).map(({ name }) => name);
    await running.request('store', { changes: [site('a', { line: 'one' }), site('b', { line: 'two' })] });
    expect(await suspects()).toEqual(['a', 'b']);
    await settled(running);
    expect(await suspects()).toEqual([]);
    await running.request('store', {
      changes: [site('b', { line: 'new' }), site('c', { line: 'c' }), site('a', { line: 'x' })],
    });
    expect(await suspects()).toEqual(['a', 'c', 'b']);
    const faults = { faults: ['f'], reason: 'refused' };
    await running.request('quarantine', { objects: [{ alias: 'sites', namespace: 'shop', name: 'c', ...faults }] });
    expect(await suspects()).toEqual(['a', 'b']);
  });
});
