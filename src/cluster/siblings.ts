import { setMaxListeners } from 'node:events';
import { isIP } from 'node:net';
import type { Logger } from 'pino';
import { Agent } from 'undici';
import type { ApiClient } from './api-client.js';

export interface SiblingOptions {
  readonly client: Pick<ApiClient, 'json'>;
  readonly namespace: string;
  /** The Service whose Ready addresses are the siblings and this replica. */
  readonly service: string;
  /** IP address of this replica. Unknown does no harm: asked by itself, it says that it has no graph. */
  readonly ownAddress: string | undefined;
  /** Name that a sibling's certificate has to be valid for: `<service>.<namespace>.svc`. */
  readonly serverName: string;
  /** PEM text of the CAs to trust, as it is now; without one no sibling can be believed. */
  readonly ca: () => string | undefined;
  /** HTTPS port of every replica; 8443 by default. */
  readonly port?: number;
  readonly log: Pick<Logger, 'debug' | 'warn'>;
}

/**
 * What the siblings say of their render graphs. `graph`: a Ready one has published its first; `none`: no other address is
 * Ready, or all say that they have none; `unknown`: nobody says so, and somebody could not be asked.
 */
export interface SiblingReport {
  readonly kind: 'graph' | 'none' | 'unknown';
  /** One line for /readyz. */
  readonly reason: string;
}

interface EndpointSlices {
  readonly items?: readonly { readonly endpoints?: readonly Endpoint[] | null }[] | null;
}

interface Endpoint {
  readonly addresses?: readonly string[];
  readonly conditions?: { readonly ready?: boolean };
}

const HTTPS_PORT = 8443;
/** A replica answers this for itself alone: if it asked its siblings in turn, two cold ones would wait for each other. */
const PATH = '/readyz/render-graph?own';
/** The whole of it; the entry of /readyz has 900 ms. */
const LIMIT_MS = 700;
/** Probes that come closer together than that share an answer. */
const FRESH_MS = 1_000;
/** Calls at once; a webhook with more replicas than this is not to be expected. */
const MOST_SIBLINGS = 32;
const MOST_BODY_BYTES = 512;
const MOST_REASON = 200;

/**
 * Asks the Ready siblings of a cold replica whether one of them has a render graph (decision 0029, 4), each over TLS that
 * is verified by the Service's name. A sibling counts only with the exact answer of `/readyz/render-graph`: `ok` is a graph,
 * `ok: <note>` or a failure is none, and anything else (no connection, another certificate, a redirect, other words) can't
 * rule one out.
 *
 * It can't lock up. A render never waits for readiness, so every replica gets its own graph in the end. Replicas that are
 * cold together are not Ready, so none of them is among the addresses, each reports healthy with a note, and goes on so
 * when they see each other. A replica that was killed may be listed as Ready for a while: that refuses connections, which
 * rules nothing out, and the control plane takes it from the list (at once when its container ends, after the node's grace
 * period of about 50 s when its machine is gone). Nor does a call lead to further calls, see PATH.
 */
export class Siblings {
  #last: { readonly at: number; readonly report: SiblingReport } | undefined;
  #asking: Promise<SiblingReport> | undefined;
  readonly #closing = new AbortController();

  constructor(private readonly options: SiblingOptions) {}

  /** Never rejects, and answers within 700 ms. */
  ask(): Promise<SiblingReport> {
    const { at, report } = this.#last ?? {};
    if (at !== undefined && report !== undefined && performance.now() - at < FRESH_MS) return Promise.resolve(report);
    return (this.#asking ??= this.#askNow().finally(() => (this.#asking = undefined)));
  }

  /** Ends what is being asked. */
  close(): void {
    this.#closing.abort(new Error('this replica is shutting down'));
  }

  async #askNow(): Promise<SiblingReport> {
    const limit = new AbortController();
    // Each call listens to it: Node would take more than ten for a leak.
    setMaxListeners(0, limit.signal);
    const stop = (): void => limit.abort(this.#closing.signal.reason);
    this.#closing.signal.addEventListener('abort', stop);
    if (this.#closing.signal.aborted) stop();
    const timer = setTimeout(() => limit.abort(new Error(`no answer in ${LIMIT_MS} ms`)), LIMIT_MS);
    try {
      const report = await this.#report(limit.signal);
      this.#tell(report);
      this.#last = { at: performance.now(), report };
      return report;
    } finally {
      clearTimeout(timer);
      this.#closing.signal.removeEventListener('abort', stop);
    }
  }

  async #report(signal: AbortSignal): Promise<SiblingReport> {
    try {
      const origins = await this.#readyOrigins(signal);
      return origins.length === 0
        ? { kind: 'none', reason: 'no other replica is Ready' }
        : await this.#reportOf(origins, signal);
    } catch (error) {
      return unknown(`the EndpointSlices of Service ${this.options.service} cannot be read: ${textOf(error)}`);
    }
  }

  /** Where the Ready addresses other than ours listen. Throws what the list fails with, and for an odd address. */
  async #readyOrigins(signal: AbortSignal): Promise<readonly string[]> {
    const { client, namespace, service, ownAddress, port = HTTPS_PORT } = this.options;
    const { items } = await within(
      signal,
      client.json<EndpointSlices>({
        path: `/apis/discovery.k8s.io/v1/namespaces/${namespace}/endpointslices`,
        query: { labelSelector: `kubernetes.io/service-name=${service}` },
        signal,
      }),
    );
    if (!Array.isArray(items)) throw new Error('the answer is no list');
    const endpoints = (items as NonNullable<EndpointSlices['items']>).flatMap((slice) => slice.endpoints ?? []);
    // Not told counts as ready, says the API. More than one address of an endpoint lead to the same place.
    const ready = endpoints.filter(({ conditions }) => conditions?.ready !== false);
    const addresses = ready.flatMap(({ addresses: [first] = [] }) => first ?? []);
    const origins = new Set(addresses.map((address) => originOf(address, port)));
    if (ownAddress !== undefined) origins.delete(originOf(ownAddress, port));
    return [...origins];
  }

  async #reportOf(origins: readonly string[], signal: AbortSignal): Promise<SiblingReport> {
    const ca = this.options.ca();
    if (ca === undefined) return unknown('there is no CA to verify a sibling with');
    // A pool for this question alone: nothing stays open, and a CA that was replaced counts at once.
    const agent = new Agent({
      connect: { ca, servername: this.options.serverName, rejectUnauthorized: true, timeout: LIMIT_MS },
      maxResponseSize: MOST_BODY_BYTES,
    });
    try {
      const asked = origins.slice(0, MOST_SIBLINGS).map((origin) => askOne(agent, origin, signal));
      const graph = await Promise.any(asked.map(withGraph)).catch(() => undefined);
      return graph ?? summary(await Promise.all(asked), origins.length);
    } finally {
      void agent.destroy();
    }
  }

  /** Once for each time that it begins: a role that may not list, or a certificate that does not fit, is to be mended. */
  #tell({ kind, reason }: SiblingReport): void {
    const { log, namespace, service, port = HTTPS_PORT } = this.options;
    const effect = 'this replica is not Ready until its own first render has ended';
    const fix = `if it persists, let the service account list endpointslices in ${namespace}, let the replicas reach port ${port} of each other, and give them certificates of one CA`;
    const isNews = this.#last?.report.kind !== kind && !this.#closing.signal.aborted;
    if (kind !== 'unknown') log.debug({ service, namespace, kind, reason }, 'siblings asked');
    else if (isNews)
      log.warn({ service, namespace, reason, effect, fix }, 'siblings cannot be asked for a render graph');
  }
}

/** Never rejects. */
async function askOne(agent: Agent, origin: string, signal: AbortSignal): Promise<SiblingReport> {
  const name = origin.replace('https://', '');
  try {
    const headers = { 'user-agent': 'rendergate' };
    const text = async (): Promise<string> => {
      const { statusCode, body } = await agent.request({ origin, path: PATH, method: 'GET', headers, signal });
      return `${statusCode} ${await body.text()}`;
    };
    return readingOf(name, await within(signal, text()));
  } catch (error) {
    return unknown(`${name} cannot be asked: ${textOf(error)}`);
  }
}

function readingOf(name: string, answer: string): SiblingReport {
  if (answer === '200 ok') return { kind: 'graph', reason: `${name} has one` };
  if (answer.startsWith('200 ok: ') || answer.startsWith('500 internal server error: '))
    return { kind: 'none', reason: `${name} has none` };
  return unknown(`${name} does not answer as a sibling does (status ${answer.slice(0, 3)})`);
}

async function withGraph(asked: Promise<SiblingReport>): Promise<SiblingReport> {
  const report = await asked;
  if (report.kind !== 'graph') throw new Error(report.reason);
  return report;
}

function summary(answers: readonly SiblingReport[], siblings: number): SiblingReport {
  const silent = answers.find(({ kind }) => kind === 'unknown');
  if (silent !== undefined) return silent;
  if (siblings > answers.length) return unknown(`only ${answers.length} of ${siblings} Ready siblings were asked`);
  return { kind: 'none', reason: `none of the ${siblings} Ready siblings has a graph either` };
}

function unknown(reason: string): SiblingReport {
  return { kind: 'unknown', reason };
}

/** In one form, so that an address equals itself. Throws for what is no IP address: a Pod has one. */
function originOf(address: string, port: number): string {
  const url = `https://${isIP(address) === 6 ? `[${address}]` : address}:${port}`;
  if (isIP(address) === 0 || !URL.canParse(url)) throw new Error(`${JSON.stringify(address)} is no IP address`);
  return new URL(url).origin;
}

/** A request that still connects does not hear of its signal. */
function within<T>(signal: AbortSignal, work: Promise<T>): Promise<T> {
  return new Promise((resolve, reject) => {
    const stop = (): void => reject(signal.reason as Error);
    signal.addEventListener('abort', stop);
    if (signal.aborted) stop();
    work.then(resolve, reject);
  });
}

function textOf(error: unknown): string {
  const text = error instanceof Error ? error.message : String(error);
  return text.slice(0, MOST_REASON);
}
