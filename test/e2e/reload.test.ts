import { type ChildProcess, spawn } from 'node:child_process';
import { cpSync, mkdirSync, readFileSync, renameSync, writeFileSync } from 'node:fs';
import { createServer } from 'node:net';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { Agent, request } from 'undici';
import { findHaproxy } from '../cases/checker-shim.js';
import { type Origin, startOrigin } from '../deploy/origin.js';
import { SHIPPED_CONFIG } from '../support/project.js';
import { makeScratch } from '../support/scratch.js';
import { type ServeProcess, startServe } from '../support/server.js';
import { until } from './defined-answer.js';
import { ingress, shopObjects } from './shop.js';

const haproxy = findHaproxy();
if (haproxy === undefined) process.stderr.write('test/e2e/reload.test.ts is left out: it needs haproxy\n');
const RELOADS = 50;

(haproxy === undefined ? describe.skip : describe)('a HAProxy that is reloaded after each publication', () => {
  const scratch = makeScratch('rg-reload-');
  const [config, resources, output] = ['config', 'resources', 'out'].map((name) => join(scratch.path, name)) as [
    string,
    string,
    string,
  ];
  const socket = join(scratch.path, 'master.sock');
  let origin: Origin;
  let server: ServeProcess;
  let child: ChildProcess;
  let url: string;

  beforeAll(async () => {
    origin = await startOrigin('web');
    const [http, https, status] = [await freePort(), await freePort(), await freePort()];
    url = `http://127.0.0.1:${http}/`;
    cpSync(SHIPPED_CONFIG, config, { recursive: true });
    const file = join(config, 'rendergate.yaml');
    const text = readFileSync(file, 'utf8')
      .replace('"*:8080"', `"127.0.0.1:${http}"`)
      .replace('"*:8443"', `"127.0.0.1:${https}"`)
      .replace('"*:8404"', `"127.0.0.1:${status}"`);
    writeFileSync(file, text);
    mkdirSync(resources);
    const objects = JSON.stringify(shopObjects())
      .replace('"192.0.2.10"', '"127.0.0.1"')
      .replaceAll('"port":8080', `"port":${origin.port}`)
      .replace('"targetPort":8080', `"targetPort":${origin.port}`);
    put('shop.json', { apiVersion: 'v1', kind: 'List', items: JSON.parse(objects) as object });
    server = await startServe({ config, resources, output, args: ['--reload-socket', socket] });
    await server.published();
    child = spawn(haproxy ?? '', ['-W', '-db', '-S', socket, '-C', join(output, 'current'), '-f', 'haproxy.cfg'], {
      stdio: 'ignore',
    });
    await until(async () => (await statusOf('stored.example.com')) === 200);
  }, 60_000);

  afterAll(async () => {
    await server.stop();
    child.kill('SIGKILL');
    origin.close();
    scratch.remove();
  });

  /** Whole or not at all, as an editor writes. */
  const put = (name: string, object: object): void => {
    writeFileSync(join(scratch.path, name), JSON.stringify(object));
    renameSync(join(scratch.path, name), join(resources, name));
  };
  const statusOf = async (host: string, agent = new Agent({ pipelining: 0 })): Promise<number> => {
    const { statusCode, body } = await request(url, { headers: { host }, dispatcher: agent }).catch(() => ({
      statusCode: 0,
      body: undefined,
    }));
    await body?.dump();
    return statusCode;
  };

  it(`serves on without a failed request over ${RELOADS} reloads, each time the newest configuration`, async () => {
    const kept = new Agent({ connections: 4 });
    const fresh = new Agent({ pipelining: 0 });
    const answers = new Map<string, number>();
    let isDone = false;
    const ask = async (agent: Agent, kind: string): Promise<void> => {
      while (!isDone) {
        const answer = await request(url, { headers: { host: 'stored.example.com' }, dispatcher: agent })
          .then(async ({ statusCode, body }) => (await body.dump(), String(statusCode)))
          .catch((error: unknown) => String(error));
        answers.set(`${kind} ${answer}`, (answers.get(`${kind} ${answer}`) ?? 0) + 1);
      }
    };
    const clients = [ask(kept, 'kept'), ask(kept, 'kept'), ask(fresh, 'fresh'), ask(fresh, 'fresh')];
    for (let round = 1; round <= RELOADS; round++) {
      put('changing.json', ingress('changing', { host: `v${round}.example.com` }));
      await until(async () => (await statusOf(`v${round}.example.com`, fresh)) === 200);
    }
    isDone = true;
    await Promise.all(clients);
    expect([...answers.keys()].sort()).toEqual(['fresh 200', 'kept 200']);
    await until(() => server.log.lines.filter((line) => line['msg'] === 'HAProxy reloaded').length >= RELOADS);
  }, 120_000);

  it('that is away is told of, and takes the newest configuration once it is back', async () => {
    const from = server.log.lines.length;
    const ended = new Promise((resolve) => child.once('exit', resolve));
    child.kill('SIGTERM');
    await ended;
    put('changing.json', ingress('changing', { host: 'away.example.com' }));
    const { problem } = await server.log.wait((line) => line['msg'] === 'reload failed', from);
    expect(problem).toContain('HAProxy was not reloaded: ');
    expect((await server.get('/readyz?verbose')).text).toContain('[+]reconcile ok: HAProxy was not reloaded');
    child = spawn(haproxy ?? '', ['-W', '-db', '-S', socket, '-C', join(output, 'current'), '-f', 'haproxy.cfg'], {
      stdio: 'ignore',
    });
    await until(async () => (await statusOf('away.example.com')) === 200);
    await until(async () => !(await server.get('/readyz?verbose')).text.includes('was not reloaded'));
  });
});

async function freePort(): Promise<number> {
  const server = createServer();
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  const address = server.address();
  await new Promise((resolve) => server.close(resolve));
  return typeof address === 'object' && address !== null ? address.port : 0;
}
