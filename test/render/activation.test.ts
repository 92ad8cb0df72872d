import { afterEach, describe, expect, it } from '@jest/globals';

import type { ComponentSpec } from '../../src/config/render-config.js';
import type { ReconcileReply } from '../../src/render/protocol.js';
import { RenderThread } from '../../src/render/render-thread.js';
import { component, gone, output, renderConfig, site } from '../support/render-config.js';

let thread: RenderThread;
afterEach(() => thread.terminate());

const LINE = '<%= renderSubject.name %> <%= item.spec.line %>\n';

function started(...components: ComponentSpec[]): void {
  thread = new RenderThread(renderConfig({ components, outputs: [output('out.txt', "<%~ group('lines') %>\n")] }));
}

type Rendered = Extract<ReconcileReply, { kind: 'rendered' }> & {
  readonly text: string | undefined;
  readonly nodes: number;
};

async function render(...changes: ReturnType<typeof site>[]): Promise<Rendered> {
  await thread.request('store', { changes });
  const reply = await thread.request('reconcile', { timeoutMs: 1_000 });
  if (reply.kind !== 'rendered') throw new Error(JSON.stringify(reply));
  await thread.request('accept', { render: reply.render });
  const { nodes } = await thread.request('status', null);
  return { ...reply, nodes, text: (await thread.request('acceptedFiles', null))[0]?.text };
}

describe('a component with whenAnyPathExists', () => {
  const GATED = component('gated', LINE, { whenAnyPathExists: ['$.spec.tls[*]', '$.spec.on'] });

  it('has instances only of the objects that have one of the paths', async () => {
    started(GATED);
    const first = await render(
      site('a', { line: 1, tls: [{}] }),
      site('b', { line: 2, tls: [] }),
      site('c', { line: 3, on: null }),
      site('d', { line: 4 }),
    );
    expect(first).toMatchObject({ executed: 2, instances: 2, text: 'a 1\nc 3\n' });
  });

  it('comes and goes with the path, and with the object', async () => {
    started(GATED);
    expect(await render(site('a', { line: 1 }))).toMatchObject({ executed: 0, instances: 0, text: '' });
    expect(await render(site('a', { line: 1, on: true }))).toMatchObject({ executed: 1, instances: 1, text: 'a 1\n' });
    expect(await render(site('a', { line: 2 }))).toMatchObject({ executed: 0, instances: 0, text: '' });
    expect(await render(site('a', { line: 3, on: true }))).toMatchObject({ executed: 1, instances: 1, text: 'a 3\n' });
    expect(await render(gone('sites', 'shop', 'a'))).toMatchObject({ executed: 0, instances: 0, nodes: 0, text: '' });
  });

  it('takes what it published with it', async () => {
    const claim = component('claim', "<% shared.publish('doors', 'front', item.spec.line); %>", {
      group: 'doors',
      whenAnyPathExists: ['$.spec.door'],
    });
    started(claim, component('all', "<%= shared.count('doors', 'doors') %>\n", { consumes: ['doors'] }));
    expect(await render(site('a', { line: 1, door: 'x' }))).toMatchObject({ executed: 2, text: '1\n' });
    expect(await render(site('a', { line: 1 }))).toMatchObject({ executed: 1, text: '0\n' });
  });

  it('does not run for a change that leaves it inactive, nor twice for one that leaves it active', async () => {
    started(GATED, component('plain', LINE));
    const first = await render(site('a', { line: 1 }));
    expect(first).toMatchObject({ executed: 1, instances: 1 });
    expect(await render(site('a', { line: 2 }))).toMatchObject({ executed: 1, nodes: first.nodes });
    await render(site('a', { line: 2, on: 1 }));
    expect(await render(site('a', { line: 3, on: 2 }))).toMatchObject({ executed: 2, text: 'a 3\na 3\n' });
  });

  it('is told of by explain where it is not active', async () => {
    started(GATED, component('plain', LINE));
    await render(site('a', { line: 1 }));
    const { instances, readers } = await thread.request('explain', {
      object: { alias: 'sites', namespace: 'shop', name: 'a' },
    });
    expect(instances).toMatchObject([
      { component: 'gated', active: false, reads: [] },
      { component: 'plain', active: true },
    ]);
    expect(readers).toEqual([]);
  });

  it('publishes nothing of a transition in a review, and takes the warnings of one that comes', async () => {
    const warns = component('gated', "<% event('Warning', 'On', 'it is on'); %>on\n", {
      whenAnyPathExists: ['$.spec.on'],
    });
    started(warns);
    await render(site('a', { line: 1 }));
    const review = { without: [], change: site('a', { on: 1 }), timeoutMs: 1_000, expiresAt: Date.now() + 60_000 };
    const { render: reply } = await thread.request('review', review);
    expect(reply).toMatchObject({ kind: 'rendered', unchanged: false, executed: 1, warnings: ['it is on'] });
    expect(await render()).toMatchObject({ executed: 0, instances: 0, text: '' });
  });
});

it('a component may be called as a kind of read', async () => {
  const names = ['count', 'find', 'get', 'list', 'select', 'signature', 'values'];
  started(...names.map((name) => component(name, `<% resources.sites.find('shop', 'b'); %>${name} ${LINE}`)));
  const first = await render(site('a', { line: 1 }), site('b', { line: 1 }));
  expect(first).toMatchObject({ executed: 14, instances: 14 });
  expect(await render(site('a', { line: 2 }))).toMatchObject({ executed: 7 });
});
