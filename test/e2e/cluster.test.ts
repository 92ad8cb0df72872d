import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, it } from '@jest/globals';
import { findHaproxy } from '../cases/checker-shim.js';
import { makeScratch, type Scratch } from '../support/scratch.js';
import { type ServeProcess, startServe } from '../support/server.js';
import { SHIPPED_CONFIG } from '../support/project.js';
import { findAssets, HOW_TO_GET } from './setup/assets.js';
import { type ControlPlane, startControlPlane } from './setup/control-plane.js';
import { until } from './defined-answer.js';
import { ingress, shopObjects } from './shop.js';
import { webhookOf } from './webhook.js';

const assets = findAssets();
const canRun = assets !== undefined && findHaproxy() !== undefined;
if (!canRun)
  process.stderr.write(`test/e2e/cluster.test.ts is left out: it needs haproxy and a control plane; ${HOW_TO_GET}\n`);

(canRun ? describe : describe.skip)('against a real kube-apiserver', () => {
  let plane: ControlPlane;
  let scratch: Scratch;
  let server: ServeProcess;

  beforeAll(async () => {
    if (assets !== undefined) plane = await startControlPlane(assets);
    plane.mustKubectl(['create', 'namespace', 'shop']);
    // The API server gives addresses of its own range.
    const objects = shopObjects().map(
      (object) => JSON.parse(JSON.stringify(object).replace('"clusterIP":"203.0.113.200",', '')) as object,
    );
    expect(apply(...objects)).toMatchObject({ code: 0 });
  }, 120_000);

  afterAll(() => plane.stop());

  beforeEach(async () => {
    scratch = makeScratch('rg-cluster-');
    const output = join(scratch.path, 'out');
    server = await startServe({ config: SHIPPED_CONFIG, output, args: ['--kubeconfig', plane.kubeconfig] });
    await server.published();
    plane.mustKubectl(['apply', '-f', '-'], JSON.stringify(webhookOf(server)));
  });

  afterEach(async () => {
    plane.mustKubectl(['delete', 'validatingwebhookconfiguration', 'rendergate', '--ignore-not-found']);
    await server.stop();
    scratch.remove();
  });

  const file = (name: string): string => readFileSync(join(server.current, name), 'utf8');
  const apply = (...items: readonly object[]): { readonly code: number; readonly text: string } =>
    plane.kubectl(['apply', '-f', '-'], JSON.stringify({ apiVersion: 'v1', kind: 'List', items }));

  it('publishes what the API server holds', () => {
    expect(file('hosts.map')).toContain('stored.example.com');
    expect(file('haproxy.cfg')).toContain('192.0.2.10');
  });

  it('admits a good Ingress, which the watch then brings into the output', async () => {
    const { code, text } = apply(ingress('fresh', { host: 'fresh.example.com' }));
    expect([code, text]).toEqual([0, expect.stringContaining('ingress.networking.k8s.io/fresh created')]);
    await until(() => file('hosts.map').includes('fresh.example.com'));
    plane.mustKubectl(['delete', 'ingress', 'fresh', '-n', 'shop']);
    await until(() => !file('hosts.map').includes('fresh.example.com'));
  });

  it('refuses what the checker refuses, with cause, effect and fix for whoever typed kubectl', () => {
    const slow = ingress('slow', { annotations: { 'rendergate.dev/timeout-server': '5 parsecs' } });
    const { code, text } = apply(slow);
    expect(code).toBe(1);
    expect(text).toContain('admission webhook "validate.rendergate.dev" denied the request');
    expect(text).toContain('metadata.annotations["rendergate.dev/timeout-server"]');
    expect(text).toContain('effect:');
    expect(text).toContain('fix:');
    expect(plane.kubectl(['get', 'ingress', 'slow', '-n', 'shop']).code).toBe(1);
  });

  it('follows on after the API server was killed and has come back', async () => {
    await plane.restartApiserver();
    const renamed = apply(ingress('stored', { host: 'after.example.com' }));
    expect(renamed.code).toBe(0);
    await until(() => file('hosts.map').includes('after.example.com'));
    expect(apply(ingress('stored', { host: 'stored.example.com' })).code).toBe(0);
    await until(() => file('hosts.map').includes('stored.example.com'));
  });
});
