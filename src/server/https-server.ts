import { createServer as createHttpServer } from 'node:http';
import type { IncomingMessage, RequestListener, Server as HttpServer, ServerResponse } from 'node:http';
import { createServer as createHttpsServer } from 'node:https';
import type { Server as HttpsServer } from 'node:https';
import type { Socket } from 'node:net';
import { createSecureContext } from 'node:tls';

import type { Logger } from 'pino';

import type { CertificatePair } from '../cluster/certificate-pair.js';
import { handleConnectionErrors } from './connection-errors.js';
import type { HealthCheck, ReviewHandler } from './contract.js';
import { createDrain } from './drain.js';
import type { Drain } from './drain.js';
import { createApp } from './http-app.js';
import type { Metrics } from './metrics.js';

export interface ServerTimeouts {
  /** An idle connection is kept this long. */
  readonly keepAliveMs: number;
  readonly headersMs: number;
  /** From the first byte of a request to the last of its body. */
  readonly requestMs: number;
}

export interface ServerOptions {
  readonly host: string;
  /** 0 takes a free port; so does `healthPort`. */
  readonly port: number;
  readonly healthPort: number;
  readonly tls: CertificatePair;
  readonly maxBodyBytes: number;
  readonly review: ReviewHandler;
  readonly live: readonly HealthCheck[];
  /** A check `shutdown`, which fails while draining, is added. */
  readonly ready: readonly HealthCheck[];
  readonly metrics: Metrics;
  readonly log: Logger;
  /** How long `close` waits for requests in flight. */
  readonly drainMs: number;
  readonly timeouts?: ServerTimeouts;
}

export interface RunningServer {
  readonly port: number;
  readonly healthPort: number;
  /** New handshakes get this pair; open connections stay. Throws, and keeps the old pair, if it can't be used. */
  setTls(tls: CertificatePair): void;
  /** Readiness fails and answers carry `Connection: close`; everything is still served. */
  startDraining(): void;
  /** Takes no new connections, waits for requests in flight, then ends every socket. Never rejects; may be repeated. */
  close(): Promise<void>;
}

/**
 * The API server reuses an idle connection for up to 90 s: ours must live longer, else a call meets a closing socket.
 * Node 20 wants headersTimeout <= requestTimeout (it swaps them otherwise) and does not count idle time in either.
 */
const TIMEOUTS: ServerTimeouts = { keepAliveMs: 125_000, headersMs: 20_000, requestMs: 30_000 };
const HANDSHAKE_TIMEOUT_MS = 10_000;
/** After the last request: time for a connection whose request is just arriving to have it answered. */
const LATE_REQUEST_MS = 100;

/** Listens on both ports, HTTPS first, so that /readyz cannot answer before TLS does (B20). Rejects if a port is taken. */
export async function startServer(options: ServerOptions): Promise<RunningServer> {
  const drain = createDrain();
  const probes = { ...options, ready: [...options.ready, drain.check] };
  const main = createMainServer(options, probes, drain);
  const health = createHealthServer(probes);
  const port = await listen(main.server, options.host, options.port);
  let healthPort: number;
  try {
    healthPort = await listen(health.server, options.host, options.healthPort);
  } catch (error) {
    main.server.close();
    throw error;
  }
  options.log.info({ host: options.host, port, healthPort }, 'listening');

  let closed: Promise<void> | undefined;
  return {
    port,
    healthPort,
    setTls: (tls) => setTls(main.server, tls),
    startDraining: () => drain.start(),
    close: () => (closed ??= closeBoth(main, health, drain, options.drainMs)),
  };
}

/** The plain port alone, for a process that reviews nothing. Rejects if the port is taken. */
export async function startHealthServer(
  options: Probes & Pick<ServerOptions, 'host' | 'healthPort'>,
): Promise<{ readonly healthPort: number; close(): Promise<void> }> {
  const { server, sockets } = createHealthServer(options);
  const healthPort = await listen(server, options.host, options.healthPort);
  return {
    healthPort,
    close: async () => {
      const ended = stopListening(server);
      destroyAll(sockets);
      await ended;
    },
  };
}

interface Listener<S extends HttpServer> {
  readonly server: S;
  /** Every TCP connection, those in the middle of a handshake too (http's own list has only those after it). */
  readonly sockets: ReadonlySet<Socket>;
}

type Probes = Pick<ServerOptions, 'live' | 'ready' | 'metrics' | 'log'>;

function createMainServer(options: ServerOptions, probes: Probes, drain: Drain): Listener<HttpsServer> {
  const arrivals = new WeakMap<IncomingMessage, number>();
  const app = createApp({
    ...pickProbes(probes),
    validate: {
      review: options.review,
      maxBodyBytes: options.maxBodyBytes,
      receivedAt: (req) => arrivals.get(req) ?? performance.now(),
    },
  });
  const onRequest = (req: IncomingMessage, res: ServerResponse): void => {
    arrivals.set(req, performance.now());
    drain.track(res);
    app(req, res);
  };
  const server = createHttpsServer({
    ...contextOptions(options.tls),
    ...timeoutOptions(options.timeouts ?? TIMEOUTS),
    handshakeTimeout: HANDSHAKE_TIMEOUT_MS,
    ALPNProtocols: ['http/1.1'],
  });
  return prepare(server, onRequest, options);
}

function createHealthServer(probes: Probes): Listener<HttpServer> {
  return prepare(createHttpServer(timeoutOptions(TIMEOUTS)), createApp(pickProbes(probes)), probes);
}

/** `checkContinue` comes instead of `request` when a sender asks first whether its body is wanted (curl above 1 MiB). */
function prepare<S extends HttpServer>(server: S, onRequest: RequestListener, { metrics, log }: Probes): Listener<S> {
  const sockets = new Set<Socket>();
  server.on('connection', (socket: Socket) => {
    sockets.add(socket);
    socket.once('close', () => sockets.delete(socket));
  });
  handleConnectionErrors(server, metrics, log);
  server.on('request', onRequest);
  server.on('checkContinue', onRequest);
  return { server, sockets };
}

function pickProbes({ live, ready, metrics, log }: Probes): Probes {
  return { live, ready, metrics, log };
}

function timeoutOptions({ keepAliveMs, headersMs, requestMs }: ServerTimeouts) {
  return {
    keepAliveTimeout: keepAliveMs,
    headersTimeout: headersMs,
    requestTimeout: requestMs,
    // Node looks for late senders at this interval only; its default of 30 s would double the time out.
    connectionsCheckingInterval: Math.min(1000, headersMs),
  };
}

function contextOptions({ cert, key }: CertificatePair) {
  return { cert, key, minVersion: 'TLSv1.2' } as const;
}

function setTls(server: HttpsServer, tls: CertificatePair): void {
  createSecureContext(contextOptions(tls));
  server.setSecureContext(contextOptions(tls));
}

function listen(server: HttpServer, host: string, port: number): Promise<number> {
  return new Promise((resolve, reject) => {
    const onError = (error: NodeJS.ErrnoException): void =>
      reject(new Error(listenFailure(host, port, error), { cause: error }));
    server.once('error', onError);
    server.listen({ host, port }, () => {
      server.off('error', onError);
      const address = server.address();
      resolve(typeof address === 'object' && address !== null ? address.port : port);
    });
  });
}

function listenFailure(host: string, port: number, error: NodeJS.ErrnoException): string {
  const why = error.code === 'EADDRINUSE' ? 'the port is in use' : error.message;
  return `cannot listen on ${host} port ${port}: ${why}; nothing is served; choose another address or end the process there`;
}

/** The probes answer until the reviews are through. */
async function closeBoth(
  main: Listener<HttpServer>,
  health: Listener<HttpServer>,
  drain: Drain,
  drainMs: number,
): Promise<void> {
  drain.start();
  const deadline = performance.now() + drainMs;
  const left = (): number => Math.max(0, deadline - performance.now());
  const ended = stopListening(main.server);
  await drain.settled(left());
  main.server.closeIdleConnections();
  await Promise.race([ended, sleep(Math.min(LATE_REQUEST_MS, left()))]);
  await drain.settled(left());
  destroyAll(main.sockets);
  const healthEnded = stopListening(health.server);
  destroyAll(health.sockets);
  await Promise.all([ended, healthEnded]);
}

function stopListening(server: HttpServer): Promise<void> {
  return new Promise((resolve) => server.close(() => resolve()));
}

function sleep(ms: number): Promise<void> {
  return new Promise((resolve) => setTimeout(resolve, ms));
}

function destroyAll(sockets: ReadonlySet<Socket>): void {
  for (const socket of sockets) socket.destroy();
}
