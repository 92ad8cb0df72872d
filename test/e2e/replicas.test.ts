import { join } from 'node:path';
import { createServer } from 'node:net';
import { writeFileSync } from 'node:fs';
import { afterAll, afterEach, beforeAll, describe, expect, it } from '@jest/globals';
import { developmentCertificate } from '../../src/server/development-certificate.js';
import { findHaproxy } from '../cases/checker-shim.js';
import { SHIPPED_CONFIG } from '../support/project.js';
import { makeScratch } from '../support/scratch.js';
import { type ServeProcess, startServe } from '../support/server.js';
import { until } from './defined-answer.js';
import { findAssets, HOW_TO_GET } from './setup/assets.js';
import { type ControlPlane, startControlPlane } from './setup/control-plane.js';
import { ingress, shopObjects } from './shop.js';

const assets = findAssets();
const canRun = assets !== undefined && findHaproxy() !== undefined;
if (!canRun)
  process.stderr.write(`test/e2e/replicas.test.ts is left out: it needs haproxy and a control plane; ${HOW_TO_GET}\n`);

(canRun ? describe : describe.skip)('replicas on a real kube-apiserver', () => {
  const scratch = makeScratch('rg-replicas-');
  let plane: ControlPlane;
  const servers: ServeProcess[] = [];
  const ports: number[] = [];

  beforeAll(async () => {
    if (assets !== undefined) plane = await startControlPlane(assets);
    for (const name of ['shop', 'rendergate']) plane.mustKubectl(['create', 'namespace', name]);
    for (const object of shopObjects())
      apply(JSON.parse(JSON.stringify(object).replace('"clusterIP":"203.0.113.200",', '')) as object);
    ports.push(await freePort(), await freePort());
    register(ports[0] ?? 0);
    await developmentCertificate(scratch.path, []);
    for (const port of ports) servers.push(await serve(port));
  }, 120_000);

  afterAll(async () => {
    await Promise.all(servers.map((server) => server.stop()));
    await plane.stop();
    scratch.remove();
  });

  afterEach(() => {
    plane.kubectl(['delete', 'ingress', 'slow', 'fresh', 'later', '-n', 'shop', '--ignore-not-found']);
  });

  const apply = (object: object): { readonly code: number; readonly text: string } =>
    plane.kubectl(['apply', '-f', '-'], JSON.stringify(object));
  const serve = (port: number): Promise<ServeProcess> =>
    startServe({
      config: SHIPPED_CONFIG,
      output: join(scratch.path, `out-${port}`),
      certs: scratch.path,
      args: [
        ...['--kubeconfig', plane.kubeconfig, '--namespace', 'rendergate', '--service', 'rendergate'],
        ...['--leader-elect', '--tls-secret', 'rendergate-tls', '--publish-secret', 'rendergate-published'],
        ...['--port', String(port)],
      ],
    });
  /** As `rendergate manifests` does, but by URL: this API server is in no cluster's network. No caBundle, no rules. */
  const register = (port: number): void => {
    const webhook = {
      name: 'validate.rendergate.dev',
      admissionReviewVersions: ['v1'],
      sideEffects: 'None',
      failurePolicy: 'Fail',
      timeoutSeconds: 10,
      clientConfig: { url: `https://127.0.0.1:${port}/validate` },
    };
    const file = join(scratch.path, 'webhook.json');
    const configuration = {
      apiVersion: 'admissionregistration.k8s.io/v1',
      kind: 'ValidatingWebhookConfiguration',
      metadata: { name: 'rendergate' },
      webhooks: [webhook],
    };
    writeFileSync(file, JSON.stringify(configuration));
    plane.mustKubectl(['apply', '--server-side', '-f', file]);
  };
  const registered = (field: string): string =>
    plane.mustKubectl([
      ...['get', 'validatingwebhookconfiguration', 'rendergate'],
      ...['-o', `jsonpath={.webhooks[0].${field}}`],
    ]);
  const denies = (): boolean =>
    apply(ingress('slow', { annotations: { 'rendergate.dev/timeout-server': '5 parsecs' } })).text.includes(
      'denied the request',
    );
  const leadership = async (server: ServeProcess): Promise<string> =>
    /\[\+\]leadership ok: (\w+)/.exec((await server.get('/readyz?verbose')).text)?.[1] ?? '';
  const roles = (): Promise<readonly string[]> => Promise.all(servers.map(leadership));
  const published = (): string =>
    plane.mustKubectl(['get', 'secret', 'rendergate-published', '-n', 'rendergate', '-o', 'jsonpath={.data}']);

  it('make their certificate and register it and their rules; then a bad change is denied', async () => {
    await until(() => registered('clientConfig.caBundle') !== '' && registered('rules').includes('ingresses'));
    await until(denies);
    await until(() => apply(ingress('fresh', { host: 'fresh.example.com' })).code === 0);
    expect(plane.mustKubectl(['get', 'secret', 'rendergate-tls', '-n', 'rendergate', '-o', 'name'])).toContain('tls');
  });

  it('have one leader, which alone publishes', async () => {
    await until(async () => (await roles()).includes('leader'));
    expect([...(await roles())].sort()).toEqual(['follower', 'leader']);
    const publications = servers.map((server) => server.log.lines.filter((line) => line['msg'] === 'published').length);
    expect(publications.filter((count) => count > 0)).toHaveLength(1);
  });

  it('put back what somebody else made of their registration', async () => {
    plane.mustKubectl([
      ...['patch', 'validatingwebhookconfiguration', 'rendergate', '--type=json'],
      ...['-p', JSON.stringify([{ op: 'replace', path: '/webhooks/0/rules', value: [] }])],
    ]);
    await until(() => registered('rules').includes('ingresses'));
  });

  it('go on when the leader is killed: the other takes over, warm, and publishes', async () => {
    const at = (await roles()).indexOf('leader');
    const before = published();
    const [killed] = servers.splice(at, 1);
    const [survivor] = servers;
    if (killed === undefined || survivor === undefined) throw new Error('there are not two replicas');
    await killed.stop('SIGKILL');
    register(survivor.port);
    await until(async () => (await leadership(survivor)) === 'leader');
    const { executed } = await survivor.published();
    expect(executed).toBe(0);
    await until(() => apply(ingress('later', { host: 'later.example.com' })).code === 0);
    await until(() => published() !== before);
    await until(denies);
  }, 90_000);

  it('give the Lease back at their end', async () => {
    expect(await servers[0]?.stop('SIGTERM')).toBe(0);
    const holder = plane.mustKubectl([
      ...['get', 'lease', 'rendergate', '-n', 'rendergate'],
      ...['-o', 'jsonpath={.spec.holderIdentity}'],
    ]);
    expect(holder).toBe('');
    plane.mustKubectl(['delete', 'validatingwebhookconfiguration', 'rendergate']);
  });
});

async function freePort(): Promise<number> {
  const server = createServer();
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  const address = server.address();
  await new Promise((resolve) => server.close(resolve));
  return typeof address === 'object' && address !== null ? address.port : 0;
}
