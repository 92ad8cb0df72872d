import { afterEach, describe, expect, it } from '@jest/globals';

import type { ReconcileReply } from '../../src/render/protocol.js';
import { RenderThread } from '../../src/render/render-thread.js';
import { component, gone, output, renderConfig, site } from '../support/render-config.js';

let thread: RenderThread | undefined;
afterEach(() => thread?.terminate());

const CLAIM = component('claim', "<% shared.publish('hosts', item.spec.host, item.spec.to); %>\n", { group: 'claims' });
const MAIN = output('out.txt', "<%~ group('lines') %>\n<%= values('claims', 'hosts').join('+') %>.\n");

/** A component that runs for the one switch there is, and reads what sites claim. */
function reader(expression: string): ReturnType<typeof component> {
  return component('reader', `<%= ${expression} %>\n`, { sources: ['switches'], consumes: ['claims'] });
}

const SWITCH = {
  alias: 'switches',
  namespace: 'shop',
  name: 'main',
  text: JSON.stringify({ metadata: { namespace: 'shop', name: 'main' } }),
};

async function render(
  ...changes: Parameters<typeof site>[] | ReturnType<typeof site>[]
): Promise<Extract<ReconcileReply, { kind: 'rendered' }>> {
  if (thread === undefined) throw new Error('no thread');
  const objects = changes.map((change) => (Array.isArray(change) ? site(...change) : change));
  await thread.request('store', { changes: objects });
  const reply = await thread.request('reconcile', { timeoutMs: 1_000 });
  if (reply.kind !== 'rendered') throw new Error(JSON.stringify(reply));
  await thread.request('accept', { render: reply.render });
  return reply;
}

async function text(): Promise<string | undefined> {
  return (await thread?.request('acceptedFiles', null))?.[0]?.text;
}

describe('a reader of publications', () => {
  it.each([
    ['select', "shared.select('claims', 'hosts', 'h')", 'x\nx.\n'],
    ['selectValues', "shared.selectValues('claims', 'hosts').join()", 'x\nx.\n'],
    ['count', "shared.count('claims', 'hosts')", '1\nx.\n'],
  ])('by %s does not run when a key only changes hands', async (_, expression, output) => {
    thread = new RenderThread(renderConfig({ components: [CLAIM, reader(expression)], outputs: [MAIN] }));
    await render(SWITCH, site('a', { host: 'h', to: 'x' }));
    const moved = await render(gone('sites', 'shop', 'a'), site('b', { host: 'h', to: 'x' }));
    expect(moved.executed).toBe(1);
    expect(await text()).toBe(output);
  });

  it('does not run when a cell has one key less and one more, and it only counts them', async () => {
    const components = [CLAIM, reader("shared.count('claims', 'hosts')")];
    thread = new RenderThread(renderConfig({ components, outputs: [MAIN] }));
    await render(SWITCH, site('a', { host: 'h1', to: 'x' }));
    expect((await render(site('a', { host: 'h2', to: 'x' }))).executed).toBe(1);
    expect((await render(site('b', { host: 'h1', to: 'y' }))).executed).toBe(2);
    expect(await text()).toBe('2\ny+x.\n');
  });
});

describe('an object that is lifted from quarantine', () => {
  it('is served as it is at the next render, not as it was when it was lifted', async () => {
    thread = new RenderThread(renderConfig());
    await render(site('a', { line: 'good' }));
    await render(site('a', { line: 'refused' }));
    const ref = { alias: 'sites', namespace: 'shop', name: 'a' };
    await thread.request('quarantine', { objects: [{ ...ref, faults: ['f'], reason: 'r' }] });
    await render();
    await thread.request('unquarantine', { objects: [ref] });
    await render(site('a', { line: 'newest' }));
    expect(await text()).toBe('newest\n');
  });

  it.each([
    ['is the same revision still', 'bad', 1],
    ['is another one', 'fine', 0],
  ])('stays where it is after a replacement of the store only when it %s', async (_, line, held) => {
    const failing = component(
      'site',
      "<% if (item.spec.line === 'bad') fail('spec.line', 'is bad'); %>\n<%= item.spec.line %>\n",
    );
    thread = new RenderThread(renderConfig({ components: [failing] }));
    expect((await render(site('a', { line: 'bad' }))).quarantined).toHaveLength(1);
    await thread.request('store', { replace: ['sites'], changes: [site('a', { line })] });
    expect((await render()).quarantined).toHaveLength(held);
  });
});
