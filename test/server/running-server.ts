import { mkdtempSync, rmSync } from 'node:fs';
import { request as httpsRequest, Agent } from 'node:https';
import type { IncomingHttpHeaders } from 'node:http';
import type { Socket } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { connect } from 'node:tls';
import type { TLSSocket } from 'node:tls';

import { pino } from 'pino';
import type { Logger } from 'pino';

import type { ReviewCall, ReviewReply } from '../../src/server/contract.js';
import { developmentCertificate } from '../../src/server/development-certificate.js';
import type { IssuedCertificate } from '../../src/cluster/issue-certificate.js';
import { startServer } from '../../src/server/https-server.js';
import type { RunningServer, ServerOptions } from '../../src/server/https-server.js';
import { createMetrics } from '../../src/server/metrics.js';
import type { Metrics } from '../../src/server/metrics.js';

export const MAX_BODY_BYTES = 7 * 1024 * 1024;
export const REPLY: ReviewReply = {
  status: 200,
  body: '{"apiVersion":"admission.k8s.io/v1","kind":"AdmissionReview"}',
};

/** Where requests go, and whom they trust. */
export interface Endpoint {
  readonly url: string;
  readonly tls: { readonly ca: string };
}

export interface TestServer extends Endpoint {
  readonly server: RunningServer;
  readonly tls: IssuedCertificate;
  readonly metrics: Metrics;
  readonly log: readonly Record<string, unknown>[];
  readonly healthUrl: string;
  /** Every call that reached the review handler. */
  readonly calls: readonly ReviewCall[];
}

export function scratchDirectory(): { readonly path: string; remove(): void } {
  const path = mkdtempSync(join(tmpdir(), 'rendergate-server-'));
  return { path, remove: () => rmSync(path, { recursive: true, force: true }) };
}

export function recordingLog(lines: Record<string, unknown>[]): Logger {
  return pino({ level: 'debug' }, { write: (line: string) => lines.push(JSON.parse(line)) });
}

let certificate: Promise<IssuedCertificate> | undefined;

/** One certificate for a whole test file: making one takes a while. */
function sharedCertificate(): Promise<IssuedCertificate> {
  return (certificate ??= freshCertificate());
}

export async function freshCertificate(): Promise<IssuedCertificate> {
  const scratch = scratchDirectory();
  try {
    return await developmentCertificate(scratch.path, []);
  } finally {
    scratch.remove();
  }
}

export async function startTestServer(changes: Partial<ServerOptions> = {}): Promise<TestServer> {
  const tls = await sharedCertificate();
  const metrics = createMetrics();
  const log: Record<string, unknown>[] = [];
  const calls: ReviewCall[] = [];
  const { review = () => Promise.resolve(REPLY), ...rest } = changes;
  const server = await startServer({
    host: '127.0.0.1',
    port: 0,
    healthPort: 0,
    tls,
    maxBodyBytes: MAX_BODY_BYTES,
    live: [],
    ready: [],
    metrics,
    log: recordingLog(log),
    drainMs: 10_000,
    ...rest,
    review: (call) => {
      calls.push(call);
      return review(call);
    },
  });
  const url = `https://127.0.0.1:${server.port}`;
  return { server, tls, metrics, log, url, healthUrl: `http://127.0.0.1:${server.healthPort}`, calls };
}

export interface Answer {
  readonly status: number;
  readonly headers: IncomingHttpHeaders;
  readonly text: string;
  /** The client's port: equal for two answers that came over one connection. */
  readonly localPort: number | undefined;
}

export interface Post {
  readonly path?: string;
  readonly method?: string;
  readonly headers?: Readonly<Record<string, string>>;
  readonly body?: string | Buffer;
  readonly agent?: Agent;
}

/** One request over HTTPS that trusts the test's CA alone. The body goes with Content-Length unless headers say else. */
export function send(
  to: Endpoint,
  { path = '/validate', method = 'POST', headers, body, agent }: Post,
): Promise<Answer> {
  return new Promise((resolve, reject) => {
    const type = { 'content-type': 'application/json', ...headers };
    const options = { method, headers: type, ca: to.tls.ca, agent: agent ?? new Agent() };
    const req = httpsRequest(to.url + path, options, (res) => {
      const chunks: Buffer[] = [];
      const localPort = res.socket.localPort;
      res.on('data', (chunk: Buffer) => chunks.push(chunk));
      res.on('error', reject);
      res.on('end', () => {
        resolve({
          status: res.statusCode ?? 0,
          headers: res.headers,
          text: Buffer.concat(chunks).toString(),
          localPort,
        });
      });
    });
    req.on('error', reject);
    req.end(body);
  });
}

export function openTls(
  to: TestServer,
  options: { readonly ALPNProtocols?: string[]; readonly ca?: string } = {},
): TLSSocket {
  return connect({ host: '127.0.0.1', port: to.server.port, ca: to.tls.ca, ...options });
}

/** Everything that comes until the other side ends or resets the connection. */
export function readAll(socket: Socket): Promise<string> {
  return new Promise((resolve) => {
    let text = '';
    socket.on('data', (chunk: Buffer) => (text += chunk.toString('latin1')));
    socket.on('error', () => undefined);
    socket.once('close', () => resolve(text));
  });
}

export interface Gate {
  readonly opened: Promise<void>;
  open(): void;
}

export function createGate(): Gate {
  let open: () => void = () => undefined;
  const opened = new Promise<void>((resolve) => (open = resolve));
  return { opened, open: () => open() };
}

/** Waits for a condition; the test's own time limit is the only one. */
export async function until(condition: () => boolean | Promise<boolean>): Promise<void> {
  while (!(await condition())) await new Promise((resolve) => setTimeout(resolve, 5));
}

export async function metricLines(metrics: Metrics, name: string): Promise<readonly string[]> {
  const text = await metrics.registry.metrics();
  return text.split('\n').filter((line) => line.startsWith(name));
}
