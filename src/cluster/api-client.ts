import type { RequestOptions } from 'node:https';
import type { Readable } from 'node:stream';
import { KubeConfig } from '@kubernetes/client-node';
import { Agent } from 'undici';
import { apiError } from './api-error.js';

export interface ApiCall {
  readonly method?: 'GET' | 'POST' | 'PUT' | 'PATCH' | 'DELETE';
  readonly path: string;
  readonly query?: Readonly<Record<string, string>>;
  readonly body?: unknown;
  readonly contentType?: string;
  readonly signal?: AbortSignal;
}

export interface ApiClientOptions {
  /** A kubeconfig file; undefined: as kubectl finds it (KUBECONFIG, ~/.kube/config), or the Pod's service account. */
  readonly kubeconfig?: string | undefined;
  readonly context?: string | undefined;
}

type Credentials = Pick<
  RequestOptions,
  'ca' | 'cert' | 'key' | 'servername' | 'rejectUnauthorized' | 'headers' | 'auth'
>;

/** Token files rotate about every hour and are valid for a while longer; exec plugins are not to be started for each call. */
const CREDENTIALS_FOR_MS = 10_000;
const ANSWER_MS = 30_000;

/**
 * Calls of the API server over one pool of kept connections (client-node opens a TLS connection for each call). Only
 * credentials come from client-node; they are read again as they rotate.
 */
export class ApiClient {
  readonly #config: KubeConfig;
  readonly server: string;
  #agent: Agent | undefined;
  #agentOf = '';
  #headers: Record<string, string> = {};
  #readAt = Number.NEGATIVE_INFINITY;

  /** Throws when there is no kubeconfig, or none that can be read, or no such context. */
  constructor({ kubeconfig, context }: ApiClientOptions = {}) {
    this.#config = new KubeConfig();
    if (kubeconfig === undefined) this.#config.loadFromDefault();
    else this.#config.loadFromFile(kubeconfig);
    if (context !== undefined) this.#config.setCurrentContext(context);
    const cluster = this.#config.getCurrentCluster();
    if (cluster === null) {
      const known = this.#config.getContexts().map(({ name }) => name);
      throw new Error(
        `the kubeconfig has no cluster for the context "${this.#config.getCurrentContext()}"; its contexts are: ${known.join(', ') || 'none'}`,
      );
    }
    this.server = cluster.server.replace(/\/+$/, '');
  }

  /** The parsed answer. Throws ApiError for an answer that is no success, and what undici throws when there is none. */
  async json<T>(call: ApiCall): Promise<T> {
    const { statusCode, headers, body } = await this.#send(call, ANSWER_MS);
    const text = await body.text();
    if (statusCode >= 400) throw this.#refused(call, statusCode, text, headers);
    return JSON.parse(text) as T;
  }

  /** The answer's body while it comes. After `silenceMs` without a byte it ends with an error. */
  async stream(call: ApiCall, silenceMs: number): Promise<Readable> {
    const { statusCode, headers, body } = await this.#send(call, silenceMs);
    if (statusCode >= 400) throw this.#refused(call, statusCode, await body.text(), headers);
    return body;
  }

  async close(): Promise<void> {
    await this.#agent?.destroy();
  }

  async #send(call: ApiCall, bodyTimeout: number): ReturnType<Agent['request']> {
    const agent = await this.#connected();
    const { method = 'GET', path, query, body, contentType = 'application/json', signal } = call;
    const base = new URL(this.server);
    return agent.request({
      origin: base.origin,
      path: base.pathname.replace(/\/$/, '') + path,
      method,
      ...(query === undefined ? {} : { query }),
      ...(body === undefined ? {} : { body: JSON.stringify(body) }),
      ...(signal === undefined ? {} : { signal }),
      headers: {
        ...this.#headers,
        accept: 'application/json',
        'user-agent': 'rendergate',
        ...(body === undefined ? {} : { 'content-type': contentType }),
      },
      headersTimeout: ANSWER_MS,
      bodyTimeout,
    });
  }

  #refused(call: ApiCall, status: number, text: string, headers: Record<string, string | string[] | undefined>): Error {
    // Another token may be there already.
    if (status === 401) this.#readAt = Number.NEGATIVE_INFINITY;
    const { 'retry-after': after } = headers;
    return apiError(`${call.method ?? 'GET'} ${call.path}`, status, text, Array.isArray(after) ? after[0] : after);
  }

  async #connected(): Promise<Agent> {
    const now = performance.now();
    if (this.#agent !== undefined && now - this.#readAt < CREDENTIALS_FOR_MS) return this.#agent;
    const { ca, cert, key, servername, rejectUnauthorized, headers, auth }: Credentials = await this.#credentials();
    this.#readAt = now;
    this.#headers = { ...(headers as Record<string, string>), ...basic(auth) };
    const connect = {
      ...(ca === undefined ? {} : { ca: ca as string }),
      ...(cert === undefined ? {} : { cert: cert as string }),
      ...(key === undefined ? {} : { key: key as string }),
      ...(servername === undefined ? {} : { servername }),
      ...(rejectUnauthorized === undefined ? {} : { rejectUnauthorized }),
    };
    const identity = JSON.stringify(Object.values(connect).map(String));
    if (this.#agent === undefined || identity !== this.#agentOf) {
      // Calls that are under way end on the old connections.
      void this.#agent?.close();
      this.#agent = new Agent({ connect: { ...connect, keepAlive: true, timeout: 10_000 } });
      this.#agentOf = identity;
    }
    return this.#agent;
  }

  async #credentials(): Promise<Credentials> {
    const options: RequestOptions = { headers: {} };
    await this.#config.applyToHTTPSOptions(options);
    return options;
  }
}

function basic(auth: string | null | undefined): Record<string, string> {
  return typeof auth === 'string' ? { authorization: `Basic ${Buffer.from(auth).toString('base64')}` } : {};
}
