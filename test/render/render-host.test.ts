import { afterEach, describe, expect, it } from '@jest/globals';

import type { RenderConfig } from '../../src/config/render-config.js';
import type { ObjectChange } from '../../src/render/protocol.js';
import { RenderHost } from '../../src/render/render-host.js';
import { ThreadLost } from '../../src/render/render-thread.js';
import { component, renderConfig, site } from '../support/render-config.js';

let host: RenderHost | undefined;
afterEach(() => host?.close());

const GREEDY = `<% if (item.spec.greedy) { const hoard = []; for (;;) hoard.push(toJson(hoard.length) + hoard.length); } %>
<%= item.spec.line %>
`;

interface Restarts {
  readonly host: RenderHost;
  /** Resolves with the instance at the next restart. */
  readonly restarted: Promise<string>;
}

function hostOf(config: RenderConfig, objects: readonly ObjectChange[]): Restarts {
  let told: (instance: string) => void = () => undefined;
  const restarted = new Promise<string>((resolve) => (told = resolve));
  host = new RenderHost({ config, objects: () => objects, onRestart: (_, instance) => told(instance) });
  return { host, restarted };
}

async function rooted(running: RenderHost): Promise<string> {
  const reply = await running.request('reconcile', { timeoutMs: undefined });
  if (reply.kind !== 'rendered') throw new Error(reply.kind);
  await running.accept(reply.render);
  const [first] = await running.request('acceptedFiles', null);
  return first?.text ?? '';
}

const NEVER = new AbortController().signal;

describe('the cold gate', () => {
  it('opens for all who wait when a render is accepted, and stays open', async () => {
    const { host: running } = hostOf(renderConfig(), []);
    expect(running.rooted).toBe(false);
    const waiting = [running.waitForRoot(60_000, NEVER), running.waitForRoot(60_000, NEVER)];
    await rooted(running);
    expect(await Promise.all(waiting)).toEqual([true, true]);
    expect(await running.waitForRoot(0, NEVER)).toBe(true);
  });

  it('stays shut when a render has ended that nobody accepted', async () => {
    const { host: running } = hostOf(renderConfig(), []);
    await running.request('reconcile', { timeoutMs: undefined });
    expect(await running.waitForRoot(20, NEVER)).toBe(false);
  });

  it('lets nobody wait longer than their time, nor after they have gone', async () => {
    const { host: running } = hostOf(renderConfig(), []);
    expect(await running.waitForRoot(0, NEVER)).toBe(false);
    const leaving = new AbortController();
    const waiting = running.waitForRoot(60_000, leaving.signal);
    leaving.abort();
    expect(await waiting).toBe(false);
    expect(await running.waitForRoot(60_000, leaving.signal)).toBe(false);
  });
});

describe('a render thread that runs out of memory', () => {
  it('is replaced by one that has the stored objects and is cold, and names the instance', async () => {
    const config = renderConfig({ components: [component('site', GREEDY)], render: { heapMiB: 64 } });
    const { host: running, restarted } = hostOf(config, [site('a', { line: 'one' }), site('b', { line: 'two' })]);
    expect(await rooted(running)).toBe('one\ntwo\n');

    const change = site('c', { greedy: true });
    const review = running.request('review', {
      without: [],
      change,
      timeoutMs: 60_000,
      expiresAt: Date.now() + 60_000,
    });
    await expect(review).rejects.toThrow(ThreadLost);
    expect(await restarted).toBe('site of sites shop/c');
    expect(running.lastLost).toBe('site of sites shop/c');
    expect(running.rooted).toBe(false);
    expect(await rooted(running)).toBe('one\ntwo\n');
    expect(await running.waitForRoot(0, NEVER)).toBe(true);
  });

  it('is not replaced once the host is closed', async () => {
    const { host: running } = hostOf(renderConfig(), []);
    await running.close();
    await expect(running.request('status', null)).rejects.toThrow(ThreadLost);
  });
});

describe('a thread that starts anew', () => {
  it('is told which objects an earlier one held back, and at what they are served', async () => {
    const bad = site('a', { line: 'bad' });
    const { host: running } = hostOf(renderConfig(), [site('a', { line: 'good' })]);
    await rooted(running);
    await running.request('store', { changes: [bad] });
    await running.request('reconcile', { timeoutMs: 1_000 }); // and the checker refuses it
    const held = { alias: 'sites', namespace: 'shop', name: 'a', faults: ['f'], reason: 'refused' };
    await running.request('quarantine', { objects: [held] });
    const reply = await running.request('reconcile', { timeoutMs: 1_000 });
    if (reply.kind !== 'rendered') throw new Error(reply.kind);
    const stored = await running.accept(reply.render);
    await running.close();

    host = new RenderHost({ config: renderConfig(), objects: () => [bad], quarantine: () => stored });
    expect(await rooted(host)).toBe('good\n');
    await host.request('store', { changes: [site('a', { line: 'mended' })] });
    expect(await rooted(host)).toBe('mended\n');
  });
});
