import { readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, it } from '@jest/globals';
import { developmentCertificate } from '../../src/server/development-certificate.js';
import { findHaproxy } from '../cases/checker-shim.js';
import { copyConfig } from '../cases/config-copy.js';
import { freePorts } from '../deploy/origin.js';
import { makeScratch, type Scratch } from '../support/scratch.js';
import { type ServeProcess, startServe } from '../support/server.js';
import { until } from './defined-answer.js';
import { type AddressRelay, startAddressRelay } from './setup/address-relay.js';
import { findAssets, HOW_TO_GET } from './setup/assets.js';
import { type ControlPlane, startControlPlane } from './setup/control-plane.js';
import { badIngress, ingress, readReply, reviewOf, shopObjects } from './shop.js';
import { webhookOf } from './webhook.js';

const assets = findAssets();
const canRun = assets !== undefined && findHaproxy() !== undefined && process.platform === 'linux';
if (!canRun)
  process.stderr.write(
    `test/e2e/readiness.test.ts is left out: it needs Linux, haproxy and a control plane; ${HOW_TO_GET}\n`,
  );

const NAMESPACE = 'rendergate';
const HOSTS = ['127.0.0.1', '127.0.0.2', '127.0.0.3'] as const;
/** As the API server has them: it takes no loopback addresses. */
const inCluster = (host: string): string => host.replace('127.0.0.', '198.51.100.');

/** First lines of a template: what the instance of the stored Ingress does before it renders. */
const NEVER_ENDS = "<% if (item.metadata.name === 'stored') for (;;); %>";
const TAKES_SECONDS =
  "<% if (item.metadata.name === 'stored') for (let j = 0, n = 0; j < 6; j++) for (let i = 0; i < 1e8; i++) n = (n + i) | 0; %>";
/** Shorter than that, by far: the loop takes 3 s of a processor of 2025. */
const RENDER_TIMEOUT = '500ms';
const LATE = 'the first full render takes longer than render.timeout';

/** Decision 0029, 4 and the rows of its table; the test plays kubelet and endpoint controller. */
(canRun ? describe : describe.skip)('three replicas on a real kube-apiserver', () => {
  let plane: ControlPlane;
  let relay: AddressRelay;
  let scratch: Scratch;
  let certs: string;
  let port: number;
  let replicas: ServeProcess[];

  beforeAll(async () => {
    if (assets !== undefined) plane = await startControlPlane(assets);
    relay = await startAddressRelay(plane, NAMESPACE, (json) => json.replaceAll('198.51.100.', '127.0.0.'));
    for (const name of ['shop', NAMESPACE]) plane.mustKubectl(['create', 'namespace', name]);
    // The API server gives addresses of its own range.
    const objects = JSON.stringify(shopObjects()).replace('"clusterIP":"203.0.113.200",', '');
    plane.mustKubectl(['apply', '-f', '-'], `{"apiVersion":"v1","kind":"List","items":${objects}}`);
  }, 120_000);

  afterAll(async () => {
    await relay.stop();
    await plane.stop();
  });

  beforeEach(async () => {
    scratch = makeScratch('rg-ready-');
    certs = scratch.folder('certs');
    await developmentCertificate(certs, [`rendergate.${NAMESPACE}.svc`, ...HOSTS]);
    [port = 0] = await freePorts(1);
    replicas = [];
    seen([]);
  });

  afterEach(async () => {
    plane.mustKubectl(['delete', 'validatingwebhookconfiguration', 'rendergate', '--ignore-not-found']);
    await Promise.all(replicas.map((replica) => replica.stop()));
    plane.mustKubectl(['delete', 'ingress', '-n', 'shop', '-l', 'test=readiness']);
    scratch.remove();
  });

  /** One `rendergate serve`; `before` stands in front of a template of its configuration. */
  async function start(host: string, before = ''): Promise<ServeProcess> {
    const folder = scratch.folder(`config-${host}`);
    const { path } = copyConfig(folder, { values: [[['render', 'timeout'], RENDER_TIMEOUT]] });
    const template = join(folder, 'templates/ingress.eta');
    writeFileSync(template, before + readFileSync(template, 'utf8'));
    const replica = await startServe({
      ...{ config: path, certs, output: scratch.folder(`out-${host}`), env: { POD_IP: host } },
      args: [
        ...['--kubeconfig', relay.kubeconfig, '--namespace', NAMESPACE, '--service', 'rendergate'],
        ...['--host', host, '--port', String(port)],
      ],
    });
    replicas.push(replica);
    return replica;
  }

  /** The EndpointSlice of the Service as the control plane writes it, with these addresses Ready. */
  function seen(ready: readonly string[]): void {
    const slice = {
      apiVersion: 'discovery.k8s.io/v1',
      kind: 'EndpointSlice',
      metadata: { name: 'rendergate-1', namespace: NAMESPACE, labels: { 'kubernetes.io/service-name': 'rendergate' } },
      addressType: 'IPv4',
      ports: [{ name: 'https', port: 8443, protocol: 'TCP' }],
      endpoints: HOSTS.map((host) => ({ addresses: [inCluster(host)], conditions: { ready: ready.includes(host) } })),
    };
    plane.mustKubectl(['apply', '-f', '-'], JSON.stringify(slice));
  }

  /** Probes all as the kubelet does, and tells the control plane. Gives the addresses that are Ready now. */
  async function probed(): Promise<readonly string[]> {
    const probes = replicas.map(async ({ host, get }) => ((await get('/readyz')).status === 200 ? [host] : []));
    const ready = (await Promise.all(probes)).flat();
    seen(ready);
    return ready;
  }

  const entryOf = async (replica: ServeProcess): Promise<string> => {
    const { status, text } = await replica.get('/readyz/render-graph');
    return `${status} ${text}`;
  };
  const entryIs = (replica: ServeProcess, wanted: RegExp) => until(async () => wanted.test(await entryOf(replica)));
  const callThrough = (replica: ServeProcess): string =>
    plane.mustKubectl(['apply', '-f', '-'], JSON.stringify(webhookOf(replica)));
  const labelled = (name: string) => ingress(name, { metadata: { labels: { test: 'readiness' } } });
  const apply = (object: object) => plane.kubectl(['apply', '-f', '-'], JSON.stringify(object));

  /** What `kubectl apply` gets to see of a replica that has its graph. */
  function validates(replica: ServeProcess, name: string): void {
    callThrough(replica);
    expect(apply(labelled(name))).toMatchObject({ code: 0 });
    const { code, text } = apply(badIngress(`${name}-bad`));
    expect([code, text]).toEqual([1, expect.stringContaining('timeout-server')]);
  }

  /** One call without kubectl's retries. */
  async function create(object: object): Promise<{ readonly code?: number; readonly message?: string }> {
    const answer = await fetch(`${relay.url}/apis/networking.k8s.io/v1/namespaces/shop/ingresses`, {
      method: 'POST',
      headers: { 'content-type': 'application/json' },
      body: JSON.stringify(object),
    });
    return (await answer.json()) as object;
  }

  const COLD_DENIAL = [
    'not judged: the first full render is still running',
    'effect: until then no change can be validated, so this one was not admitted',
    'fix:    retry, kubectl does so by itself; if it persists, raise memory and CPU of rendergate',
  ];

  it('first render running, a sibling has a graph: NotReady; the sibling validates', async () => {
    const [first, second] = await Promise.all([start(HOSTS[0]), start(HOSTS[1])]);
    await Promise.all([first.published(), second.published()]);
    expect(await probed()).toEqual([HOSTS[0], HOSTS[1]]);

    const cold = await start(HOSTS[2], NEVER_ENDS);
    await entryIs(
      cold,
      /^500 internal server error: no graph yet \(.*; a sibling validates meanwhile: 127.* has one\n$/,
    );
    expect((await cold.get('/readyz')).text).toContain('[-]render-graph failed: no graph yet (');
    expect(await probed()).toEqual([HOSTS[0], HOSTS[1]]);
    validates(first, 'by-first');
    validates(second, 'by-second');
    expect(readReply(await cold.post(reviewOf(labelled('early')), '1s')).status).toMatchObject({ code: 503 });

    // Killed, and the slice does not know it yet: nobody can say that the two have no graph.
    await Promise.all([first.stop('SIGKILL'), second.stop('SIGKILL')]);
    replicas = [cold];
    await entryIs(cold, /^500 .*it cannot be ruled out that a sibling has one: 127.*ECONNREFUSED/);
    await cold.log.wait((line) => line['msg'] === 'siblings cannot be asked for a render graph');
    // Then it does, and the cold one is better than none.
    await until(async () => (await probed()).includes(HOSTS[2]));
    expect(await entryOf(cold)).toMatch(/^200 ok: no graph yet .* no sibling can validate: no other replica is Ready$/);
  });

  it('first render running, no sibling can validate: Ready with a note, denied with the cause and the fix', async () => {
    await Promise.all(HOSTS.map((host) => start(host, NEVER_ENDS)));
    // Nobody is Ready at first, so nobody waits for anybody.
    await until(async () => (await probed()).length === 3);
    // Now each is among the Ready siblings of the others, which must not make them wait after all.
    const note = /^200 ok: no graph yet \(instances, .*: none of the 2 Ready siblings has a graph either$/;
    for (const replica of replicas) await entryIs(replica, note);
    expect([...(await probed())].sort()).toEqual(HOSTS);

    const [cold] = replicas as [ServeProcess];
    plane.mustKubectl(['apply', '-f', '-'], JSON.stringify(webhookOf(cold, 1)));
    const { code, message } = await create(labelled('early'));
    expect(code).toBe(503);
    for (const part of COLD_DENIAL) expect(message).toContain(part);
  });

  it('first render longer than the render timeout: one warning, then it commits and validates', async () => {
    await Promise.all(HOSTS.map((host) => start(host, TAKES_SECONDS)));
    for (const replica of replicas) {
      await replica.published();
      const messages = replica.log.lines.map((line) => line['msg']);
      expect(messages.filter((message) => message === LATE)).toHaveLength(1);
      expect(messages.indexOf(LATE)).toBeLessThan(messages.indexOf('published'));
      expect(await entryOf(replica)).toBe('200 ok');
    }
    expect([...(await probed())].sort()).toEqual(HOSTS);
    for (const [at, replica] of replicas.entries()) validates(replica, `late-${at}`);
  });
});
