import { setTimeout } from 'node:timers/promises';
import { parentPort, workerData } from 'node:worker_threads';
import { HttpsClient } from './https-client.js';

/** What the probe is started with. */
export interface ProbeTarget {
  readonly port: number;
  readonly ca: string;
}

/** Between two probes; each is over before the next one begins. */
const PAUSE_MS = 5;

/** A thread of its own, so that the times are those of the server and not of a client that is busy with reviews. */
const { port, ca } = workerData as ProbeTarget;
const client = new HttpsClient(port, ca, 1);
const times: number[] = [];
let isDone = false;
parentPort?.on('message', () => {
  isDone = true;
});
await client.get('/livez');
parentPort?.postMessage('ready');
while (!isDone) {
  const { status, ms } = await client.get('/livez');
  times.push(status === 200 ? ms : Number.POSITIVE_INFINITY);
  await setTimeout(PAUSE_MS);
}
await client.close();
parentPort?.postMessage(times);
parentPort?.close();
