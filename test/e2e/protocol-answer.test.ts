import { readFileSync } from 'node:fs';
import { request as httpsRequest } from 'node:https';

import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';

import { fields } from '../cases/answer.js';
import type { CheckerStandIn } from '../cases/case-schema.js';
import { expectAlive, expectDefined } from './defined-answer.js';
import { badIngress, ingress, openShop, reviewOf, uidOf } from './shop.js';
import type { Reply, Shop } from './shop.js';

let shop: Shop;

beforeAll(async () => {
  shop = await openShop();
}, 60_000);

afterAll(() => shop.close());

describe('an answer', () => {
  const unjudged = (name: string): Promise<Reply> =>
    shop.withChecker({ missing: true }, () => shop.review(ingress(name)));

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
    const reply = await shop.withChecker(standIn, () => shop.post(review, '2s'));
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
    await expectAlive(shop);
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
    const reply = await shop.withChecker(standIn, () => shop.review(ingress('r7')));
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

describe('the transport', () => {
  it('is HTTPS only, with a certificate that the named CA signed', async () => {
    const unknown = httpsRequest({ host: '127.0.0.1', port: shop.server.port, path: '/readyz' });
    const failed = new Promise<NodeJS.ErrnoException>((resolve) => unknown.once('error', resolve));
    unknown.end();
    expect((await failed).code).toMatch(/UNABLE_TO_|SELF_SIGNED/);
    expect(readFileSync(shop.server.ca, 'utf8')).toContain('BEGIN CERTIFICATE');
  });
});
