import { request as httpsRequest } from 'node:https';
import { readFileSync } from 'node:fs';

import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';

import { fields } from '../cases/answer.js';
import type { KubernetesObject } from '../cases/case-schema.js';
import { expectAlive, expectDefined, until } from './defined-answer.js';
import { badIngress, ingress, openShop, readReply, reviewOf, uidOf } from './shop.js';
import type { IngressParts, Shop } from './shop.js';

let shop: Shop;

beforeAll(async () => {
  shop = await openShop();
}, 60_000);

afterAll(() => shop.close());

function withPath(path: Readonly<Record<string, unknown>>): IngressParts {
  return { spec: { rules: [{ host: 'odd.example.com', http: { paths: [path] } }] } };
}

function to(port: unknown, name: unknown = 'web'): IngressParts {
  return withPath({ path: '/', pathType: 'Prefix', backend: { service: { name, port } } });
}

const ODD: readonly (readonly [string, IngressParts])[] = [
  ['spec: null', { spec: { rules: null, ingressClassName: null } }],
  ['rules: null', { spec: { rules: null } }],
  ['rules that are text', { spec: { rules: 'all' } }],
  ['null among the rules', { spec: { rules: [null, { host: null, http: null }] } }],
  ['paths: null', { spec: { rules: [{ host: 'odd.example.com', http: { paths: null } }] } }],
  ['null among the paths', { spec: { rules: [{ host: 'odd.example.com', http: { paths: [null] } }] } }],
  ['backend: {}', withPath({ path: '/', pathType: 'Prefix', backend: {} })],
  ['backend: null', withPath({ path: '/', pathType: 'Prefix', backend: null })],
  ['defaultBackend: {}', { spec: { defaultBackend: {} } }],
  ['a port that is a number as text', to({ number: '80' })],
  ['a port of 1e400', to({ number: Infinity })],
  ['a port that is a fraction', to({ number: 80.5 })],
  ['a negative port', to({ number: -1 })],
  ['no port', to(undefined)],
  ['a service name that is a number', to({ number: 80 }, 7)],
  ['a path that is a number', withPath({ path: 7, pathType: 'Exact', backend: { service: { name: 'web' } } })],
  ['a host that is a number', { spec: { rules: [{ host: 5, http: {} }] } }],
  ['lone surrogates', { host: 'a\ud800.example.com', annotations: { 'rendergate.dev/cors-allow-origin': '\udfff' } }],
  ['control characters in a host', { host: 'a\u0000b\u001b[2J.example.com' }],
  ['an annotation of 300 kB', { annotations: { 'rendergate.dev/cors-allow-origin': 'x'.repeat(300_000) } }],
  ['an unknown annotation of 300 kB', { annotations: { note: 'é'.repeat(150_000) } }],
  ['labels that are a list', { metadata: { labels: ['a'], annotations: 'b' } }],
  ['an annotation that is an object', { metadata: { annotations: { 'rendergate.dev/load-balance': { a: 1 } } } }],
  ['tls that is text', { spec: { tls: 'yes' } }],
  ['null among tls', { spec: { tls: [null, { hosts: null, secretName: 7 }] } }],
];

describe('an object that is odd but admitted', () => {
  it.each(ODD)('gets a verdict or a clear refusal: %s', async (_, parts) => {
    expectDefined(await shop.review(ingress('odd', parts)));
    await expectAlive(shop);
  });

  it.each<[string, KubernetesObject]>([
    ['a Service without spec', { apiVersion: 'v1', kind: 'Service', metadata: { name: 'web', namespace: 'shop' } }],
    [
      'a Service whose ports are numbers',
      { apiVersion: 'v1', kind: 'Service', metadata: { name: 'web', namespace: 'shop' }, spec: { ports: [80, null] } },
    ],
    [
      'an EndpointSlice whose endpoints are null',
      {
        apiVersion: 'discovery.k8s.io/v1',
        kind: 'EndpointSlice',
        metadata: { name: 'web-x1', namespace: 'shop', labels: { 'kubernetes.io/service-name': 'web' } },
        endpoints: null,
        ports: [null, { port: 'x' }],
      },
    ],
    [
      'an EndpointSlice with addresses that are none',
      {
        apiVersion: 'discovery.k8s.io/v1',
        kind: 'EndpointSlice',
        metadata: { name: 'web-x1', namespace: 'shop', labels: { 'kubernetes.io/service-name': 'web' } },
        ports: [{ name: 'http', port: 8080 }],
        endpoints: [{ addresses: ['not an address\n', 7, null] }, null, {}],
      },
    ],
    [
      'an IngressClass without spec',
      { apiVersion: 'networking.k8s.io/v1', kind: 'IngressClass', metadata: { name: 'x' } },
    ],
    [
      'a Secret whose data is text',
      { apiVersion: 'v1', kind: 'Secret', metadata: { name: 'safe', namespace: 'shop' }, data: 'x' },
    ],
  ])('gets a verdict or a clear refusal: %s', async (_, object) => {
    expectDefined(await shop.review(object, { operation: 'UPDATE', oldObject: object }));
    await expectAlive(shop);
  });

  it.each(['__proto__', 'constructor', 'hasOwnProperty', 'toString'])(
    'gets a verdict with keys and a namespace called %s',
    async (word) => {
      const text = JSON.stringify(
        reviewOf(
          ingress('odd', {
            metadata: { namespace: 'WORD', labels: { WORD: 'x' }, annotations: { WORD: 'y' } },
            spec: { WORD: { polluted: true } },
          }),
          { namespace: 'WORD', WORD: { polluted: true } },
        ),
      );
      expectDefined(readReply(await shop.server.send({ body: text.replaceAll('WORD', word) })));
      expect((await shop.review(ingress('odd', { service: word }))).allowed).toBe(true);
      expectDefined(await shop.review(ingress(word)));
      await expectAlive(shop);
    },
  );

  it.each([
    ['lists', '[', ']'],
    ['objects', '{"a":', '}'],
  ])('is refused clearly when its JSON nests 200,000 deep, wherever its uid stands: %s', async (_, open, close) => {
    const deep = `${open.repeat(200_000)}1${close.repeat(200_000)}`;
    const review = reviewOf(ingress('deep', { metadata: { uid: 'of-the-object' }, spec: { DEEP: 1 } }));
    const { uid, ...rest } = review.request;
    for (const request of [review.request, { ...rest, uid }]) {
      const body = JSON.stringify({ ...review, request }).replace('"DEEP":1', `"DEEP":${deep}`);
      const reply = readReply(await shop.server.send({ body }));
      expect(reply.allowed).toBe(false);
      expect(reply.response['uid']).toBe(uid);
      expect(reply.message).toMatch(/nest|deep/);
    }
    await expectAlive(shop);
  });
});

describe('a review that is odd itself', () => {
  it('of a subresource is allowed without work', async () => {
    const reply = await shop.review(badIngress('odd'), { operation: 'UPDATE', subResource: 'status' });
    expect(reply.allowed).toBe(true);
    expect(await shop.lineOf(reply)).toMatchObject({ reason: 'subresource', checkerRuns: 0 });
  });

  it('of the operation CONNECT is allowed without work', async () => {
    const reply = await shop.review(badIngress('odd'), { operation: 'CONNECT' });
    expect(reply.allowed).toBe(true);
    expect(await shop.lineOf(reply)).toMatchObject({ reason: 'connect', checkerRuns: 0 });
  });

  it.each(['RENAME', 'create', '', 'CREATE '])(
    'of the unknown operation "%s" is refused and told which are known',
    async (operation) => {
      const reply = await shop.review(ingress('odd'), { operation });
      expect(reply.status).toMatchObject({ code: 400, reason: 'BadRequest' });
      expect(reply.message).toContain('CREATE, UPDATE, DELETE and CONNECT');
    },
  );

  it('of an unknown version is refused and told which is known', async () => {
    const review = { ...reviewOf(ingress('odd')), apiVersion: 'admission.k8s.io/v3' };
    const reply = await shop.post(review);
    expect(reply.response['uid']).toBe(uidOf(review));
    expect(reply.message).toMatch(/admission\.k8s\.io\/v3.*admission\.k8s\.io\/v1/);
  });

  it.each(['CREATE', 'UPDATE'])('of %s with both objects null says that the object is missing', async (operation) => {
    const reply = await shop.review(ingress('odd'), { operation, object: null, oldObject: null });
    expect(reply.status).toMatchObject({ code: 400 });
    expect(reply.message).toContain('object is missing');
  });

  it('of DELETE with both objects null goes by the name in the request', async () => {
    const object = ingress('stored', { host: 'stored.example.com' });
    const named = await shop.review(object, { operation: 'DELETE', object: null, oldObject: null });
    expect(named.allowed).toBe(true);
    const nameless = await shop.review(object, { operation: 'DELETE', object: null, oldObject: null, name: '' });
    expect(nameless.status).toMatchObject({ code: 400 });
  });

  it('without a request gets a status and no verdict', async () => {
    const body = JSON.stringify({ apiVersion: 'admission.k8s.io/v1', kind: 'AdmissionReview' });
    const answer = await shop.server.send({ body });
    expect(answer.status).toBe(400);
    expect(fields(fields(JSON.parse(answer.text))['response'])).toMatchObject({ allowed: false });
  });

  it('in bytes that are no UTF-8 has a defined answer', async () => {
    const review = Buffer.from(JSON.stringify(reviewOf(ingress('odd', { annotations: { note: 'BYTES' } }))));
    const at = review.indexOf('BYTES');
    review.set([0xff, 0xfe, 0xc3, 0x80, 0xf5], at);
    expectDefined(readReply(await shop.server.send({ body: review })));
  });

  it('whose caller goes away leaves the service as it was', async () => {
    await shop.withChecker({ sleepSeconds: 1 }, async () => {
      const body = JSON.stringify(reviewOf(ingress('gone-caller')));
      const started = shop.shim.runs();
      const call = httpsRequest({
        host: '127.0.0.1',
        port: shop.server.port,
        path: '/validate?timeout=10s',
        method: 'POST',
        headers: { 'content-type': 'application/json', 'content-length': Buffer.byteLength(body) },
        ca: readFileSync(shop.server.ca),
      });
      call.on('error', () => undefined);
      call.end(body);
      await until(() => shop.shim.runs() > started);
      call.destroy();
      await shop.server.log.wait((line) => line['msg'] === 'review' && String(line['object']).includes('gone-caller'));
    });
    await expectAlive(shop);
  });
});
