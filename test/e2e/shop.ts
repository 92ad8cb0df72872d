import { randomBytes, randomUUID } from 'node:crypto';
import { join } from 'node:path';

import { fields } from '../cases/answer.js';
import type { CheckerStandIn, KubernetesObject } from '../cases/case-schema.js';
import { CheckerShim, findHaproxy } from '../cases/checker-shim.js';
import { copyConfig } from '../cases/config-copy.js';
import { pluralOf } from '../cases/review-request.js';
import { StoredObjects } from '../cases/stored-objects.js';
import type { HttpAnswer } from '../support/https-client.js';
import type { LogLine } from '../support/log-lines.js';
import { makeScratch } from '../support/scratch.js';
import { startServe } from '../support/server.js';
import type { ServeProcess } from '../support/server.js';

/** A part of a Secret that nobody may ever get to see. */
export const CANARY = `canary-${randomBytes(24).toString('hex')}`;

/** A small cluster: one class, one Service with an endpoint, one Ingress, one Secret. */
export function shopObjects(): KubernetesObject[] {
  return [
    {
      apiVersion: 'networking.k8s.io/v1',
      kind: 'IngressClass',
      metadata: { name: 'haproxy' },
      spec: { controller: 'rendergate.dev/haproxy' },
    },
    {
      apiVersion: 'v1',
      kind: 'Service',
      metadata: { name: 'web', namespace: 'shop' },
      spec: {
        type: 'ClusterIP',
        clusterIP: '203.0.113.200',
        ports: [{ name: 'http', port: 80, targetPort: 8080, protocol: 'TCP' }],
      },
    },
    {
      apiVersion: 'discovery.k8s.io/v1',
      kind: 'EndpointSlice',
      metadata: { name: 'web-x1', namespace: 'shop', labels: { 'kubernetes.io/service-name': 'web' } },
      addressType: 'IPv4',
      ports: [{ name: 'http', port: 8080, protocol: 'TCP' }],
      endpoints: [{ addresses: ['192.0.2.10'], conditions: { ready: true, serving: true, terminating: false } }],
    },
    {
      apiVersion: 'v1',
      kind: 'Secret',
      metadata: { name: 'safe', namespace: 'shop' },
      type: 'Opaque',
      data: { token: base64(CANARY) },
    },
    ingress('stored', { host: 'stored.example.com' }),
  ];
}

export function base64(text: string): string {
  return Buffer.from(text).toString('base64');
}

export const MIB = 1024 * 1024;

/** A body of so many bytes that is made while it is sent. */
export function* filler(bytes: number): Generator<Buffer> {
  const block = Buffer.alloc(64 * 1024, 'x');
  for (let left = bytes; left > 0; left -= block.length) yield block.subarray(0, Math.min(left, block.length));
}

export interface IngressParts {
  readonly host?: string;
  readonly service?: string;
  readonly annotations?: Readonly<Record<string, string>>;
  readonly metadata?: Readonly<Record<string, unknown>>;
  readonly spec?: Readonly<Record<string, unknown>>;
}

/** A good Ingress of namespace shop, unless the parts say otherwise. */
export function ingress(name: string, parts: IngressParts = {}): KubernetesObject {
  const { host = `${name}.example.com`, service = 'web', annotations, metadata, spec } = parts;
  const backend = { service: { name: service, port: { number: 80 } } };
  return {
    apiVersion: 'networking.k8s.io/v1',
    kind: 'Ingress',
    metadata: {
      name,
      namespace: 'shop',
      creationTimestamp: '2026-04-20T10:15:00Z',
      ...(annotations && { annotations }),
      ...metadata,
    },
    spec: {
      ingressClassName: 'haproxy',
      rules: [{ host, http: { paths: [{ path: '/', pathType: 'Prefix', backend }] } }],
      ...spec,
    },
  };
}

/** An Ingress that the checker refuses. */
export function badIngress(name: string): KubernetesObject {
  return ingress(name, { annotations: { 'rendergate.dev/timeout-server': '5 parsecs' } });
}

/** An AdmissionReview for a CREATE of the object; `request` replaces or adds fields of the request. */
export function reviewOf(object: KubernetesObject, request: Readonly<Record<string, unknown>> = {}) {
  const metadata = fields(object['metadata']);
  const apiVersion = String(object['apiVersion']);
  const [group, version] = apiVersion.includes('/') ? apiVersion.split('/') : ['', apiVersion];
  const kind = { group, version, kind: object['kind'] };
  const resource = { group, version, resource: pluralOf(String(object['kind'])) };
  return {
    apiVersion: 'admission.k8s.io/v1',
    kind: 'AdmissionReview',
    request: {
      uid: randomUUID(),
      kind,
      resource,
      requestKind: kind,
      requestResource: resource,
      name: metadata['name'] ?? '',
      ...(metadata['namespace'] !== undefined && { namespace: metadata['namespace'] }),
      operation: 'CREATE',
      userInfo: { username: 'jane@example.com' },
      object,
      oldObject: null,
      // Reviews of one server must not see each other.
      dryRun: true,
      options: { apiVersion: 'meta.k8s.io/v1', kind: 'CreateOptions' },
      ...request,
    },
  };
}

export function uidOf(review: { readonly request: Readonly<Record<string, unknown>> }): unknown {
  return review.request['uid'];
}

/** The parts of an answered AdmissionReview that tests look at. */
export interface Reply {
  readonly http: HttpAnswer;
  readonly document: Readonly<Record<string, unknown>>;
  readonly response: Readonly<Record<string, unknown>>;
  readonly allowed: unknown;
  readonly status: Readonly<Record<string, unknown>>;
  readonly message: string;
  readonly warnings: readonly string[];
}

export function readReply(http: HttpAnswer): Reply {
  const document = fields(JSON.parse(new TextDecoder('utf-8', { fatal: true }).decode(http.bytes)));
  const response = fields(document['response']);
  const status = fields(response['status']);
  const warnings = Array.isArray(response['warnings']) ? response['warnings'].map(String) : [];
  return {
    http,
    document,
    response,
    allowed: response['allowed'],
    status,
    message: String(status['message'] ?? ''),
    warnings,
  };
}

export interface Shop {
  readonly server: ServeProcess;
  readonly shim: CheckerShim;
  readonly stored: StoredObjects;
  /** For running other commands on the same cluster. */
  readonly places: { readonly config: string; readonly resources: string; readonly output: string };
  review(object: KubernetesObject, request?: Readonly<Record<string, unknown>>, timeout?: string): Promise<Reply>;
  /** Posts a document as it stands. */
  post(document: unknown, timeout?: string): Promise<Reply>;
  /** The log line of the review that was answered so. */
  lineOf(reply: Reply): Promise<LogLine>;
  /** Runs with every checker ending as told. */
  withChecker<T>(standIn: CheckerStandIn, run: () => Promise<T>): Promise<T>;
  close(): Promise<void>;
}

/** Starts a server on the shop, with the first render published. */
export async function openShop(values: readonly (readonly [readonly string[], unknown])[] = []): Promise<Shop> {
  const scratch = makeScratch('rg-shop-');
  const shim = new CheckerShim(scratch.folder('shim'), findHaproxy() ?? 'haproxy', false);
  const config = copyConfig(scratch.folder('config'), { checker: shim.program, values });
  const resources = join(scratch.path, 'resources');
  const stored = new StoredObjects(resources, join(scratch.path, 'draft'), shopObjects());
  const places = { resources, output: scratch.folder('output'), tmp: scratch.folder('tmp', 0o1777) };
  const server = await startServe({ config: config.path, ...places });
  const post = async (document: unknown, timeout?: string): Promise<Reply> =>
    readReply(await server.post(document, timeout));
  const close = async (): Promise<void> => {
    await server.stop();
    scratch.remove();
  };
  await server.published().catch(async (error: unknown) => {
    await close();
    throw error;
  });
  return {
    server,
    shim,
    stored,
    places: { config: config.path, resources, output: places.output },
    post,
    review: (object, request, timeout) => post(reviewOf(object, request), timeout),
    lineOf: (reply) => server.log.wait((line) => line['msg'] === 'review' && line['uid'] === reply.response['uid']),
    withChecker: async (standIn, run) => {
      shim.replace(standIn);
      try {
        return await run();
      } finally {
        shim.restore();
      }
    },
    close,
  };
}
