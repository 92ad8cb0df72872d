import { join } from 'node:path';

import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';

import { developmentCertificate } from '../../src/server/development-certificate.js';
import type { IssuedCertificate } from '../../src/cluster/issue-certificate.js';
import { makeScratch } from '../support/scratch.js';
import { startOrigin, type Origin, type Seen } from './origin.js';
import { openSite, type Answer, type Ask, type Site } from './site.js';

/** Real requests through a real HAProxy that runs what the shipped configuration renders. */
const SERVICES = ['api', 'assets', 'exact', 'fallback', 'web', 'wild'] as const;

let origins: Map<string, Origin>;
let site: Site;
const scratch = makeScratch();
const certificates = new Map<string, IssuedCertificate>();

beforeAll(async () => {
  origins = new Map(
    await Promise.all(SERVICES.map(async (name) => [name, await startOrigin(name)] as [string, Origin])),
  );
  for (const host of ['tls.example.com', 'other.example.com']) {
    certificates.set(host, await developmentCertificate(join(scratch.path, host), [host]));
  }
  site = await openSite([...cluster(), ...ingresses()], ['config-backend']);
}, 60_000);

afterAll(async () => {
  await site.close();
  for (const origin of origins.values()) origin.close();
  scratch.remove();
});

function cluster(): object[] {
  const ingressClass = {
    apiVersion: 'networking.k8s.io/v1',
    kind: 'IngressClass',
    metadata: { name: 'haproxy' },
    spec: { controller: 'rendergate.dev/haproxy' },
  };
  const services = [...origins].flatMap(([name, { port }]) => [
    {
      apiVersion: 'v1',
      kind: 'Service',
      metadata: { name, namespace: 'a' },
      spec: { ports: [{ name: 'http', port: 80 }] },
    },
    {
      apiVersion: 'discovery.k8s.io/v1',
      kind: 'EndpointSlice',
      metadata: { name: `${name}-1`, namespace: 'a', labels: { 'kubernetes.io/service-name': name } },
      addressType: 'IPv4',
      ports: [{ name: 'http', port }],
      endpoints: [{ addresses: ['127.0.0.1'], conditions: { ready: true } }],
    },
  ]);
  const empty = {
    apiVersion: 'v1',
    kind: 'Service',
    metadata: { name: 'empty', namespace: 'a' },
    spec: { ports: [{ name: 'http', port: 80 }] },
  };
  const secrets = [...certificates].map(([host, { cert, key }]) => ({
    apiVersion: 'v1',
    kind: 'Secret',
    metadata: { name: host, namespace: 'a' },
    type: 'kubernetes.io/tls',
    data: { 'tls.crt': base64(cert), 'tls.key': base64(key) },
  }));
  return [ingressClass, ...services, empty, ...secrets];
}

const base64 = (text: string): string => Buffer.from(text).toString('base64');
const to = (name: string): object => ({ service: { name, port: { number: 80 } } });

function ingress(name: string, spec: object, annotations: Record<string, string> = {}): object {
  const own = Object.entries(annotations).map(([key, value]) => [`rendergate.dev/${key}`, value]);
  return {
    apiVersion: 'networking.k8s.io/v1',
    kind: 'Ingress',
    metadata: { name, namespace: 'a', annotations: Object.fromEntries(own) },
    spec: { ingressClassName: 'haproxy', ...spec },
  };
}

function rule(host: string | undefined, ...paths: [type: string, path: string, service: string][]): object {
  const http = { paths: paths.map(([pathType, path, service]) => ({ pathType, path, backend: to(service) })) };
  return host === undefined ? { http } : { host, http };
}

function annotated(name: string, annotations: Record<string, string>, service = 'web'): object {
  return ingress(name, { rules: [rule(`${name}.example.com`, ['Prefix', '/', service])] }, annotations);
}

function ingresses(): object[] {
  return [
    ingress('paths', {
      rules: [
        rule(
          'www.example.com',
          ['Prefix', '/', 'web'],
          ['Prefix', '/api', 'api'],
          ['Prefix', '/api/assets/', 'assets'],
          ['Exact', '/api/exact', 'exact'],
        ),
      ],
    }),
    ingress('wildcard', { rules: [rule('*.wild.example.com', ['Prefix', '/', 'wild'])] }),
    ingress('named-below-wildcard', { rules: [rule('named.wild.example.com', ['Exact', '/only', 'exact'])] }),
    ingress('any-host', { rules: [rule(undefined, ['Prefix', '/everywhere', 'assets'])] }),
    ingress('default', { defaultBackend: to('fallback') }),
    ...['tls.example.com', 'other.example.com'].map((host) =>
      ingress(host, { tls: [{ hosts: [host], secretName: host }], rules: [rule(host, ['Prefix', '/', 'web'])] }),
    ),
    annotated('redirected', { 'ssl-redirect': 'true' }),
    annotated('rewritten', { 'path-rewrite': '^/old/(.*) /new/\\1' }),
    annotated('limited', { 'rate-limit-rps': '2' }),
    annotated('closed', { 'allow-source-range': '192.0.2.0/24 2001:db8::/32' }),
    annotated('open', { 'allow-source-range': '192.0.2.0/24,127.0.0.0/8' }),
    annotated('cors', { 'cors-allow-origin': 'https://app.example.com' }),
    annotated('small', { 'body-size-max': '10' }),
    annotated('raw', { 'config-backend': "http-request set-header X-Raw 'it is here'" }),
    annotated('nowhere', {}, 'empty'),
  ];
}

async function seen(ask: Ask): Promise<Seen> {
  const answer = await site.ask(ask);
  if (answer.status !== 200) throw new Error(`${answer.status}: ${answer.text}`);
  return JSON.parse(answer.text) as Seen;
}

const originOf = async (host: string, path?: string): Promise<string> =>
  (await seen({ host, ...(path === undefined ? {} : { path }) })).origin;
const statusOf = async (ask: Ask): Promise<number> => (await site.ask(ask)).status;

describe('routing by path', () => {
  it('takes the longest prefix of whole elements, and an exact path before any prefix', async () => {
    const expected: Record<string, string> = {
      '/': 'web',
      '/apis': 'web',
      '/api': 'api',
      '/api/': 'api',
      '/api/x?y=/api/exact': 'api',
      '/api/assets': 'assets',
      '/api/assets/logo.png': 'assets',
      '/api/assetsx': 'api',
      '/api/exact': 'exact',
      '/api/exact/': 'api',
    };
    const found = await Promise.all(
      Object.keys(expected).map(async (path) => [path, await originOf('www.example.com', path)]),
    );
    expect(Object.fromEntries(found)).toEqual(expected);
  });

  it('gives a 503 where the Service has no endpoint', async () => {
    expect(await statusOf({ host: 'nowhere.example.com' })).toBe(503);
  });
});

describe('routing by host', () => {
  it('knows a host whatever its case, port or final dot', async () => {
    for (const host of ['WWW.Example.COM', 'www.example.com:8080', 'www.example.com.']) {
      expect(await originOf(host, '/api')).toBe('api');
    }
  });

  it('takes a wildcard for one label only, and never for a host that has rules of its own', async () => {
    expect(await originOf('x.wild.example.com')).toBe('wild');
    expect(await originOf('x.y.wild.example.com')).toBe('fallback');
    expect(await originOf('named.wild.example.com', '/only')).toBe('exact');
    expect(await originOf('named.wild.example.com', '/else')).toBe('fallback');
  });

  it('serves unknown hosts by the rules without a host, then by the default backend', async () => {
    expect(await originOf('unknown.example.org', '/everywhere/x')).toBe('assets');
    expect(await originOf('unknown.example.org', '/')).toBe('fallback');
  });
});

describe('TLS', () => {
  it('shows each host the certificate of its own Secret', async () => {
    for (const [host, { ca }] of certificates)
      expect((await seen({ host, ca })).headers['x-forwarded-proto']).toBe('https');
  });

  it('refuses the handshake for a host without a certificate', async () => {
    const ca = certificates.get('tls.example.com')?.ca ?? '';
    await expect(site.ask({ host: 'www.example.com', ca })).rejects.toThrow();
  });
});

describe('annotations', () => {
  it('ssl-redirect sends plain requests to the same place over TLS', async () => {
    const { status, headers } = await site.ask({ host: 'redirected.example.com', path: '/a?b=c' });
    expect([status, headers.location]).toEqual([308, 'https://redirected.example.com/a?b=c']);
  });

  it('path-rewrite changes the path and leaves the query', async () => {
    expect((await seen({ host: 'rewritten.example.com', path: '/old/x/y?z=1' })).path).toBe('/new/x/y?z=1');
    expect((await seen({ host: 'rewritten.example.com', path: '/other' })).path).toBe('/other');
  });

  it('rate-limit-rps turns the surplus away with 429', async () => {
    const answers: Answer[] = [];
    for (let i = 0; i < 12; i++) answers.push(await site.ask({ host: 'limited.example.com' }));
    expect(new Set(answers.map(({ status }) => status))).toEqual(new Set([200, 429]));
  });

  it('allow-source-range lets only these networks in', async () => {
    expect(await statusOf({ host: 'closed.example.com' })).toBe(403);
    expect(await statusOf({ host: 'open.example.com' })).toBe(200);
  });

  it('cors-allow-origin sets the header', async () => {
    const { headers } = await site.ask({ host: 'cors.example.com' });
    expect(headers['access-control-allow-origin']).toBe('https://app.example.com');
  });

  it('body-size-max refuses a larger body, and one whose size is not told', async () => {
    const post = { host: 'small.example.com', method: 'POST' };
    expect(await statusOf({ ...post, body: '0123456789', headers: { 'content-length': '10' } })).toBe(200);
    expect(await statusOf({ ...post, body: '0123456789a', headers: { 'content-length': '11' } })).toBe(413);
    expect(await statusOf({ ...post, body: '01', headers: { 'transfer-encoding': 'chunked' } })).toBe(411);
  });

  it('config-backend takes raw lines into the backend', async () => {
    expect((await seen({ host: 'raw.example.com' })).headers['x-raw']).toBe('it is here');
  });
});
