import { join } from 'node:path';
import { setTimeout } from 'node:timers/promises';
import { Worker } from 'node:worker_threads';
import { bareCheckMs, CountedChecker } from './counted-checker.js';
import { ingress, placeOf, refusedIngress } from './data.js';
import { HttpsClient } from './https-client.js';
import { reviewOf, type Verdict, verdictOf } from './review-request.js';
import { serveCluster, type Served } from './served.js';
import { median, percentile } from './statistics.js';
import { atMost, reported, type Row } from './table.js';

const SIZE = 3_000;
const REVIEWS = 150;
/** Bursts before the one that counts: the JIT is warm, and what a first burst allocates for good is there. */
const WARM_UP = 2;
/** So long after a burst nothing of it may be left: the ledger forgets after 5 s. */
const SETTLE_MS = 30_000;

interface Burst {
  readonly ms: number;
  readonly verdicts: readonly Verdict[];
  readonly livezMs: readonly number[];
  readonly runs: number;
  readonly atOnce: number;
}

/**
 * 150 reviews at once with `timeout=10s`, each the CREATE of another host, one of them refused by HAProxy. Server, client and
 * the thread that probes /livez (on the same HTTPS port) do not share an event loop.
 */
export async function burstRows(): Promise<readonly Row[]> {
  const counted: CountedChecker[] = [];
  const served = await serveCluster(SIZE, (folder) => {
    counted.push(new CountedChecker(folder));
    return { program: counted[0]?.program ?? '' };
  });
  const [checker] = counted;
  if (checker === undefined) throw new Error('there is no checker');
  try {
    for (let round = 0; round < WARM_UP; round++) await burst(served, checker, round);
    await setTimeout(SETTLE_MS);
    const before = await served.heap();
    const checks = [bareCheckMs(join(served.output, 'current'))];
    const measured = await burst(served, checker, WARM_UP);
    for (let at = 0; at < 4; at++) checks.push(bareCheckMs(join(served.output, 'current')));
    await setTimeout(SETTLE_MS);
    return rowsOf(measured, median(checks), (await served.heap()) / before);
  } finally {
    await served.close();
  }
}

function rowsOf({ ms, verdicts, livezMs, runs, atOnce }: Burst, checkMs: number, heapRatio: number): readonly Row[] {
  const judged = verdicts.filter(({ allowed, code }) => allowed || (code >= 400 && code < 500)).length;
  const denied = verdicts.filter(({ allowed }) => !allowed);
  const isRight = denied.length === 1 && denied[0] === verdicts[badOne()];
  const note = `JIT warm (${WARM_UP} bursts first); ${REVIEWS} at once at ${SIZE}, real checker`;
  return [
    { ...reported('burst-unjudged', REVIEWS - judged, 'reviews', note), bound: '= 0', ok: judged === REVIEWS },
    { ...reported('burst-denied', denied.length, 'reviews', 'only the bad one'), bound: '= 1', ok: isRight },
    atMost(
      'burst-time',
      ms / checkMs,
      15,
      'x one check',
      `${ms.toFixed(0)} ms; one bare haproxy -c ${checkMs.toFixed(0)} ms`,
    ),
    atMost('burst-checker-runs', runs, 24, 'runs', note),
    atMost('burst-checkers-at-once', atOnce, 2, 'processes', note),
    atMost('burst-livez-p99', percentile(livezMs, 0.99), 100, 'ms', `${livezMs.length} probes while the burst lasts`),
    atMost('burst-livez-max', Math.max(...livezMs), 300, 'ms', 'the slowest of them'),
    atMost('burst-heap', Math.abs(heapRatio - 1) * 100, 10, '% of before', 'after GC, 30 s later, all threads'),
  ];
}

const badOne = (): number => 73;

async function burst(served: Served, checker: CountedChecker, round: number): Promise<Burst> {
  const bodies = Array.from({ length: REVIEWS }, (_, at) => bodyOf(SIZE + round * REVIEWS + at, at === badOne()));
  const client = new HttpsClient(served.port, served.ca, REVIEWS);
  const probe = await startProbe(served);
  checker.reset();
  const started = performance.now();
  const answers = await Promise.all(bodies.map((body) => client.post('/validate?timeout=10s', body)));
  const ms = performance.now() - started;
  const livezMs = await probe.stop();
  await client.close();
  return { ms, verdicts: answers.map(({ text }) => verdictOf(text)), livezMs, ...checker.counts() };
}

/** Numbers behind those of the cluster: places that nobody has yet. */
function bodyOf(number: number, isBad: boolean): string {
  const place = placeOf(number);
  return reviewOf('CREATE', isBad ? refusedIngress(place) : ingress(place, number), null);
}

async function startProbe({ port, ca }: Served): Promise<{ stop(): Promise<number[]> }> {
  const worker = new Worker(new URL('./liveness-probe.js', import.meta.url), { workerData: { port, ca } });
  const message = (): Promise<unknown> =>
    new Promise((resolve, reject) => {
      worker.once('message', resolve);
      worker.once('error', reject);
    });
  await message();
  return {
    stop: () => {
      const times = message();
      worker.postMessage('stop');
      return times as Promise<number[]>;
    },
  };
}
