import { spawn, type ChildProcess } from 'node:child_process';
import { once } from 'node:events';
import { cpSync, readFileSync, realpathSync, writeFileSync } from 'node:fs';
import { createServer, request, type Server } from 'node:http';
import { connect as connectTcp, type AddressInfo, type Socket } from 'node:net';
import { join } from 'node:path';
import { connect as connectTls } from 'node:tls';

import { makeScratch } from '../support/scratch.js';
import type { Scratch } from '../support/scratch.js';
import type { Route } from './case-schema.js';

/** Addresses that stand for the case's servers. */
const SERVER_ADDRESS = /\b192\.0\.2\.\d{1,3}:\d{1,5}\b/g;

/** Directives of the global section that need another user, another place or a terminal. */
const NOT_HERE = /^\s*(?:daemon|master-worker|chroot|user|group|uid|gid|pidfile|log|stats socket)\b.*$/gm;

const START_LIMIT_MS = 10_000;

interface Entrance {
  readonly socket: string;
  readonly tls: boolean;
}

/** Checks routes against a release directory in a real haproxy. Gives one line for each that leads elsewhere. */
export async function judgeRoutes(haproxy: string, release: string, routes: readonly Route[]): Promise<string[]> {
  const scratch = makeScratch('rg-route-');
  const backends = new Map<string, Server>();
  let proxy: RunningProxy | undefined;
  try {
    proxy = await startProxy(haproxy, release, scratch, backends);
    const failures: string[] = [];
    for (const route of routes) {
      const came = await probe(proxy.entrances, route);
      const wanted = route.to.join(' or ');
      if (!route.to.includes(came.to)) {
        failures.push(`routes: ${route.host}${route.path}: expected ${wanted}, got ${came.to} (${came.detail})`);
      }
    }
    return failures;
  } catch (error) {
    return [`routes: ${error instanceof Error ? error.message : String(error)}`];
  } finally {
    proxy?.process.kill('SIGKILL');
    for (const server of backends.values()) server.closeAllConnections();
    for (const server of backends.values()) server.close();
    scratch.remove();
  }
}

interface RunningProxy {
  readonly process: ChildProcess;
  readonly entrances: readonly Entrance[];
}

async function startProxy(
  haproxy: string,
  release: string,
  scratch: Scratch,
  backends: Map<string, Server>,
): Promise<RunningProxy> {
  const directory = join(scratch.path, 'c');
  cpSync(realpathSync(release), directory, { recursive: true });
  const file = join(directory, 'haproxy.cfg');
  const text = readFileSync(file, 'utf8');
  for (const address of new Set(text.match(SERVER_ADDRESS))) backends.set(address, await startBackend(address));
  const entrances: Entrance[] = [];
  writeFileSync(file, rewrite(text, backends, scratch.path, entrances));
  const child = spawn(haproxy, ['-db', '-C', directory, '-f', 'haproxy.cfg'], { stdio: ['ignore', 'ignore', 'pipe'] });
  await untilListening(child, entrances);
  return { process: child, entrances };
}

/** Every server becomes one of ours, every bind line a Unix socket: no port is taken twice on this machine. */
function rewrite(text: string, backends: ReadonlyMap<string, Server>, folder: string, entrances: Entrance[]): string {
  const local = text.replace(NOT_HERE, '').replace(SERVER_ADDRESS, (address) => localAddress(backends, address));
  return local.replace(/^(\s*bind\s+)(?:'[^']*'|"[^"]*"|\S+)(.*)$/gm, (_, start: string, options: string) => {
    const socket = join(folder, `s${entrances.length}`);
    entrances.push({ socket, tls: /\sssl\b/.test(options) });
    return `${start}unix@${socket}${options}`;
  });
}

function localAddress(backends: ReadonlyMap<string, Server>, address: string): string {
  const listening = backends.get(address)?.address() as AddressInfo | null | undefined;
  return listening ? `127.0.0.1:${listening.port}` : address;
}

const MARK = 'x-case-server';

async function startBackend(address: string): Promise<Server> {
  const server = createServer((req, res) => {
    req.resume();
    res.writeHead(200, { [MARK]: address });
    res.end();
  });
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  return server;
}

async function untilListening(child: ChildProcess, entrances: readonly Entrance[]): Promise<void> {
  let said = '';
  child.stderr?.on('data', (chunk: Buffer) => (said += chunk.toString()));
  const ended = once(child, 'exit');
  const deadline = Date.now() + START_LIMIT_MS;
  for (const { socket } of entrances) {
    while (!(await accepts(socket))) {
      const gone = child.exitCode !== null || child.signalCode !== null;
      if (gone || Date.now() > deadline) throw new Error(`haproxy did not start: ${said.slice(0, 1000)}`);
      await Promise.race([ended, new Promise((resolve) => setTimeout(resolve, 20))]);
    }
  }
}

function accepts(socket: string): Promise<boolean> {
  return new Promise((resolve) => {
    const connection = connectTcp(socket);
    const finish = (ok: boolean): void => {
      connection.destroy();
      resolve(ok);
    };
    connection.once('connect', () => finish(true));
    connection.once('error', () => finish(false));
  });
}

interface Came {
  readonly to: string;
  readonly detail: string;
}

/** Which server answers at any plain entrance; a redirect to HTTPS is followed once. */
async function probe(entrances: readonly Entrance[], { host, path }: Route): Promise<Came> {
  const details: string[] = [];
  for (const entrance of entrances.filter(({ tls }) => !tls)) {
    const answer = await get(() => connectTcp(entrance.socket), host, path);
    if (answer.server !== undefined) return { to: answer.server, detail: `HTTP ${answer.status}` };
    details.push(`HTTP ${answer.status}`);
    if (!answer.location?.startsWith(`https://${host}`)) continue;
    const secure = await probeTls(entrances, host, path);
    if (secure !== undefined) return secure;
  }
  return { to: 'none', detail: details.join(', ') };
}

async function probeTls(entrances: readonly Entrance[], host: string, path: string): Promise<Came | undefined> {
  for (const { socket } of entrances.filter(({ tls }) => tls)) {
    const open = (): Socket => connectTls({ path: socket, servername: host, rejectUnauthorized: false });
    const answer = await get(open, host, path).catch(() => undefined);
    if (answer?.server !== undefined) return { to: answer.server, detail: `HTTPS ${answer.status}` };
  }
  return undefined;
}

interface Got {
  readonly status: number;
  readonly server: string | undefined;
  readonly location: string | undefined;
}

function get(createConnection: () => Socket, host: string, path: string): Promise<Got> {
  return new Promise((resolve, reject) => {
    // A path that node would refuse to send is sent as browsers send it.
    const target = encodeURI(decodeQuietly(path));
    const req = request({ createConnection, path: target, headers: { host, connection: 'close' } }, (res) => {
      res.resume();
      const mark = res.headers[MARK];
      const server = typeof mark === 'string' ? mark : undefined;
      resolve({ status: res.statusCode ?? 0, server, location: res.headers.location });
    });
    req.once('error', reject);
    req.end();
  });
}

function decodeQuietly(path: string): string {
  try {
    return decodeURI(path);
  } catch {
    return path;
  }
}
