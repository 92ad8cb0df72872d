import { request as httpsRequest } from 'node:https';
import { readFileSync } from 'node:fs';

import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';

import { clumsyWords } from '../cases/always.js';
import { fields } from '../cases/answer.js';
import type { CheckerStandIn } from '../cases/case-schema.js';
import { readRelease } from '../cases/case-world.js';
import { CANARY, badIngress, base64, ingress, openShop, readReply, reviewOf } from './shop.js';
import type { Reply, Shop } from './shop.js';

const MIB = 1024 * 1024;

/** Small, so that the tests of deadlines take little time. */
const BUDGET_MS = 3_000;

let shop: Shop;

beforeAll(async () => {
  shop = await openShop([[['admission', 'budget'], `${BUDGET_MS}ms`]]);
}, 60_000);

afterAll(() => shop.close());

/** Runs with every checker ending as told. */
async function withChecker<T>(standIn: CheckerStandIn, run: () => Promise<T>): Promise<T> {
  shop.shim.replace(standIn);
  try {
    return await run();
  } finally {
    shop.shim.restore();
  }
}

function uidOf(review: { readonly request: Readonly<Record<string, unknown>> }): unknown {
  return review.request['uid'];
}

function expectDefined(reply: Reply): void {
  expect(reply.http.status).toBe(200);
  expect(typeof reply.allowed).toBe('boolean');
  if (reply.allowed === false) expect(reply.message).not.toBe('');
  expect([reply.message, ...reply.warnings].flatMap((text) => clumsyWords('the answer', text))).toEqual([]);
}

async function expectAlive(): Promise<void> {
  const reply = await shop.review(ingress('alive'));
  expect(reply.allowed).toBe(true);
}

function* filler(bytes: number): Generator<Buffer> {
  const block = Buffer.alloc(64 * 1024, 'x');
  for (let left = bytes; left > 0; left -= block.length) yield block.subarray(0, Math.min(left, block.length));
}

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
    await expectAlive();
  });
});

describe('the deadline of a request', () => {
  const totalMs = async (timeout: string | undefined, name: string): Promise<number> => {
    const reply = await shop.review(ingress(name), {}, timeout);
    expect(reply.status).toMatchObject({ code: 504, details: { retryAfterSeconds: expect.any(Number) } });
    return Number((await shop.lineOf(reply))['totalMs']);
  };

  it.each(['1s', '2s'])('P11: is kept when timeout=%s', async (timeout) => {
    const total = await withChecker({ sleepSeconds: 60 }, () => totalMs(timeout, `p11-${timeout}`));
    expect(total).toBeLessThan(Number.parseInt(timeout, 10) * 1000);
  });

  it('P11: is the configured budget without a timeout, or with one that is empty, negative, unreadable or too long', async () => {
    const timeouts = [undefined, '', '0s', '-5s', 'soon', '10', '1h'];
    const totals = await withChecker({ sleepSeconds: 60 }, () =>
      Promise.all(timeouts.map((timeout, index) => totalMs(timeout, `p11-${index}`))),
    );
    console.log(
      totals,
      shop.server.log.lines
        .slice(-12)
        .map((l) => JSON.stringify(l))
        .join('\n'),
    );
    for (const total of totals) expect(total).toBeGreaterThanOrEqual(BUDGET_MS * 0.9);
  });

  it('P11: leaves no checker process behind', async () => {
    await withChecker({ sleepSeconds: 60, spawnsChild: true }, () => totalMs('1s', 'p11-child'));
    // The group is killed with the answer; the kernel takes a moment to clear it away.
    while (shop.shim.processes() > 0) await new Promise((resolve) => setTimeout(resolve, 10));
    await expectAlive();
  });
});

describe('an answer', () => {
  const unjudged = (name: string): Promise<Reply> => withChecker({ missing: true }, () => shop.review(ingress(name)));

  it('R1: is HTTP 200 and application/json for allow, deny and "could not judge"', async () => {
    for (const reply of [
      await shop.review(ingress('r1')),
      await shop.review(badIngress('r1')),
      await unjudged('r1-x'),
    ]) {
      expect(reply.http.status).toBe(200);
      expect(reply.http.headers['content-type']).toBe('application/json');
    }
  });

  it.each<[string, () => Record<string, unknown>]>([
    ['an unknown operation', () => reviewOf(ingress('r2'), { operation: 'RENAME' })],
    ['no operation', () => reviewOf(ingress('r2'), { operation: undefined })],
    ['an operation that is no text', () => reviewOf(ingress('r2'), { operation: 7 })],
    ['no object', () => reviewOf(ingress('r2'), { object: undefined })],
    ['an object that is a list', () => reviewOf(ingress('r2'), { object: [] })],
    ['an object that is text', () => reviewOf(ingress('r2'), { object: 'x' })],
    ['no kind', () => reviewOf(ingress('r2'), { kind: undefined })],
    ['kind: null and resource: null', () => reviewOf(ingress('r2'), { kind: null, resource: null })],
    ['another kind of document', () => ({ ...reviewOf(ingress('r2')), kind: 'Pod' })],
    ['another version', () => ({ ...reviewOf(ingress('r2')), apiVersion: 'admission.k8s.io/v9' })],
    [
      'an object without metadata',
      () => reviewOf({ apiVersion: 'networking.k8s.io/v1', kind: 'Ingress', metadata: null }),
    ],
    ['a name that is a number', () => reviewOf(ingress('r2'), { name: 7, namespace: 8 })],
  ])('R2: repeats uid, kind and apiVersion with %s', async (_, make) => {
    const review = make();
    const reply = await shop.post(review);
    expect(reply.document).toMatchObject({ apiVersion: 'admission.k8s.io/v1', kind: 'AdmissionReview' });
    expect(reply.response['uid']).toBe(fields(review['request'])['uid']);
    expectDefined(reply);
  });

  it.each<[string, CheckerStandIn]>([
    ['is killed', { signal: 'SIGKILL' }],
    ['crashes', { signal: 'SIGSEGV' }],
    ['is missing', { missing: true }],
    ['does not end', { sleepSeconds: 60 }],
  ])('R2: repeats the uid when the checker %s, and the change is not judged', async (how, standIn) => {
    const review = reviewOf(ingress(`r2-${how.replaceAll(' ', '-')}`));
    const reply = await withChecker(standIn, () => shop.post(review, '2s'));
    expect(reply.response['uid']).toBe(uidOf(review));
    expect(reply.allowed).toBe(false);
    expect([503, 504]).toContain(reply.status['code']);
  });

  it('R2: repeats every uid of reviews that come at once', async () => {
    const reviews = Array.from({ length: 20 }, (_, index) =>
      reviewOf(index % 5 === 0 ? badIngress(`at-once-${index}`) : ingress(`at-once-${index}`)),
    );
    const replies = await Promise.all(reviews.map((review) => shop.post(review)));
    expect(replies.map((reply) => reply.response['uid'])).toEqual(reviews.map(uidOf));
    expect(replies.map((reply) => reply.allowed)).toEqual(reviews.map((_, index) => index % 5 !== 0));
  });

  it.each([
    '',
    '{"apiVersion":',
    'null',
    '[]',
    '7',
    '"x"',
    '{}',
    '{"apiVersion":"v1","kind":"Pod"}',
    '{"apiVersion":"admission.k8s.io/v1","kind":"AdmissionReview"}',
    '{"apiVersion":"admission.k8s.io/v1","kind":"AdmissionReview","request":[]}',
    '\ufeff{}',
    '{"a":1}{"b":2}',
  ])('R2: is defined for the body %j, in which no uid can be read', async (body) => {
    const answer = await shop.server.send({ body });
    expect([200, 400, 422]).toContain(answer.status);
    expect(fields(JSON.parse(answer.text))).not.toHaveProperty('response.allowed', true);
    await expectAlive();
  });

  it('R3: that denies has code, status, reason and message', async () => {
    const reply = await shop.review(badIngress('r3'));
    expect(reply.status).toMatchObject({
      status: 'Failure',
      reason: expect.stringMatching(/^[A-Z]\w+$/),
      message: expect.any(String),
    });
    expect(Number(reply.status['code'])).toBeGreaterThanOrEqual(400);
    expect(Number(reply.status['code'])).toBeLessThan(500);
  });

  it('R3: that could not judge has 503 or 504 and says when to come again', async () => {
    const reply = await unjudged('r3-x');
    expect([503, 504]).toContain(reply.status['code']);
    const after = Number(fields(reply.status['details'])['retryAfterSeconds']);
    expect(after).toBeGreaterThanOrEqual(1);
    expect(after).toBeLessThanOrEqual(5);
  });

  it('R4: has no patch and no patchType', async () => {
    for (const reply of [await shop.review(ingress('r4')), await shop.review(badIngress('r4'))]) {
      expect(reply.response).not.toHaveProperty('patch');
      expect(reply.response).not.toHaveProperty('patchType');
    }
  });

  it('R5: has warnings of one line each, at most 120 characters, on allow and on deny', async () => {
    const long = `${'n'.repeat(200)}-missing`;
    const allowed = await shop.review(ingress('r5', { service: long }));
    expect(allowed.allowed).toBe(true);
    expect(allowed.warnings.length).toBeGreaterThan(0);
    const denied = await shop.review(
      ingress('r5', { service: 'gone', annotations: { 'rendergate.dev/load-balance': 'sideways' } }),
    );
    expect(denied.allowed).toBe(false);
    for (const warning of [...allowed.warnings, ...denied.warnings]) {
      expect([...warning].length).toBeLessThanOrEqual(120);
      expect(warning).not.toMatch(/[\p{Cc}\u2028\u2029]|^warning:/iu);
    }
  });

  it('R5: keeps all warnings together below what the API server drops', async () => {
    const paths = Array.from({ length: 100 }, (_, index) => ({
      path: `/p${index}`,
      pathType: 'Prefix',
      backend: { service: { name: `missing-service-number-${index}`, port: { number: 80 } } },
    }));
    const reply = await shop.review(ingress('r5', { spec: { rules: [{ host: 'r5.example.com', http: { paths } }] } }));
    expect(reply.allowed).toBe(true);
    expect(reply.warnings.join('').length).toBeLessThanOrEqual(4096);
  });

  it('R6: has audit annotations whose keys have no slash and whose values are text', async () => {
    for (const reply of [
      await shop.review(ingress('r6')),
      await shop.review(badIngress('r6')),
      await unjudged('r6-x'),
    ]) {
      for (const [key, value] of Object.entries(fields(reply.response['auditAnnotations']))) {
        expect(key).toMatch(/^[A-Za-z0-9][A-Za-z0-9_.-]*$/);
        expect(typeof value).toBe('string');
      }
    }
  });

  it('R7: is valid UTF-8 JSON whatever the checker printed', async () => {
    const bytes = Buffer.concat([
      Buffer.from('[ALERT] (1) : config : parsing [haproxy.cfg:3] : '),
      Buffer.from([0xff, 0xfe, 0xc3, 0x1b, 0x5b, 0x33, 0x31, 0x6d, 0x00, 0x0a]),
    ]);
    const standIn = { exitCode: 1, stderrBase64: bytes.toString('base64') };
    const reply = await withChecker(standIn, () => shop.review(ingress('r7')));
    expect(reply.allowed).toBe(false);

    expect(reply.message).not.toMatch(/[\u0000-\u0009\u001b\ufffd]/);
  });

  it('R8: that denies stands alone: object, field, cause, effect and fix', async () => {
    const { message } = await shop.review(badIngress('r8'));
    for (const part of ['shop/r8', 'timeout-server', 'parsecs', 'effect:', 'fix:']) expect(message).toContain(part);
    expect(message.split('\n').length).toBeLessThanOrEqual(40);
  });

  it('R9: has each phase measured in its log line', async () => {
    const line = await shop.lineOf(await shop.review(ingress('r9')));
    const phases = fields(line['phasesMs']);
    expect(Object.keys(phases).sort()).toEqual(['check', 'overlay', 'queue', 'render']);
    for (const ms of Object.values(phases)) expect(ms).toBeGreaterThanOrEqual(0);
    const sum = Object.values(phases).reduce<number>((total, ms) => total + Number(ms), 0);
    // The rest is decoding and writing the answer; rounding to hundredths may add a little.
    expect(sum).toBeLessThanOrEqual(Number(line['totalMs']) + 1);
    expect(line).toMatchObject({
      verdict: 'allowed',
      code: 200,
      dryRun: true,
      executed: expect.any(Number),
      checkerRuns: expect.any(Number),
    });
  });
});

describe('an object that is odd but admitted', () => {
  it.each<[string, () => Parameters<typeof ingress>[1]]>([
    ['rules: null', () => ({ spec: { rules: null } })],
    ['spec: null in a rule', () => ({ spec: { rules: [null, { host: null, http: null }] } })],
    [
      'backend: {}',
      () => ({ spec: { rules: [{ http: { paths: [{ path: '/', pathType: 'Prefix', backend: {} }] } }] } }),
    ],
    [
      'a number as text',
      () => ({
        spec: {
          rules: [
            {
              host: 'a.example.com',
              http: {
                paths: [
                  { path: '/', pathType: 'Prefix', backend: { service: { name: 'web', port: { number: '80' } } } },
                ],
              },
            },
          ],
        },
      }),
    ],
    [
      'lone surrogates',
      () => ({ host: 'a\ud800.example.com', annotations: { 'rendergate.dev/cors-allow-origin': '\udfff' } }),
    ],
    ['an annotation of 300 kB', () => ({ annotations: { 'rendergate.dev/cors-allow-origin': 'x'.repeat(300_000) } })],
    ['an unknown annotation of 300 kB', () => ({ annotations: { note: 'é'.repeat(150_000) } })],
    ['labels that are a list', () => ({ metadata: { labels: ['a'], annotations: 'b' } })],
  ])('gets a verdict or a clear refusal: %s', async (_, parts) => {
    expectDefined(await shop.review(ingress('odd', parts())));
    await expectAlive();
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
      const http = await shop.server.send({ body: text.replaceAll('WORD', word) });
      const reply = readReply(http);
      expectDefined(reply);
      expect((await shop.review(ingress('odd', { service: word }))).allowed).toBe(true);
      await expectAlive();
    },
  );

  it.each([
    ['lists', '[', ']'],
    ['objects', '{"a":', '}'],
  ])('is refused clearly when its JSON nests 200,000 deep: %s', async (_, open, close) => {
    const review = reviewOf(ingress('deep', { spec: { DEEP: 1 } }));
    const deep = `${open.repeat(200_000)}1${close.repeat(200_000)}`;
    const reply = readReply(
      await shop.server.send({ body: JSON.stringify(review).replace('"DEEP":1', `"DEEP":${deep}`) }),
    );
    expect(reply.allowed).toBe(false);
    expect(reply.response['uid']).toBe(uidOf(review));
    expect(reply.message).toMatch(/nest|deep/);
    await expectAlive();
  });
});

describe('the data of a Secret', () => {
  it('appears in no answer, log line or metric, whatever goes wrong with it', async () => {
    const secret = (data: Record<string, string>): Record<string, unknown> => ({
      apiVersion: 'v1',
      kind: 'Secret',
      metadata: { name: 'web-tls', namespace: 'shop' },
      type: 'kubernetes.io/tls',
      data,
    });
    const user = ingress('tls-user', { spec: { tls: [{ hosts: ['tls-user.example.com'], secretName: 'web-tls' }] } });
    const revision = shop.server.revision();
    shop.stored.put(user);
    await shop.server.reconciledAfter(revision);
    const pem = `-----BEGIN CERTIFICATE-----\n${CANARY}\n-----END CERTIFICATE-----\n`;
    const replies = [
      await shop.review(secret({ 'tls.crt': base64(pem), 'tls.key': base64(CANARY) })),
      await shop.review(secret({ 'tls.crt': CANARY, 'tls.key': '%%%' })),
      await shop.review(secret({ [CANARY]: base64(CANARY) })),
      await shop.review({ ...secret({}), stringData: { 'tls.crt': `global\n  ${CANARY}` }, type: CANARY }),
      await shop.post({ ...reviewOf(secret({ 'tls.crt': base64(CANARY) })), kind: 'Pod' }),
      await shop.review(secret({ 'tls.crt': base64(CANARY) }), { operation: 'RENAME' }),
    ];
    const broken = await shop.server.send({ body: `{"request":{"object":{"kind":"Secret","data":{"a":"${CANARY}"` });
    const outside = [
      ...replies.map(({ http }) => http.text),
      broken.text,
      shop.server.log.text(),
      (await shop.server.get('/metrics')).text,
      (await shop.server.get('/readyz?verbose')).text,
    ];
    for (const text of outside) {
      expect(text).not.toContain(CANARY);
      expect(text).not.toContain(base64(CANARY).slice(0, 24));
    }
  });
});

describe('the transport', () => {
  it('is HTTPS only, with a certificate that the named CA signed', async () => {
    const unknown = httpsRequest({ host: '127.0.0.1', port: shop.server.port, path: '/readyz' });
    const failed = new Promise<NodeJS.ErrnoException>((resolve) => unknown.once('error', resolve));
    unknown.end();
    expect((await failed).code).toMatch(/UNABLE_TO_|SELF_SIGNED/);
    expect(readFileSync(shop.server.ca, 'utf8')).toContain('BEGIN CERTIFICATE');
  });
});
