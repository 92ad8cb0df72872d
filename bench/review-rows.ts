import { ingress, placeOf } from './data.js';
import { HttpsClient } from './https-client.js';
import { reviewOf, verdictOf } from './review-request.js';
import { serveCluster, type Served, serveEcho } from './served.js';
import { median, medianRatio } from './statistics.js';
import { atMost, reported, type Row } from './table.js';

const REVIEWS = 2_000;
/** Requests in a row to one server before the next has its turn: caches are warm, and the machine is the same for all. */
const BLOCK = 40;
const CONNECTIONS = 16;

/**
 * Reviews over HTTPS on one keep-alive connection. Server, echo and client are processes of their own; each review is the
 * UPDATE of another Ingress, none like any before, and is answered by render and an in-process yes for a checker.
 */
export async function reviewRows(): Promise<readonly Row[]> {
  const small = await serveCluster(300, () => 'yes');
  const large = await serveCluster(3_000, () => 'yes');
  const echo = await serveEcho();
  try {
    const sides = [new Side(small, 300), new Side(large, 3_000), new Side(echo, 3_000, true)] as const;
    for (const side of sides) await side.block(400);
    const medians: [number[], number[], number[]] = [[], [], []];
    for (let done = 0; done < REVIEWS; done += BLOCK) {
      for (const [at, side] of sides.entries()) medians[at]?.push(median(await side.block(BLOCK)));
    }
    const parallel = await parallelReviews(large);
    return rowsOf(medians, parallel);
  } finally {
    await Promise.all([small.close(), large.close(), echo.close()]);
  }
}

function rowsOf(
  [small, large, echo]: readonly [number[], number[], number[]],
  parallel: { perSecond: number; medianMs: number },
): readonly Row[] {
  const note = `JIT warm (400 first); ${REVIEWS} reviews each, in turns of ${BLOCK}; server, echo and client in own processes`;
  return [
    atMost('review-3000-to-300', medianRatio(large, small), 1.65, 'x the time at 300', note),
    atMost('review-3000-to-echo', medianRatio(large, echo), 2.5, 'x a bare echo', note),
    reported('review-300-ms', median(small), 'ms', 'JIT warm; median of the turns'),
    reported('review-3000-ms', median(large), 'ms', 'JIT warm; median of the turns'),
    reported('echo-ms', median(echo), 'ms', 'JIT warm; express over HTTPS, the same body'),
    reported(
      'review-3000-16-connections',
      parallel.perSecond,
      'reviews/s',
      `JIT warm; median ${parallel.medianMs.toFixed(2)} ms each`,
    ),
  ];
}

let version = 0;

/** One server and the connection to it. */
class Side {
  readonly #client: HttpsClient;

  constructor(
    served: Served,
    private readonly ingresses: number,
    private readonly echoes = false,
  ) {
    this.#client = new HttpsClient(served.port, served.ca, 1);
  }

  async block(length: number): Promise<number[]> {
    const times: number[] = [];
    for (let at = 0; at < length; at++) {
      const body = nextReview(this.ingresses);
      const { text, ms } = await this.#client.post('/validate?timeout=10s', body);
      if (this.echoes ? text !== body : !verdictOf(text).allowed) throw new Error(`not what was expected: ${text}`);
      times.push(ms);
    }
    return times;
  }
}

/** An UPDATE that changes route and timeout of another Ingress than the ones before. */
function nextReview(ingresses: number): string {
  const place = placeOf((++version * 71) % ingresses);
  return reviewOf('UPDATE', ingress(place, version), ingress(place, 0));
}

async function parallelReviews(served: Served): Promise<{ perSecond: number; medianMs: number }> {
  const client = new HttpsClient(served.port, served.ca, CONNECTIONS);
  const times: number[] = [];
  const worker = async (count: number): Promise<void> => {
    for (let at = 0; at < count; at++) {
      const { text, ms } = await client.post('/validate?timeout=10s', nextReview(3_000));
      if (!verdictOf(text).allowed) throw new Error(`not allowed: ${text}`);
      times.push(ms);
    }
  };
  const all = (count: number): Promise<unknown> =>
    Promise.all(Array.from({ length: CONNECTIONS }, () => worker(count)));
  await all(20);
  times.length = 0;
  const started = performance.now();
  await all(100);
  const perSecond = (times.length / (performance.now() - started)) * 1000;
  await client.close();
  return { perSecond, medianMs: median(times) };
}
