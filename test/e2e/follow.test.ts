import { spawn, type ChildProcess } from 'node:child_process';
import { once } from 'node:events';
import { existsSync, readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, it } from '@jest/globals';
import { findHaproxy } from '../cases/checker-shim.js';
import { LogLines } from '../support/log-lines.js';
import { CLI, SHIPPED_CONFIG } from '../support/project.js';
import { makeScratch, type Scratch } from '../support/scratch.js';
import { type ServeProcess, startServe } from '../support/server.js';
import { until } from './defined-answer.js';
import { findAssets, HOW_TO_GET } from './setup/assets.js';
import { type ControlPlane, startControlPlane } from './setup/control-plane.js';
import { ingress, shopObjects } from './shop.js';

const assets = findAssets();
const canRun = assets !== undefined && findHaproxy() !== undefined;
if (!canRun)
  process.stderr.write(`test/e2e/follow.test.ts is left out: it needs haproxy and a control plane; ${HOW_TO_GET}\n`);

(canRun ? describe : describe.skip)('a follower of published Secrets', () => {
  let plane: ControlPlane;
  let scratch: Scratch;
  let server: ServeProcess;
  const children: ChildProcess[] = [];

  beforeAll(async () => {
    if (assets !== undefined) plane = await startControlPlane(assets);
    plane.mustKubectl(['create', 'namespace', 'shop']);
    plane.mustKubectl(['create', 'namespace', 'rendergate']);
    for (const object of shopObjects())
      apply(JSON.parse(JSON.stringify(object).replace('"clusterIP":"203.0.113.200",', '')) as object);
  }, 120_000);

  afterAll(() => plane.stop());

  beforeEach(async () => {
    scratch = makeScratch('rg-follow-');
    server = await serve();
    await server.published();
  });

  afterEach(async () => {
    await server.stop();
    for (const child of children.splice(0)) if (child.exitCode === null) child.kill('SIGKILL');
    scratch.remove();
  });

  const serve = (): Promise<ServeProcess> =>
    startServe({
      config: SHIPPED_CONFIG,
      output: join(scratch.path, 'out'),
      args: ['--kubeconfig', plane.kubeconfig, '--publish-secret', 'rendergate-published'],
    });
  const apply = (object: object): string => plane.mustKubectl(['apply', '-f', '-'], JSON.stringify(object));
  const followed = join('followed', 'current');
  const follow = (...args: string[]): { child: ChildProcess; log: LogLines } => {
    const output = join(scratch.path, 'followed');
    const flags = ['--kubeconfig', plane.kubeconfig, '--output', output, '--health-port', '0', ...args];
    const child = spawn(process.execPath, [CLI, 'follow', ...flags], { stdio: ['ignore', 'pipe', 'inherit'] });
    children.push(child);
    return { child, log: new LogLines(child.stdout) };
  };
  const texts = (folder: string): Readonly<Record<string, string>> => {
    const names = readdirSync(folder, { recursive: true, withFileTypes: true }).filter((entry) => entry.isFile());
    return Object.fromEntries(
      names.map(({ name, parentPath }) => [
        join(parentPath, name).slice(folder.length),
        readFileSync(join(parentPath, name), 'utf8'),
      ]),
    );
  };
  const same = (): boolean => {
    const path = join(scratch.path, followed);
    return existsSync(path) && JSON.stringify(texts(path)) === JSON.stringify(texts(server.current));
  };
  const holds = (host: string): boolean =>
    readFileSync(join(scratch.path, followed, 'hosts.map'), 'utf8').includes(host);

  it('has once what was published, byte for byte, and ends', async () => {
    const { child } = follow('--once');
    const [code] = (await once(child, 'exit')) as [number];
    expect(code).toBe(0);
    expect(same()).toBe(true);
  });

  it('follows each change, and says over HTTP what it runs', async () => {
    const { log } = follow();
    const { healthPort } = await log.wait((line) => line['msg'] === 'listening');
    apply(ingress('next', { host: 'next.example.com' }));
    await until(() => existsSync(join(scratch.path, followed)) && holds('next.example.com'));
    await until(same);
    const digest = plane.mustKubectl([
      'get',
      'secret',
      'rendergate-published',
      '-n',
      'rendergate',
      '-o',
      'jsonpath={.data.index\\.json}',
    ]);
    const index = JSON.parse(Buffer.from(digest, 'base64').toString('utf8')) as { readonly digest: string };
    await until(async () => (await ready(Number(healthPort))).includes(index.digest.slice(0, 16)));
    plane.mustKubectl(['delete', 'ingress', 'next', '-n', 'shop']);
    await until(() => !holds('next.example.com'));
    const left = plane.mustKubectl(['get', 'secrets', '-n', 'rendergate', '-o', 'name']).trim().split('\n');
    expect(left.length).toBeLessThanOrEqual(3);
  });

  it('keeps what it has while an index names what is not there, and while nobody answers', async () => {
    const { log } = follow();
    await until(() => existsSync(join(scratch.path, followed)));
    await server.stop();
    const before = texts(join(scratch.path, followed));
    const index = { occurrence: 'torn', digest: 'f'.repeat(64), parts: 1 };
    const data = { 'index.json': Buffer.from(JSON.stringify(index)).toString('base64') };
    plane.mustKubectl([
      'patch',
      'secret',
      'rendergate-published',
      '-n',
      'rendergate',
      '--type=merge',
      '-p',
      JSON.stringify({ data }),
    ]);
    await log.wait((line) => line['msg'] === 'occurrence not taken');
    await plane.restartApiserver();
    expect(texts(join(scratch.path, followed))).toEqual(before);
    // A publisher that starts anew mends it.
    server = await serve();
    apply(ingress('mended', { host: 'mended.example.com' }));
    await until(() => holds('mended.example.com'));
    plane.mustKubectl(['delete', 'ingress', 'mended', '-n', 'shop']);
  });
});

async function ready(port: number): Promise<string> {
  return (await fetch(`http://127.0.0.1:${port}/readyz?verbose`)).text();
}
