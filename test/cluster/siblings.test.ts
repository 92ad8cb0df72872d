import { networkInterfaces } from 'node:os';
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, it } from '@jest/globals';
import pino from 'pino';
import { ApiClient } from '../../src/cluster/api-client.js';
import { type SiblingOptions, Siblings } from '../../src/cluster/siblings.js';
import type { IssuedCertificate } from '../../src/cluster/issue-certificate.js';
import { developmentCertificate } from '../../src/server/development-certificate.js';
import { freePorts } from '../deploy/origin.js';
import { makeScratch } from '../support/scratch.js';
import { FakeApiServer, list, refusal } from './fake-api-server.js';
import { type Answer, COLD, GRAPH, says, type SiblingServer, startSibling, startSilence } from './sibling-server.js';

const NAME = 'rendergate.infra.svc';
const [OWN, SECOND, THIRD] = ['127.0.0.1', '127.0.0.2', '127.0.0.3'] as const;

const hasIPv6 = Object.values(networkInterfaces()).some((all) => all?.some(({ address }) => address === '::1'));

const scratch = makeScratch('rg-siblings-');
let named: IssuedCertificate;
let unnamed: IssuedCertificate;
let fake: FakeApiServer;
let port: number;
let client: ApiClient;
let siblings: Siblings;
let log: Record<string, unknown>[];
let running: { stop(): Promise<void> }[];

beforeAll(async () => {
  named = await developmentCertificate(scratch.folder('named'), [NAME]);
  unnamed = await developmentCertificate(scratch.folder('unnamed'), [SECOND]);
});

afterAll(() => scratch.remove());

beforeEach(async () => {
  fake = await FakeApiServer.start();
  client = new ApiClient({ kubeconfig: fake.kubeconfig });
  [port = 0] = await freePorts(1);
  running = [];
  log = [];
  siblings = open();
});

afterEach(async () => {
  siblings.close();
  await client.close();
  await fake.stop();
  await Promise.all(running.map((server) => server.stop()));
});

function open(options: Partial<SiblingOptions> = {}): Siblings {
  const lines = pino({ level: 'debug' }, { write: (line: string) => log.push(JSON.parse(line)) });
  const place = { client, namespace: 'infra', service: 'rendergate', ownAddress: OWN, port };
  return new Siblings({ ...place, serverName: NAME, ca: () => named.ca, log: lines, ...options });
}

async function start(address: string, answer: Answer, pair = named): Promise<SiblingServer> {
  const sibling = await startSibling(address, port, pair, answer);
  running.push(sibling);
  return sibling;
}

type Endpoint = readonly [address: string, ready?: boolean];

/** One EndpointSlice for each argument. */
function slices(...all: readonly (readonly Endpoint[])[]): void {
  const items = all.map((endpoints) => ({
    metadata: { name: 'rendergate-x', namespace: 'infra' },
    endpoints: endpoints.map(([address, ready]) => ({
      addresses: [address],
      conditions: ready === undefined ? {} : { ready },
    })),
  }));
  fake.lists.splice(0, Infinity, list(1, items));
}

async function until(condition: () => Promise<boolean>): Promise<void> {
  while (!(await condition())) await new Promise((resolve) => setTimeout(resolve, 20));
}

describe('what is asked', () => {
  it('is the EndpointSlices of the Service, by its label', async () => {
    const calls: (string | undefined)[] = [];
    fake.lists.push((response, _query, request) => {
      calls.push(request.url);
      response.end('{"items":[]}');
    });
    expect(await siblings.ask()).toEqual({ kind: 'none', reason: 'no other replica is Ready' });
    expect(calls).toEqual([
      '/apis/discovery.k8s.io/v1/namespaces/infra/endpointslices?labelSelector=kubernetes.io%2Fservice-name%3Drendergate',
    ]);
  });

  it('is every Ready address once, of all slices, and never the own one', async () => {
    const [own, second, third] = [await start(OWN, GRAPH), await start(SECOND, COLD), await start(THIRD, COLD)];
    slices(
      [
        [OWN, true],
        [SECOND, true],
      ],
      [[SECOND, false], [THIRD]],
    );
    expect(await siblings.ask()).toEqual({
      kind: 'none',
      reason: 'none of the 2 Ready siblings has a graph either',
    });
    // The answer of a sibling that asked in turn would wait for ours.
    expect([own.asked, second.asked, third.asked]).toEqual([
      [],
      ['/readyz/render-graph?own'],
      ['/readyz/render-graph?own'],
    ]);
  });

  it('is nobody who is not Ready, as a replica that is cold, or going', async () => {
    const second = await start(SECOND, GRAPH);
    slices([[SECOND, false]]);
    expect((await siblings.ask()).kind).toBe('none');
    expect(second.asked).toEqual([]);
  });

  (hasIPv6 ? it : it.skip)('is asked over IPv6 too', async () => {
    const six = await start('::1', GRAPH);
    slices([['::1', true]]);
    expect(await siblings.ask()).toEqual({ kind: 'graph', reason: `[::1]:${port} has one` });
    expect(six.asked).toHaveLength(1);
  });

  it('is not the own address, however it is written', async () => {
    slices([['fd00::1', true]]);
    expect((await open({ ownAddress: 'FD00:0:0:0:0:0:0:1' }).ask()).kind).toBe('none');
  });

  it('is shared by probes that come together, and for a moment after', async () => {
    const second = await start(SECOND, COLD);
    slices([[SECOND, true]]);
    const together = await Promise.all([siblings.ask(), siblings.ask(), siblings.ask()]);
    expect(together.map(({ kind }) => kind)).toEqual(['none', 'none', 'none']);
    await siblings.ask();
    expect([fake.calls, second.asked]).toEqual([['list'], [expect.any(String)]]);
    second.answer = GRAPH;
    await until(async () => (await siblings.ask()).kind === 'graph');
    expect(second.asked).toHaveLength(2);
  });

  it('is at most 32 siblings at once; those beyond cannot be ruled out', async () => {
    const addresses = Array.from({ length: 33 }, (_, at) => `127.0.1.${at + 1}`);
    const all = await Promise.all(addresses.map((address) => start(address, COLD)));
    slices(addresses.map((address) => [address, true]));
    expect(await siblings.ask()).toEqual({ kind: 'unknown', reason: 'only 32 of 33 Ready siblings were asked' });
    expect(all.flatMap(({ asked }) => asked)).toHaveLength(32);
    slices(addresses.slice(1).map((address) => [address, true]));
    expect((await open().ask()).kind).toBe('none');
  });
});

describe('a sibling', () => {
  const endless: Answer = (response) => {
    response.writeHead(200);
    const more = (): boolean => response.write('ok'.repeat(1_000), () => void (response.destroyed || more()));
    more();
  };

  it.each<[string, Answer, string, RegExp]>([
    ['that says exactly "ok" has a graph', GRAPH, 'graph', /^127\.0\.0\.2:\d+ has one$/],
    ['that adds a note has none', COLD, 'none', /either$/],
    ['whose entry fails has none', says(500, 'internal server error: no graph yet\n'), 'none', /either$/],
    ['that says more than "ok" rules nothing out', says(200, 'ok\n'), 'unknown', /as a sibling does \(status 200\)$/],
    ['that says nothing rules nothing out', says(200, ''), 'unknown', /status 200/],
    ['that fails in other words rules nothing out', says(500, 'oops'), 'unknown', /status 500/],
    ['that is no replica of ours rules nothing out', says(404, 'ok'), 'unknown', /status 404/],
    ['whose answer has no end rules nothing out', endless, 'unknown', /cannot be asked: .*exceeded max size$/],
    ['that hangs up rules nothing out', (response) => response.destroy(), 'unknown', /cannot be asked: /],
    ['that never answers rules nothing out', () => undefined, 'unknown', /cannot be asked: no answer in 700 ms$/],
    [
      'that stops in the middle rules nothing out',
      (response) => void response.writeHead(200, { 'content-length': '2' }).write('o'),
      'unknown',
      /no answer in 700 ms$/,
    ],
  ])('%s', async (_how, answer, kind, reason) => {
    await start(SECOND, answer);
    slices([[SECOND, true]]);
    expect(await siblings.ask()).toEqual({ kind, reason: expect.stringMatching(reason) });
  });

  it('that sends elsewhere is not followed', async () => {
    const third = await start(THIRD, GRAPH);
    const location = `https://${THIRD}:${port}/readyz/render-graph`;
    await start(SECOND, says(302, 'ok', { location }));
    slices([[SECOND, true]]);
    expect(await siblings.ask()).toMatchObject({ kind: 'unknown', reason: expect.stringContaining('status 302') });
    expect(third.asked).toEqual([]);
  });

  it('that is gone rules nothing out until its address leaves the slices', async () => {
    slices([[SECOND, true]]);
    expect(await siblings.ask()).toMatchObject({ kind: 'unknown', reason: expect.stringContaining('ECONNREFUSED') });
    slices([[SECOND, false]]);
    await until(async () => (await siblings.ask()).kind === 'none');
  });

  it('that takes the connection and no more rules nothing out', async () => {
    running.push(await startSilence(SECOND, port));
    slices([[SECOND, true]]);
    expect(await siblings.ask()).toMatchObject({ kind: 'unknown', reason: expect.stringContaining('no answer') });
  });

  it('with a graph counts whatever the others do', async () => {
    running.push(await startSilence(SECOND, port));
    await start(THIRD, GRAPH);
    slices([
      [SECOND, true],
      [THIRD, true],
      ['127.0.0.4', true],
    ]);
    expect(await siblings.ask()).toMatchObject({ kind: 'graph', reason: expect.stringContaining(THIRD) });
  });

  it('without one does not speak for another that cannot be asked', async () => {
    await start(SECOND, COLD);
    slices([
      [SECOND, true],
      [THIRD, true],
    ]);
    expect(await siblings.ask()).toMatchObject({ kind: 'unknown', reason: expect.stringContaining(THIRD) });
  });
});

describe('a sibling is not believed', () => {
  it('with a certificate of another CA', async () => {
    const second = await start(SECOND, GRAPH, unnamed);
    slices([[SECOND, true]]);
    expect((await siblings.ask()).kind).toBe('unknown');
    expect(second.asked).toEqual([]);
  });

  it('with a certificate for its address and not for the Service', async () => {
    const second = await start(SECOND, GRAPH, unnamed);
    slices([[SECOND, true]]);
    const report = await open({ ca: () => unnamed.ca }).ask();
    expect(report).toMatchObject({ kind: 'unknown', reason: expect.stringContaining(NAME) });
    expect(second.asked).toEqual([]);
  });

  it('without a CA, not even by those that the machine trusts', async () => {
    const second = await start(SECOND, GRAPH);
    slices([[SECOND, true]]);
    const report = await open({ ca: () => undefined }).ask();
    expect(report).toEqual({ kind: 'unknown', reason: 'there is no CA to verify a sibling with' });
    expect(second.asked).toEqual([]);
  });

  it('by a CA that was replaced meanwhile', async () => {
    await start(SECOND, GRAPH);
    slices([[SECOND, true]]);
    let { ca } = unnamed;
    const asking = open({ ca: () => ca });
    expect((await asking.ask()).kind).toBe('unknown');
    ({ ca } = named);
    await until(async () => (await asking.ask()).kind === 'graph');
  });
});

describe('EndpointSlices that cannot be read rule nothing out:', () => {
  it.each<[string, () => void, RegExp]>([
    ['refused', () => void fake.lists.push(refusal(403)), /403: refused with 403/],
    ['no JSON', () => void fake.lists.push((response) => response.end('{"items":')), /JSON/],
    ['no list', () => void fake.lists.push((response) => response.end('{}')), /the answer is no list$/],
    ['no answer', () => void fake.lists.push(() => undefined), /no answer in 700 ms$/],
    ['no addresses', () => slices([['sibling.example', true]]), /"sibling\.example" is no IP address$/],
    ['an odd address', () => slices([['fe80::1%eth0', true]]), /"fe80::1%eth0" is no IP address$/],
  ])('%s', async (_what, prepare, reason) => {
    prepare();
    expect(await siblings.ask()).toEqual({ kind: 'unknown', reason: expect.stringMatching(reason) });
    expect((await siblings.ask()).reason).toContain('the EndpointSlices of Service rendergate cannot be read');
  });

  it('the API server is away', async () => {
    await fake.stop();
    expect((await siblings.ask()).kind).toBe('unknown');
    fake = await FakeApiServer.start();
  });
});

describe('the log', () => {
  const warnings = (): readonly unknown[] => log.filter(({ level }) => level === 40);

  it('says once that siblings cannot be asked, with the effect and the fix, and again when it comes back', async () => {
    const second = await start(SECOND, says(404, ''));
    slices([[SECOND, true]]);
    await siblings.ask();
    const asked = second.asked.length;
    await until(async () => (await siblings.ask()).kind === 'unknown' && second.asked.length > asked);
    expect(warnings()).toEqual([
      expect.objectContaining({
        service: 'rendergate',
        reason: expect.stringContaining(SECOND),
        effect: expect.stringContaining('not Ready'),
        fix: expect.stringContaining(`port ${port}`),
      }),
    ]);
    second.answer = COLD;
    await until(async () => (await siblings.ask()).kind === 'none');
    second.answer = says(404, '');
    await until(async () => (await siblings.ask()).kind === 'unknown');
    expect(warnings()).toHaveLength(2);
  });
});

describe('closing', () => {
  it('ends what is being asked, without a word in the log', async () => {
    const second = await start(SECOND, () => siblings.close());
    slices([[SECOND, true]]);
    expect(await siblings.ask()).toMatchObject({
      kind: 'unknown',
      reason: expect.stringContaining('this replica is shutting down'),
    });
    expect(second.asked).toHaveLength(1);
    expect(log.filter(({ level }) => Number(level) >= 40)).toEqual([]);
  });
});
