import { execFile, spawn, type ChildProcess } from 'node:child_process';
import { once } from 'node:events';
import { mkdirSync, writeFileSync } from 'node:fs';
import { request as httpRequest, type IncomingMessage } from 'node:http';
import { request as httpsRequest } from 'node:https';
import { join } from 'node:path';
import { setTimeout as delay } from 'node:timers/promises';
import { promisify } from 'node:util';
import { stringify } from 'yaml';

import { findHaproxy } from '../cases/checker-shim.js';
import { copyConfig } from '../cases/config-copy.js';
import { CLI } from '../support/project.js';
import { makeScratch } from '../support/scratch.js';
import { freePorts } from './origin.js';

export interface Answer {
  readonly status: number;
  readonly headers: IncomingMessage['headers'];
  readonly text: string;
}

export interface Ask {
  readonly host: string;
  readonly path?: string;
  readonly method?: string;
  readonly headers?: Readonly<Record<string, string>>;
  readonly body?: string;
  /** Over TLS, with the host as SNI; `ca` is what is trusted. */
  readonly ca?: string;
}

/** A real HAProxy that serves what rendergate rendered for some objects. */
export interface Site {
  ask(ask: Ask): Promise<Answer>;
  close(): Promise<void>;
}

/** Renders the objects with the shipped configuration by the real command and serves them with the real HAProxy. */
export async function openSite(objects: readonly object[], features: readonly string[] = []): Promise<Site> {
  const scratch = makeScratch('rg-site-');
  const [http = 0, https = 0, status = 0] = await freePorts(3);
  const bind = { http: [`127.0.0.1:${http}`], https: [`127.0.0.1:${https}`], options: [] };
  const config = copyConfig(scratch.folder('config'), {
    features,
    values: [
      [['extraContext', 'bind'], bind],
      [['extraContext', 'status'], { bind: `127.0.0.1:${status}`, page: true }],
      [['extraContext', 'defaults', 'retries'], 0],
    ],
  });
  const resources = scratch.folder('resources');
  writeFileSync(join(resources, 'objects.yaml'), objects.map((object) => stringify(object)).join('---\n'));
  const output = join(scratch.path, 'output');
  mkdirSync(output);
  await render(config.path, resources, output);
  const haproxy = spawn(findHaproxy() ?? 'haproxy', ['-db', '-C', output, '-f', 'haproxy.cfg'], {
    stdio: ['ignore', 'ignore', 'pipe'],
  });
  const close = async (): Promise<void> => {
    haproxy.kill('SIGKILL');
    await once(haproxy, 'exit');
    scratch.remove();
  };
  await untilHealthy(haproxy, status);
  return { ask: (ask) => send(ask, ask.ca === undefined ? http : https), close };
}

async function render(config: string, resources: string, output: string): Promise<void> {
  const words = ['render', '--config', config, '--resources', resources, '-o', output];
  const { stderr } = await promisify(execFile)(process.execPath, [CLI, ...words]);
  if (stderr !== '') throw new Error(`render warned: ${stderr}`);
}

async function untilHealthy(haproxy: ChildProcess, port: number): Promise<void> {
  let said = '';
  haproxy.stderr?.on('data', (data: Buffer) => (said += data.toString()));
  while (haproxy.exitCode === null) {
    const answer = await send({ host: 'localhost', path: '/healthz' }, port).catch(() => undefined);
    if (answer?.status === 200) return;
    await delay(20);
  }
  throw new Error(`HAProxy ended: ${said}`);
}

async function send(ask: Ask, port: number): Promise<Answer> {
  const { host, path = '/', method = 'GET', headers, body, ca } = ask;
  const options = { host: '127.0.0.1', port, path, method, headers: { host, ...headers }, agent: false } as const;
  const request = ca === undefined ? httpRequest(options) : httpsRequest({ ...options, ca, servername: host });
  request.end(body);
  const [response] = (await once(request, 'response')) as [IncomingMessage];
  const parts: Buffer[] = [];
  for await (const part of response) parts.push(part as Buffer);
  return { status: response.statusCode ?? 0, headers: response.headers, text: Buffer.concat(parts).toString() };
}
