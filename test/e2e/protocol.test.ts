import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';

import { readRelease } from '../cases/case-world.js';
import { expectAlive, expectDefined, until } from './defined-answer.js';
import { badIngress, filler, ingress, MIB, openShop, readReply, reviewOf, uidOf } from './shop.js';
import type { Shop } from './shop.js';

/** Small, so that the tests of deadlines take little time. */
const BUDGET_MS = 3_000;

let shop: Shop;

beforeAll(async () => {
  shop = await openShop([[['admission', 'budget'], `${BUDGET_MS}ms`]]);
}, 60_000);

afterAll(() => shop.close());

describe('a request', () => {
  it('P1: is a POST of application/json, parameters such as charset tolerated', async () => {
    const body = JSON.stringify(reviewOf(ingress('p1')));
    for (const type of ['application/json', 'application/json; charset=utf-8', 'Application/JSON;charset=UTF-8']) {
      const reply = readReply(await shop.server.send({ body, headers: { 'content-type': type } }));
      expect(reply.allowed).toBe(true);
    }
  });

  it.each(['text/plain', 'application/yaml', 'application/jsonp', 'multipart/form-data', ''])(
    'P1: is refused with 415 before its body is read when the type is "%s"',
    async (type) => {
      const headers = { 'content-type': type, 'content-length': String(6 * MIB) };
      const answer = await shop.server.send({ headers, body: filler(6 * MIB) });
      expect(answer.status).toBe(415);
      expect(answer.sentBytes).toBeLessThan(6 * MIB);
    },
  );

  it.each(['GET', 'PUT', 'DELETE', 'PATCH'])('P1: is refused when it comes as %s', async (method) => {
    const answer = await shop.server.send({ method });
    expect([404, 405]).toContain(answer.status);
  });

  it('P2: is answered in the version in which it was sent', async () => {
    const reply = await shop.review(ingress('p2'));
    expect(reply.document).toMatchObject({ apiVersion: 'admission.k8s.io/v1', kind: 'AdmissionReview' });
  });

  it.each(['admission.k8s.io/v1beta1', 'admission.k8s.io/v9', 'v1'])(
    'P2: of version %s gets an answer that names it',
    async (apiVersion) => {
      const review = { ...reviewOf(ingress('p2')), apiVersion };
      const reply = await shop.post(review);
      expect(reply.allowed).toBe(false);
      expect(reply.message).toContain(apiVersion);
      expect(reply.response['uid']).toBe(uidOf(review));
    },
  );

  it('P2: whose version is no word of ours is answered without repeating control characters', async () => {
    const reply = await shop.post({ ...reviewOf(ingress('p2')), apiVersion: 'v\u001b[31m\n9' });
    expect(reply.allowed).toBe(false);

    expect(reply.message).not.toMatch(/[\u0000-\u0009\u001b]/);
  });

  it('P3: has its uid in the log line and in nothing that lasts', async () => {
    const first = await shop.review(badIngress('p3'));
    const again = await shop.review(badIngress('p3'));
    expect(again.response['uid']).not.toBe(first.response['uid']);
    expect(again.message).toBe(first.message);
    expect(await shop.lineOf(first)).toMatchObject({ uid: first.response['uid'], operation: 'CREATE' });
    const lasting = [(await shop.server.get('/metrics')).text, readRelease(shop.server.current)].join('\n');
    expect(lasting).not.toContain(String(first.response['uid']));
  });

  it('P4: has no object on DELETE, no old one on CREATE, and its options may be null', async () => {
    const object = ingress('stored', { host: 'stored.example.com' });
    const removal = await shop.review(object, { operation: 'DELETE', object: null, oldObject: object, options: null });
    expect(removal.allowed).toBe(true);
    expect((await shop.review(ingress('p4'), { options: null, oldObject: null })).allowed).toBe(true);
  });

  it.each(['CREATE', 'UPDATE', 'DELETE'])(
    'P4: with both objects null has a defined answer to %s',
    async (operation) => {
      const reply = await shop.review(ingress('p4'), { operation, object: null, oldObject: null });
      expectDefined(reply);
      if (operation !== 'DELETE') expect(reply.message.toLowerCase()).toContain('object');
    },
  );

  it('P5: with generateName takes its namespace from the request, and names the object as far as it is known', async () => {
    const metadata = { name: undefined, namespace: undefined, generateName: 'web-' };
    const good = ingress('p5', { metadata });
    expect((await shop.review(good, { name: '', namespace: 'shop' })).allowed).toBe(true);
    const annotations = { 'rendergate.dev/timeout-server': '5 parsecs' };
    const bad = await shop.review(ingress('p5', { metadata, annotations }), { name: '', namespace: 'shop' });
    expect(bad.allowed).toBe(false);
    expect(bad.message).toContain('shop/web-');
    expectDefined(bad);
  });

  it('P5: counts by the namespace of the request, whatever the metadata say', async () => {
    const object = ingress('p5', {
      metadata: { namespace: 'elsewhere' },
      annotations: { 'rendergate.dev/load-balance': 'sideways' },
    });
    const reply = await shop.review(object, { namespace: 'shop' });
    expect(reply.allowed).toBe(false);
    expect(reply.message).toContain('shop/p5');
    expect(reply.message).not.toContain('elsewhere');
  });

  it('P5: that has no name yet is another object each time', async () => {
    const metadata = { name: undefined, generateName: 'twin-' };
    const [one, two] = await Promise.all(
      ['one', 'two'].map((host) =>
        shop.review(ingress('p5', { metadata, host: `${host}.example.com` }), {
          name: '',
          namespace: 'shop',
          dryRun: false,
        }),
      ),
    );
    expect([one?.allowed, two?.allowed]).toEqual([true, true]);
    expect([...(one?.warnings ?? []), ...(two?.warnings ?? [])]).toEqual([]);
  });

  it('P6: is judged by kind and resource, not by what the client asked for', async () => {
    const requestKind = { group: 'extensions', version: 'v1beta1', kind: 'Ingress' };
    const requestResource = { group: 'extensions', version: 'v1beta1', resource: 'ingresses' };
    expect((await shop.review(badIngress('p6'), { requestKind, requestResource })).allowed).toBe(false);
    const foreign = {
      kind: { group: 'example.org', version: 'v1', kind: 'Widget' },
      resource: { group: 'example.org', version: 'v1', resource: 'widgets' },
    };
    const reply = await shop.review(badIngress('p6'), foreign);
    expect(reply.allowed).toBe(true);
    expect(await shop.lineOf(reply)).toMatchObject({ executed: 0, checkerRuns: 0 });
  });

  it.each(['status', 'scale'])(
    'P7: for the subresource %s is allowed without work, log line included',
    async (subResource) => {
      const reply = await shop.review(badIngress('p7'), {
        operation: 'UPDATE',
        subResource,
        oldObject: badIngress('p7'),
      });
      expect(reply.allowed).toBe(true);
      expect(await shop.lineOf(reply)).toMatchObject({ verdict: 'allowed', executed: 0, checkerRuns: 0 });
    },
  );

  it('P7: CONNECT is allowed without work', async () => {
    const object = { apiVersion: 'v1', kind: 'PodExecOptions', stdin: true, command: ['sh'] };
    const resource = { group: '', version: 'v1', resource: 'pods' };
    const reply = await shop.review(object, {
      operation: 'CONNECT',
      resource,
      subResource: 'exec',
      namespace: 'shop',
      name: 'web-1',
      options: null,
    });
    expect(reply.allowed).toBe(true);
    expect(await shop.lineOf(reply)).toMatchObject({ operation: 'CONNECT', executed: 0, checkerRuns: 0 });
  });

  it('P8: for a cluster-scoped object has no namespace, and nothing says "undefined/x" or "/x"', async () => {
    const object = {
      apiVersion: 'networking.k8s.io/v1',
      kind: 'IngressClass',
      metadata: { name: 'outside' },
      spec: { controller: 'example.org/other' },
    };
    const reply = await shop.review(object);
    expect(reply.allowed).toBe(true);
    expect(await shop.lineOf(reply)).toMatchObject({ object: 'ingressclasses outside' });
  });

  it('P8: for a Namespace has its own name as namespace', async () => {
    const object = { apiVersion: 'v1', kind: 'Namespace', metadata: { name: 'blue' } };
    const reply = await shop.review(object, { namespace: 'blue' });
    expect(reply.allowed).toBe(true);
    expect(JSON.stringify(await shop.lineOf(reply))).not.toMatch(/undefined|" ?\//);
  });

  it('P9: may have unknown fields anywhere', async () => {
    const review = reviewOf(ingress('p9', { spec: { futureField: { a: [1] } } }), { futureField: [{}], dryRun: true });
    const reply = await shop.post({ ...review, futureTop: 1, response: { uid: 'x', allowed: false } });
    expect(reply.allowed).toBe(true);
    expect(reply.response['uid']).toBe(uidOf(review));
  });

  it('P10: of up to 7 MiB is accepted', async () => {
    const secret = (fill: string): Record<string, unknown> => ({
      apiVersion: 'v1',
      kind: 'Secret',
      metadata: { name: 'big', namespace: 'shop' },
      data: { blob: fill.repeat(3.4 * MIB) },
    });
    const reply = await shop.review(secret('A'), { operation: 'UPDATE', oldObject: secret('B') });
    expect(reply.http.sentBytes).toBeGreaterThan(6.5 * MIB);
    expect(reply.allowed).toBe(true);
  });

  it.each([
    ['with Content-Length', { 'content-length': String(64 * MIB) }],
    ['without Content-Length', { 'transfer-encoding': 'chunked' }],
  ])('P10: above that gets 413 without being read on, %s', async (_, headers) => {
    const answer = await shop.server.send({ headers, body: filler(64 * MIB) });
    expect(answer.status).toBe(413);
    expect(answer.sentBytes).toBeLessThan(32 * MIB);
    await expectAlive(shop);
  });
});

describe('the deadline of a request', () => {
  const totalMs = async (timeout: string | undefined, name: string): Promise<number> => {
    const reply = await shop.review(ingress(name), {}, timeout);
    expect(reply.status).toMatchObject({ code: 504, details: { retryAfterSeconds: expect.any(Number) } });
    return Number((await shop.lineOf(reply))['totalMs']);
  };

  it.each(['1s', '2s'])('P11: is kept when timeout=%s', async (timeout) => {
    const total = await shop.withChecker({ sleepSeconds: 60 }, () => totalMs(timeout, `p11-${timeout}`));
    expect(total).toBeLessThan(Number.parseInt(timeout, 10) * 1000);
  });

  it('P11: is the configured budget without a timeout, or with one that is empty, negative, unreadable or too long', async () => {
    const timeouts = [undefined, '', '0s', '-5s', 'soon', '10', '1h'];
    const totals = await shop.withChecker({ sleepSeconds: 60 }, () =>
      Promise.all(timeouts.map((timeout, index) => totalMs(timeout, `p11-${index}`))),
    );
    for (const total of totals) expect(total).toBeGreaterThanOrEqual(BUDGET_MS * 0.9);
  });

  it('P11: leaves no checker process behind', async () => {
    await shop.withChecker({ sleepSeconds: 60, spawnsChild: true }, () => totalMs('1s', 'p11-child'));
    // The group is killed with the answer; the kernel takes a moment to clear it away.
    await until(() => shop.shim.processes() === 0);
    await expectAlive(shop);
  });
});
