import { readFileSync, statSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';

import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';

import { haproxyRefuses } from '../cases/always.js';
import { findHaproxy } from '../cases/checker-shim.js';
import { badIngress, shopObjects } from '../e2e/shop.js';
import { PROJECT_ROOT } from '../support/project.js';
import { makeScratch } from '../support/scratch.js';
import { manifests, rendergate, withoutHaproxy } from './run-cli.js';

const scratch = makeScratch('rg-cli-');
let resources: string;

beforeAll(() => {
  resources = manifests(join(scratch.path, 'resources'), shopObjects());
});

afterAll(() => scratch.remove());

describe('rendergate', () => {
  it('shows its commands with --help, and the options of one', async () => {
    const root = await rendergate(['--help']);
    expect(root).toMatchObject({ code: 0, stderr: '' });
    for (const command of ['serve', 'review', 'render', 'demo'])
      expect(root.stdout).toMatch(new RegExp(`^  ${command}\\b`, 'm'));
    const review = await rendergate(['review', '--help']);
    expect(review.code).toBe(0);
    expect(review.stdout).toMatch(/Exit code\s0\sallowed,\s1\sdenied,\s2\snot\sjudged\sor\smisused/);
  });

  it('shows its version', async () => {
    const { version } = JSON.parse(readFileSync(join(PROJECT_ROOT, 'package.json'), 'utf8')) as { version: string };
    expect(await rendergate(['--version'])).toEqual({ code: 0, stdout: `${version}\n`, stderr: '' });
  });

  it.each<[readonly string[], RegExp]>([
    [[], /Usage: rendergate/],
    [['revue'], /unknown command 'revue'/],
    [['serve', '--port', '99999'], /give a port from 0 to 65535/],
    [['serve', '--port', 'x'], /give a port/],
    [['serve', '--propagation', 'soon'], /give seconds from 0 to 3600/],
    [['serve', '--log-level', 'loud'], /debug, info, warn, error/],
    [['serve', '--service', 'a,b=c'], /give a name of small letters/],
    [['serve', '--namespace', '../x'], /give a name of small letters/],
    [['render'], /--output/],
  ])('called as %j exits with 2 and says how it is called', async (args, said) => {
    const { code, stderr } = await rendergate(args);
    expect(code).toBe(2);
    expect(stderr).toMatch(said);
  });

  it('serves nothing with half of a certificate pair, or with one that cannot be read', async () => {
    const serve = [
      'serve',
      '--resources',
      resources,
      '--port',
      '0',
      '--health-port',
      '0',
      '--output',
      join(scratch.path, 'o'),
    ];
    const half = await rendergate([...serve, '--tls-cert', 'x.pem']);
    expect(half.code).toBe(2);
    expect(half.stderr).toContain('--tls-cert and --tls-key go together');
    const missing = await rendergate([...serve, '--tls-cert', '/nowhere.pem', '--tls-key', '/nowhere.key']);
    expect(missing.code).not.toBe(0);
    expect(missing.stderr).toContain('/nowhere');
    expect(missing.stderr).not.toMatch(/\n\s+at /);
  });

  it.each<[readonly string[], RegExp]>([
    [[], /--service needs --kube/],
    [['--kubeconfig', 'KUBECONFIG', '--port', '0'], /--service needs a fixed --port/],
  ])('serves nothing with siblings that it could not find: %j', async (args, said) => {
    const kubeconfig = join(scratch.path, 'kubeconfig');
    const cluster = { name: 'c', cluster: { server: 'http://127.0.0.1:9' } };
    const contexts = [{ name: 'c', context: { cluster: 'c', user: 'u' } }];
    writeFileSync(kubeconfig, JSON.stringify({ 'current-context': 'c', contexts, clusters: [cluster] }));
    const given = args.map((arg) => (arg === 'KUBECONFIG' ? kubeconfig : arg));
    const places = ['--certs', join(scratch.path, 'certs'), '--output', join(scratch.path, 'o')];
    const { code, stderr } = await rendergate(['serve', '--service', 'rendergate', ...places, ...given]);
    expect(code).toBe(2);
    expect(stderr).toMatch(said);
  });
});

describe('rendergate render', () => {
  const render = (from: string, to: string, env = {}): ReturnType<typeof rendergate> =>
    rendergate(['render', '--resources', from, '-o', join(scratch.path, to)], { env });

  it('writes files that HAProxy takes, and exits with 0', async () => {
    const { code, stdout, stderr } = await render(resources, 'good');
    expect([code, stderr]).toEqual([0, '']);
    expect(stdout).toMatch(/^\d+ files written to .*good\n$/);
    expect(await haproxyRefuses(findHaproxy() ?? 'haproxy', join(scratch.path, 'good'))).toBeUndefined();
    expect(readFileSync(join(scratch.path, 'good/hosts.map'), 'utf8')).toContain('stored.example.com');
  });

  it('names an object that had to be left out, and exits with 1', async () => {
    const folder = manifests(join(scratch.path, 'with-bad'), [...shopObjects(), badIngress('bad')]);
    const { code, stderr } = await render(folder, 'partly');
    expect(code).toBe(1);
    expect(stderr).toMatch(/warning: ingresses shop\/bad is left out: .*timeout-server/);
    expect(await haproxyRefuses(findHaproxy() ?? 'haproxy', join(scratch.path, 'partly'))).toBeUndefined();
  });

  it('writes unchecked files without haproxy, says how to get it, and exits with 2', async () => {
    const { code, stderr } = await render(resources, 'unchecked', withoutHaproxy());
    expect(code).toBe(2);
    expect(stderr).toMatch(/not checked: .*apt-get install haproxy/);
  });

  it('passes over a manifest that does not parse, and names it', async () => {
    const folder = manifests(join(scratch.path, 'with-broken'), shopObjects());
    writeFileSync(join(folder, 'broken.yaml'), 'a: [');
    const { code, stderr } = await render(folder, 'rest');
    expect(code).toBe(0);
    expect(stderr).toContain('broken.yaml');
  });

  it('takes the mode of a file that was readable for all away, when it is sensitive', async () => {
    const config = join(scratch.folder('sensitive'), 'rendergate.yaml');
    writeFileSync(
      config,
      `apiVersion: rendergate.dev/v1alpha1
kind: RenderConfig
metadata: { name: x }
spec:
  watchedResources:
    ingresses: { apiVersion: networking.k8s.io/v1, kind: Ingress, resource: ingresses, indexBy: ["$.metadata.namespace"], review: true }
  components:
    one: { sources: [ingresses], group: lines, kind: text, template: "<%= item.metadata.name %>" }
  outputs:
    haproxy.cfg: { kind: text, sensitive: true, template: "<%~ group('lines') %>" }
  check: { command: ["true"] }
`,
    );
    const file = join(scratch.folder('there'), 'haproxy.cfg');
    writeFileSync(file, 'old', { mode: 0o644 });
    const { code } = await rendergate([
      'render',
      '--config',
      config,
      '--resources',
      resources,
      '-o',
      join(scratch.path, 'there'),
    ]);
    expect([code, readFileSync(file, 'utf8'), statSync(file).mode & 0o777]).toEqual([0, 'stored\n', 0o600]);
  });
});
