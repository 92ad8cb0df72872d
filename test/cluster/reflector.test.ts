import { afterEach, beforeEach, describe, expect, it } from '@jest/globals';
import pino from 'pino';
import { ApiClient } from '../../src/cluster/api-client.js';
import { KubeCluster } from '../../src/cluster/kube-cluster.js';
import type { WatchedResource } from '../../src/config/render-config.js';
import type { ObjectChange } from '../../src/render/protocol.js';
import { event, FakeApiServer, list, object, refusal, watch, watchEnding } from './fake-api-server.js';

const INGRESSES: WatchedResource = {
  alias: 'ingresses',
  apiVersion: 'networking.k8s.io/v1',
  kind: 'Ingress',
  resource: 'ingresses',
  indexBy: [],
  review: true,
  optional: false,
  ignoreFields: [],
};

let fake: FakeApiServer;
let cluster: KubeCluster;
let log: string[];
/** The objects as a store would have them by now. */
let held: Map<string, unknown>;

beforeEach(async () => {
  fake = await FakeApiServer.start();
  held = new Map();
  log = [];
});

afterEach(async () => {
  await cluster.close();
  await fake.stop();
});

async function follow(resource: Partial<WatchedResource> = {}): Promise<void> {
  const client = new ApiClient({ kubeconfig: fake.kubeconfig });
  cluster = new KubeCluster(client, [{ ...INGRESSES, ...resource }], { silenceMs: 300 });
  const put = (changes: readonly ObjectChange[]): void => {
    for (const { name, text } of changes) {
      if (text === undefined) held.delete(name);
      else held.set(name, (JSON.parse(text) as { readonly n?: unknown }).n);
    }
  };
  const { synced } = await cluster.watch(pino({ level: 'debug' }, { write: (line: string) => void log.push(line) }), {
    listed: (_, changes) => {
      held.clear();
      put(changes);
    },
    changed: put,
  });
  await synced;
}

async function until(condition: () => boolean): Promise<void> {
  while (!condition()) await new Promise((resolve) => setTimeout(resolve, 10));
}

describe('a list', () => {
  it('comes in pages, and says kind and apiVersion of each object', async () => {
    fake.lists.push(list(5, [object('a', 1, { n: 1 })], 'more'), list(5, [object('b', 2, { n: 2 })]));
    fake.watches.push(watch());
    await follow();
    expect([...held]).toEqual([
      ['a', 1],
      ['b', 2],
    ]);
    fake.lists.push(list(5, [object('a', 1)]));
    const [text] = (await cluster.objects()).map((change) => change.text ?? '');
    expect(JSON.parse(text ?? '')).toMatchObject({ apiVersion: 'networking.k8s.io/v1', kind: 'Ingress' });
  });

  it('that is refused keeps the cluster unsynced, names what to grant, and is tried again', async () => {
    fake.lists.push(refusal(403), refusal(403), list(5, [object('a', 1, { n: 1 })]));
    fake.watches.push(watch());
    const synced = follow();
    await until(() => cluster.problems.some((problem) => problem.includes('refused with 403')));
    await synced;
    await until(() => held.has('a'));
    expect(log.join()).toContain('give the service account get, list and watch on ingresses');
    expect(log.join()).not.toContain('secret-token');
    expect(cluster.problems).toEqual([]);
  });

  it('of an optional resource that the server does not know is empty', async () => {
    fake.lists.push(refusal(404));
    fake.watches.push(refusal(404));
    await follow({ optional: true });
    expect(cluster.problems).toEqual([]);
  });
});

describe('a watch', () => {
  beforeEach(() => {
    fake.lists.push(list(5, [object('a', 1, { n: 1 })]));
  });

  it('brings objects, and goes on from its last revision when it ends', async () => {
    fake.watches.push(
      watchEnding('end', event('ADDED', object('b', 6, { n: 2 })), event('BOOKMARK', object('', 9))),
      watch(event('DELETED', object('a', 10))),
    );
    await follow();
    await until(() => !held.has('a'));
    expect([...held]).toEqual([['b', 2]]);
    expect(fake.calls).toEqual(['list', 'watch 5', 'watch 9']);
  });

  it('that breaks inside an event goes on from the last whole one', async () => {
    const whole = event('MODIFIED', object('a', 7, { n: 7 }));
    fake.watches.push(watchEnding('end', event('ADDED', object('b', 6, { n: 2 })), whole.slice(0, 40)), watch(whole));
    await follow();
    await until(() => held.get('a') === 7);
    expect(fake.calls).toEqual(['list', 'watch 5', 'watch 6']);
  });

  it('whose connection is reset is opened anew', async () => {
    fake.watches.push(watchEnding('reset'), watch(event('MODIFIED', object('a', 7, { n: 7 }))));
    await follow();
    await until(() => held.get('a') === 7);
    expect(fake.calls).toEqual(['list', 'watch 5', 'watch 5']);
  });

  it('that says nothing for too long is opened anew', async () => {
    fake.watches.push(watch(), watch(event('MODIFIED', object('a', 7, { n: 7 }))));
    await follow();
    await until(() => held.get('a') === 7);
  });

  it.each([
    ['an answer of 410', refusal(410)],
    ['an event of 410', watch(event('ERROR', { code: 410, message: 'too old' }))],
    ['a line that is no JSON', watch('{"type":\n')],
    ['revisions that go back', watch(event('ADDED', object('b', 8)), event('ADDED', object('c', 6)))],
  ])('is followed by a new list after %s', async (_, first) => {
    fake.lists.push(list(20, [object('z', 15, { n: 26 })]));
    fake.watches.push(first, watch());
    await follow();
    await until(() => held.has('z'));
    expect([...held]).toEqual([['z', 26]]);
    await until(() => fake.calls.at(-1) === 'watch 20');
  });

  it('takes an event that comes twice once', async () => {
    const twice = event('MODIFIED', object('a', 7, { n: 7 }));
    fake.watches.push(watch(twice, twice, event('ADDED', object('b', 8, { n: 8 }))));
    await follow();
    await until(() => held.has('b'));
    expect(fake.calls).toEqual(['list', 'watch 5']);
  });

  it('waits as long as the server asks', async () => {
    fake.watches.push(refusal(429, { 'retry-after': '2' }), watch(event('ADDED', object('b', 8, { n: 8 }))));
    await follow();
    await until(() => held.has('b'));
    const [wait] = log.map((line) => JSON.parse(line) as { retryMs?: number }).filter(({ retryMs }) => retryMs);
    expect(wait?.retryMs).toBeGreaterThanOrEqual(2_000);
  });
});
