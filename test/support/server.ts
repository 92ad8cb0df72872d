import { spawn, type ChildProcess } from 'node:child_process';
import { once } from 'node:events';
import { readFileSync } from 'node:fs';
import { PassThrough } from 'node:stream';

import { developmentCertificate } from '../../src/server/development-certificate.js';
import { HttpsClient } from './https-client.js';
import type { HttpAnswer, HttpCall } from './https-client.js';
import { LogLines } from './log-lines.js';
import type { LogLine } from './log-lines.js';
import { CLI } from './project.js';
import { makeScratch } from './scratch.js';

export interface ServeOptions {
  /** Path of the RenderConfig document. */
  readonly config: string;
  /** Undefined with `--kubeconfig` among the arguments. */
  readonly resources?: string;
  /** Where releases go; `current` in it is the published one. */
  readonly output: string;
  /** Temporary files of the process, so that they go away with the test. */
  readonly tmp?: string;
  /** Default: one pair for all servers of this test process, since making one takes a while. */
  readonly certs?: string;
  readonly env?: Readonly<Record<string, string>>;
  /** Further arguments of `serve`. */
  readonly args?: readonly string[];
}

export interface ServeProcess {
  readonly pid: number;
  /** Where to reach it. */
  readonly host: string;
  readonly port: number;
  readonly healthPort: number;
  readonly ca: string;
  /** The published release. */
  readonly current: string;
  readonly log: LogLines;
  send(call: HttpCall): Promise<HttpAnswer>;
  /** Posts one AdmissionReview; `timeout` becomes `?timeout=`. */
  post(review: unknown, timeout?: string): Promise<HttpAnswer>;
  /** GET on the plain port: `/readyz`, `/livez`, `/metrics`. */
  get(path: string): Promise<{ readonly status: number; readonly text: string }>;
  /** Resolves when the first render is published. */
  published(): Promise<LogLine>;
  /** Newest revision of the log; -1 when nothing was reconciled yet. */
  revision(): number;
  /** Resolves with the first finished reconcile of a newer revision. */
  reconciledAfter(revision: number): Promise<LogLine>;
  /** SIGKILL by default: tests own all that the process leaves behind. Gives the exit code, or null after a signal. */
  stop(signal?: NodeJS.Signals): Promise<number | null>;
}

/** Starts the built `rendergate serve` and resolves when it listens; the first render may still be under way. */
export async function startServe(options: ServeOptions): Promise<ServeProcess> {
  const certs = options.certs ?? (await sharedCertificates());
  const child = spawn(process.execPath, [CLI, ...serveArguments(options, certs)], {
    env: { ...process.env, NODE_OPTIONS: '', ...(options.tmp && { TMPDIR: options.tmp }), ...options.env },
    stdio: ['ignore', 'pipe', 'pipe'],
  });
  const log = collectLog(child);
  try {
    const line = await log.wait((entry) => entry['msg'] === 'listening' && typeof entry['port'] === 'number');
    return describe(child, log, line, options, certs);
  } catch (error) {
    child.kill('SIGKILL');
    throw error;
  }
}

function serveArguments(options: ServeOptions, certs: string): string[] {
  const { config, resources, output, args = [] } = options;
  const from = resources === undefined ? [] : ['--resources', resources];
  const paths = ['--config', config, ...from, '--output', output, '--certs', certs];
  return ['serve', ...paths, '--port', '0', '--health-port', '0', ...args];
}

/** Both streams into one log, in the order of their arrival. */
function collectLog(child: ChildProcess): LogLines {
  const both = new PassThrough();
  child.stdout?.pipe(both, { end: false });
  child.stderr?.pipe(both, { end: false });
  const log = new LogLines(both);
  child.once('error', (error) => log.end(`the process did not start: ${error.message}`));
  child.once('close', (code, signal) => {
    both.end();
    setImmediate(() => log.end(`the process ended with ${signal ?? `exit code ${code}`}`));
  });
  return log;
}

function describe(child: ChildProcess, log: LogLines, line: LogLine, options: ServeOptions, certs: string) {
  const port = Number(line['port']);
  const healthPort = Number(line['healthPort']);
  const ca = typeof line['ca'] === 'string' ? line['ca'] : `${certs}/ca.crt`;
  // By default it listens on all addresses.
  const host = String(line['host']).replace('0.0.0.0', '127.0.0.1');
  const client = new HttpsClient(port, readFileSync(ca), host);
  const server: ServeProcess = {
    pid: child.pid ?? 0,
    host,
    port,
    healthPort,
    ca,
    current: `${options.output}/current`,
    log,
    send: (call) => client.send(call),
    post: (review, timeout) => client.send({ path: validatePath(timeout), body: JSON.stringify(review) }),
    get: (path) => getPlain(host, healthPort, path),
    published: () => log.wait((entry) => entry['msg'] === 'published'),
    revision: () => Math.max(-1, ...log.lines.filter(isReconcile).map(revisionOf)),
    reconciledAfter: (revision) => log.wait((entry) => isReconcile(entry) && revisionOf(entry) > revision),
    stop: (signal) => stop(child, client, signal),
  };
  return server;
}

export function validatePath(timeout: string | undefined): string {
  return timeout === undefined ? '/validate' : `/validate?timeout=${encodeURIComponent(timeout)}`;
}

function isReconcile(line: LogLine): boolean {
  return line['msg'] === 'published' || line['msg'] === 'reconciled';
}

function revisionOf(line: LogLine): number {
  return Number(line['revision']);
}

async function getPlain(host: string, port: number, path: string): Promise<{ status: number; text: string }> {
  const answer = await fetch(`http://${host}:${port}${path}`);
  return { status: answer.status, text: await answer.text() };
}

async function stop(child: ChildProcess, client: HttpsClient, signal: NodeJS.Signals = 'SIGKILL') {
  client.close();
  if (child.exitCode !== null || child.signalCode !== null) return child.exitCode;
  const ended = once(child, 'close');
  child.kill(signal);
  await ended;
  return child.exitCode;
}

let certificates: Promise<string> | undefined;

function sharedCertificates(): Promise<string> {
  return (certificates ??= makeCertificates());
}

async function makeCertificates(): Promise<string> {
  const scratch = makeScratch('rg-certs-');
  process.once('exit', () => scratch.remove());
  await developmentCertificate(scratch.path, []);
  return scratch.path;
}
