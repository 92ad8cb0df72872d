import { spawnSync } from 'node:child_process';
import { readdirSync, readFileSync, statSync } from 'node:fs';
import { join } from 'node:path';

import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';

import type { KubernetesObject } from '../cases/case-schema.js';
import { developmentCertificate } from '../../src/server/development-certificate.js';
import { CLI } from '../support/project.js';
import { makeScratch } from '../support/scratch.js';
import { base64, CANARY, ingress, openShop, reviewOf } from './shop.js';
import type { Reply, Shop } from './shop.js';

const HOST = 'tls-user.example.com';
const scratch = makeScratch('rg-secret-');

let shop: Shop;
let good: Readonly<Record<string, string>>;
let other: Readonly<Record<string, string>>;

beforeAll(async () => {
  good = await pair('good');
  other = await pair('other');
  shop = await openShop();
  const user = ingress('tls-user', { host: HOST, spec: tlsOf(HOST) });
  await stored(user);
  await stored(secret(good));
}, 60_000);

afterAll(async () => {
  await shop.close();
  scratch.remove();
});

/** A certificate with the canary before its block, where PEM allows any text, and its key. */
async function pair(name: string): Promise<Readonly<Record<string, string>>> {
  const made = await developmentCertificate(scratch.folder(name), [HOST]);
  return { 'tls.crt': base64(`${CANARY}\n${made.cert}`), 'tls.key': base64(`${CANARY}\n${made.key}`) };
}

function tlsOf(host: string): Record<string, unknown> {
  return {
    tls: [{ hosts: [host], secretName: 'web-tls' }],
    rules: [
      {
        host,
        http: {
          paths: [{ path: '/', pathType: 'Prefix', backend: { service: { name: 'web', port: { number: 80 } } } }],
        },
      },
    ],
  };
}

function secret(data: Readonly<Record<string, string>>, more: object = {}): KubernetesObject {
  return {
    apiVersion: 'v1',
    kind: 'Secret',
    metadata: { name: 'web-tls', namespace: 'shop' },
    type: 'kubernetes.io/tls',
    data,
    ...more,
  };
}

async function stored(object: KubernetesObject): Promise<void> {
  const revision = shop.server.revision();
  shop.stored.put(object);
  await shop.server.reconciledAfter(revision);
}

/** Any part of the canary, and of the keys, plain or in base64, in whatever alignment base64 gives it. */
function secretParts(): readonly string[] {
  const plain = CANARY.slice(8, 32);
  const aligned = [0, 1, 2].map((shift) => base64(' '.repeat(shift) + CANARY).slice(8, 32));
  const keys = [good, other].flatMap((data) => Object.values(data).map((text) => text.slice(200, 232)));
  return [plain, ...aligned, ...keys];
}

function expectSilent(texts: readonly string[]): void {
  for (const text of texts) for (const part of secretParts()) expect(text).not.toContain(part);
}

async function seenOutside(): Promise<readonly string[]> {
  const pages = ['/metrics', '/readyz?verbose', '/livez?verbose'];
  return [
    shop.server.log.text(),
    ...(await Promise.all(pages.map(async (path) => (await shop.server.get(path)).text))),
  ];
}

function broken(): readonly (readonly [how: string, object: KubernetesObject, allowed: boolean])[] {
  const text = (from: string | undefined): string => Buffer.from(from ?? '', 'base64').toString();
  const crt = text(good['tls.crt']);
  const cut = base64(crt.replace('-----END', `${CANARY}\n-----END`));
  return [
    ['a key of another certificate', secret({ ...good, 'tls.key': other['tls.key'] ?? '' }), false],
    ['the canary inside of a block', secret({ ...good, 'tls.crt': cut }), false],
    ['text that is no base64', secret({ ...good, 'tls.crt': `%%${CANARY}%%` }), false],
    ['a certificate that is no PEM', secret({ ...good, 'tls.crt': base64(CANARY) }), false],
    ['a key that is no PEM', secret({ ...good, 'tls.key': base64(CANARY) }), false],
    ['a key without an end', secret({ ...good, 'tls.key': base64(`-----BEGIN PRIVATE KEY-----\n${CANARY}`) }), false],
    ['bytes that are no text', secret({ ...good, 'tls.key': base64(`${CANARY}\u0000\u001b[2J`) }), false],
    [
      'a section after the certificate',
      secret({ ...good, 'tls.crt': base64(`${CANARY}\nglobal\n  lua-load ${CANARY}\n`) }),
      false,
    ],
    ['the certificate in the place of the key', secret({ ...good, 'tls.key': good['tls.crt'] ?? '' }), false],
    ['a value that is a list', secret({ ...good, 'tls.key': [CANARY] as unknown as string }), false],
    ['more than an instance may write', secret({ ...good, 'tls.crt': base64(crt + CANARY.repeat(20_000)) }), false],
    ['a field named like the canary', secret({ ...good, [CANARY]: base64(CANARY) }), true],
    ['another type', secret(good, { type: CANARY }), true],
    ['stringData', secret(good, { stringData: { 'tls.crt': `global\n  ${CANARY}` } }), true],
  ];
}

describe('the data of a Secret', () => {
  it('appears in no answer, log line or metric, whatever is wrong with it', async () => {
    const replies: Reply[] = [];
    for (const [how, object, allowed] of broken()) {
      const reply = await shop.review(object, { operation: 'UPDATE', oldObject: secret(good) });
      expect([how, reply.allowed]).toEqual([how, allowed]);
      replies.push(reply);
    }
    expectSilent([...replies.map(({ http }) => http.text), ...(await seenOutside())]);
  });

  it('appears in no answer to a review that is broken itself', async () => {
    const object = secret({ 'tls.crt': base64(CANARY) });
    const review = reviewOf(object);
    const bodies = [
      JSON.stringify({ ...review, kind: 'Pod' }),
      JSON.stringify({ ...review, request: { ...review.request, operation: 'RENAME' } }),
      JSON.stringify({ ...review, request: { ...review.request, object: null, oldObject: object } }),
      JSON.stringify(review).slice(0, -40),
      `{"request":{"object":{"kind":"Secret","data":{"a":"${CANARY}"`,
    ];
    const answers = await Promise.all(bodies.map((body) => shop.server.send({ body })));
    expectSilent([...answers.map(({ text }) => text), ...(await seenOutside())]);
  });

  it('appears nowhere when the checker quotes the file', async () => {
    const said = `[ALERT] (1) : config : parsing [haproxy.cfg:1] : '${CANARY}' in 'certs/shop_web-tls.pem': ${CANARY}\n`;
    const standIn = { exitCode: 1, stderrBase64: base64(said) };
    const reply = await shop.withChecker(standIn, () => shop.review(ingress('quoting')));
    expect(reply.allowed).toBe(false);
    expectSilent([reply.http.text, ...(await seenOutside())]);
  });

  it('is in the published output only in files that nobody else may read', async () => {
    const files = readdirSync(shop.server.current, { recursive: true, encoding: 'utf8' })
      .map((name) => join(shop.server.current, name))
      .filter((path) => statSync(path).isFile());
    const holding = files.filter((path) => readFileSync(path, 'utf8').includes(CANARY));
    expect(holding.length).toBeGreaterThan(0);
    for (const path of holding) expect(statSync(path).mode & 0o077).toBe(0);
    const state = join(shop.places.output, 'quarantine.json');
    expect(statSync(state).mode & 0o077).toBe(0);
  });

  it('appears nowhere when it is broken in the store', async () => {
    await stored(secret({ ...good, 'tls.key': other['tls.key'] ?? '' }));
    expectSilent(await seenOutside());
    expect((await shop.server.get('/readyz?verbose')).text).toContain('quarantine');
    await stored(secret(good));
  });

  it.each(['text', 'json', 'diff'])('appears in nothing that the offline review prints as %s', (format) => {
    const { config, resources } = shop.places;
    const args = ['review', '--config', config, '--resources', resources, '-f', '-', '--operation', 'UPDATE'];
    const objects = [...broken().map(([, object]) => object), secret(other)];
    const { stdout, stderr, status } = spawnSync(process.execPath, [CLI, ...args, '--output', format], {
      input: objects.map((object) => `---\n${JSON.stringify(object)}\n`).join(''),
      encoding: 'utf8',
    });
    expect(status).toBe(1);
    expectSilent([stdout, stderr]);
    if (format === 'diff') expect(stdout).toMatch(/^-sha256 [0-9a-f]{64}\n\+sha256 [0-9a-f]{64}$/m);
  });
});
