import { afterEach, describe, expect, it } from '@jest/globals';

import type { ComponentSpec, RenderConfig } from '../../src/config/render-config.js';
import type { ObjectChange } from '../../src/render/protocol.js';
import { RenderThread } from '../../src/render/render-thread.js';

let thread: RenderThread | undefined;
afterEach(() => thread?.terminate());

const WATCHED = { apiVersion: 'v1', kind: 'ConfigMap', resource: 'configmaps', review: true, optional: false };
const BASE = {
  group: 'lines',
  kind: 'text',
  requires: [],
  consumes: [],
  optionalConsumes: [],
  effects: [],
  whenAnyPathExists: undefined,
} as const;

function component(name: string, source: string, text: string, more: Partial<ComponentSpec> = {}): ComponentSpec {
  const template = { name, text, file: 'test.yaml', firstLine: 1 };
  return { ...BASE, name, sources: [source], template, ...more };
}

function configOf(...components: ComponentSpec[]): RenderConfig {
  const template = { name: 'out.txt', text: "<%~ group('lines') %>\n", file: 'test.yaml', firstLine: 1 };
  return {
    name: 'test',
    watchedResources: ['sites', 'switches'].map((alias) => ({ ...WATCHED, alias, indexBy: [], ignoreFields: [] })),
    snippets: [],
    components,
    outputs: [{ name: 'out.txt', kind: 'text', sensitive: false, content: { from: 'template', template } }],
    check: { command: ['true'], timeoutMs: 1_000, memoryMiB: 64, concurrency: 1 },
    admission: {
      mode: 'enforce',
      budgetMs: 1_000,
      marginMs: 100,
      renderTimeoutMs: 1_000,
      queueLength: 8,
      maxBodyBytes: 1_000_000,
    },
    render: { timeoutMs: 10_000, heapMiB: 128, maxInstanceBytes: 100_000, debounceMs: 0 },
    extraContext: {},
  };
}

function stored(alias: string, name: string, data: object): ObjectChange {
  const text = JSON.stringify({ kind: 'ConfigMap', metadata: { namespace: 'a', name }, data });
  return { alias, namespace: 'a', name, text };
}

/** Stores the objects, renders, accepts; gives the output and what is held back. */
async function reconcile(...changes: ObjectChange[]): Promise<{ text: string; held: readonly string[] }> {
  if (thread === undefined) throw new Error('no thread');
  await thread.request('store', { changes });
  const reply = await thread.request('reconcile', { timeoutMs: undefined });
  if (reply.kind !== 'rendered') throw new Error(JSON.stringify(reply));
  const [file] = await thread.request('files', { render: reply.render });
  await thread.request('accept', { render: reply.render });
  return { text: file?.text ?? '', held: reply.quarantined.map(({ name, reason }) => `${name}: ${reason}`) };
}

const NEEDS_SWITCH = `<% if (item.data.bad) fail('data.bad', 'is set');
if (resources.switches.find('a', 'main')?.data.off) fail('data.site', 'is switched off'); %>
<%= item.data.site %>
`;

describe('an object in quarantine', () => {
  it('is left out when its last accepted revision, served until then, comes to break the render too', async () => {
    thread = new RenderThread(configOf(component('site', 'sites', NEEDS_SWITCH)));
    const before = await reconcile(stored('sites', 'x', { site: 'one' }), stored('sites', 'y', { site: 'other' }));
    expect(before).toEqual({ text: 'one\nother\n', held: [] });

    const broken = await reconcile(stored('sites', 'x', { site: 'two', bad: true }));
    expect(broken).toEqual({ text: 'one\nother\n', held: ['x: data.bad: is set'] });

    const off = await reconcile(stored('switches', 'main', { off: true }));
    expect(off.text).toBe('');
    expect(off.held).toHaveLength(2);

    const on = await reconcile(stored('switches', 'main', {}), stored('sites', 'x', { site: 'three' }));
    expect(on).toEqual({ text: 'three\nother\n', held: [] });
  });

  it('is tried again when a publication that it reads changes', async () => {
    const producer = component('switch', 'switches', "<% shared.publish('on', item.metadata.name, item.data.on); %>", {
      group: 'switches',
      effects: ['publishValue'],
    });
    const consumer = component(
      'site',
      'sites',
      "<% if (shared.select('switches', 'on', 'main') !== 'yes') fail('data.site', 'is not switched on'); %>\n<%= item.data.site %>\n",
      { consumes: ['switches'] },
    );
    thread = new RenderThread(configOf(producer, consumer));
    const off = await reconcile(stored('sites', 'x', { site: 'one' }), stored('switches', 'main', { on: 'no' }));
    expect(off).toEqual({ text: '', held: ['x: data.site: is not switched on'] });

    const on = await reconcile(stored('switches', 'main', { on: 'yes' }));
    expect(on).toEqual({ text: 'one\n', held: [] });
  });

  it('names every fault of every component that it breaks', async () => {
    const failing = (name: string): ComponentSpec => component(name, 'sites', `<% fail('data.site', '${name}'); %>`);
    thread = new RenderThread(configOf(failing('first'), failing('second')));
    const { held } = await reconcile(stored('sites', 'x', { site: 'one' }));
    expect(held).toEqual(['x: data.site: first; data.site: second']);
  });
});
