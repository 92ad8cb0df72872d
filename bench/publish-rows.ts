import { existsSync, readFileSync, readlinkSync } from 'node:fs';
import { join } from 'node:path';
import { setTimeout } from 'node:timers/promises';
import { bareCheckMs, haproxyPath } from './counted-checker.js';
import { placeOf, writeApplication } from './data.js';
import { shippedConfig } from './engine.js';
import { serveCluster, type Served } from './served.js';
import { median, medianRatio } from './statistics.js';
import { atMost, reported, type Row } from './table.js';

const SIZE = 3_000;
const WARM_UP = 8;
const ROUNDS = 25;
const LONGEST_WAIT_MS = 30_000;

/** A changed file in the resources directory until the new output is in place; the server is a process of its own. */
export async function publishRows(): Promise<readonly Row[]> {
  const served = await serveCluster(SIZE, () => ({ program: haproxyPath() }));
  const { debounceMs } = shippedConfig().render;
  try {
    const published: number[] = [];
    const bare: number[] = [];
    // Reviews are judged from the accepted root on, which is a moment before its output is in place.
    while (!existsSync(join(served.output, 'current'))) await setTimeout(1);
    for (let round = 0; round < WARM_UP + ROUNDS; round++) {
      const publishedMs = await changeUntilPublished(served, (round * 71) % SIZE, round + 1);
      const bareMs = bareCheckMs(join(served.output, 'current'));
      if (round < WARM_UP) continue;
      published.push(publishedMs);
      bare.push(bareMs);
    }
    const afterDebounce = published.map((ms) => ms - debounceMs);
    const note = `JIT warm (${WARM_UP} first), real checker; the declared debounce of ${debounceMs} ms is taken off`;
    return [
      atMost('file-to-output-3000', medianRatio(afterDebounce, bare), 1.6, 'x a bare haproxy -c', note),
      reported('file-to-output-3000-ms', median(published), 'ms', 'JIT warm; debounce included'),
      reported('bare-check-3000-ms', median(bare), 'ms', 'haproxy -c on the same files, alone'),
    ];
  } finally {
    await served.close();
  }
}

/** From the rename of the file until `current` stands for an output with the change. */
async function changeUntilPublished(served: Served, number: number, version: number): Promise<number> {
  const link = join(served.output, 'current');
  const before = readlinkSync(link);
  writeApplication(served.resources, number, version);
  const started = performance.now();
  while (readlinkSync(link) === before) {
    if (performance.now() - started > LONGEST_WAIT_MS) throw new Error('the change was not published in 30 s');
    await setTimeout(1);
  }
  const ms = performance.now() - started;
  const route = `${placeOf(number).host}/v${version}/`;
  if (!readFileSync(join(link, 'paths.map'), 'utf8').includes(route)) throw new Error(`${route} is not in the output`);
  return ms;
}
