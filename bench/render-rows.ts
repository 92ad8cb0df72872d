import { RenderThread } from '../src/render/render-thread.js';
import type { ObjectChange } from '../src/render/protocol.js';
import type { Renderer } from '../src/render/renderer.js';
import { type PlainFile, plainStore, type PlainStore, renderPlain } from './baseline.js';
import { cluster, ingress, placeOf } from './data.js';
import {
  changesOf,
  fedRenderer,
  reconcile,
  type Rendered,
  shippedConfig,
  type TemplateWorld,
  templateWorld,
} from './engine.js';
import { collectGarbage, median, medianRatio, timed } from './statistics.js';
import { allEqual, atLeast, atMost, reported, type Row } from './table.js';

const SIZE = 3_000;
/** Runs of both sides before anything counts. */
const WARM_UP = 8;
/** Changes in a row, of which the median counts, for one run of baseline A: that one clears what the processor had cached. */
const CHANGES_PER_PAIR = 5;

/** Cold render of 3,000 Ingresses against baseline A, and on a thread that has just started. */
export async function coldRows(): Promise<readonly Row[]> {
  const world = templateWorld();
  const engine: number[] = [];
  const plain: number[] = [];
  for (let round = 0; round < WARM_UP + 9; round++) {
    const pair = coldPair(world);
    if (round < WARM_UP) continue;
    engine.push(pair.engineMs);
    plain.push(pair.plainMs);
  }
  const thread = await freshThreadMs();
  const note = `JIT warm (${WARM_UP} runs of both first), same process and compartment, flat text included`;
  return [
    atMost('cold-render-3000', medianRatio(engine, plain), 2, 'x A', note),
    reported('cold-render-3000-ms', median(engine), 'ms', `JIT warm; ${SIZE} Ingresses, 5 instances each`),
    reported('baseline-a-3000-ms', median(plain), 'ms', 'JIT warm; templates over all objects, flat join'),
    reported('cold-render-3000-fresh-thread', median(thread), 'ms', 'JIT cold: first render of a thread just started'),
  ];
}

function coldPair(world: TemplateWorld): { engineMs: number; plainMs: number } {
  const renderer = fedRenderer(world, SIZE);
  const stores = plainStoresOf(world, renderer);
  let plainFiles: readonly PlainFile[] = [];
  let files: readonly PlainFile[] = [];
  collectGarbage();
  const plainMs = timed(() => (plainFiles = renderPlain(world.host, world.plan, stores)));
  collectGarbage();
  const engineMs = timed(() => (files = renderer.files(reconcile(renderer).render)));
  assertEqual(files, plainFiles);
  return { engineMs, plainMs };
}

/** A thread of its own, as the program starts it, with nothing compiled or optimized yet. */
async function freshThreadMs(): Promise<number[]> {
  const times: number[] = [];
  for (let round = 0; round < 3; round++) {
    const thread = new RenderThread(shippedConfig());
    await thread.request('store', { changes: changesOf(cluster(SIZE)) });
    const reply = await thread.request('reconcile', { timeoutMs: undefined });
    if (reply.kind === 'rendered') times.push(reply.renderMs);
    await thread.terminate();
  }
  return times;
}

/** One changed Ingress: against baseline A at 3,000, and the work it takes, counted, at three sizes. */
export function changeRows(): Promise<readonly Row[]> {
  const world = templateWorld();
  const counts = [300, 1_000, SIZE].map((size) => changeCounts(world, size));
  const { engine, plain } = changeTimes(world);
  const executed = counts.map((count) => count.executed);
  const verified = counts.map((count) => count.verified);
  const sizes = 'at 300, 1,000 and 3,000 Ingresses';
  const note = `JIT warm (${WARM_UP} runs of both first), same process, parsing the object and flat text included`;
  return Promise.resolve([
    atLeast('one-change-3000', medianRatio(plain, engine), 38, 'x faster than A', note),
    reported('one-change-3000-ms', median(engine), 'ms', 'JIT warm; store, render, accept, flat text'),
    reported('one-change-3000-a-ms', median(plain), 'ms', 'JIT warm; the same state by baseline A'),
    allEqual('one-change-executed', executed, 'instances', `${sizes}: ${executed.join(', ')}`),
    allEqual('one-change-verified', verified, 'nodes', `${sizes}: ${verified.join(', ')}`),
  ]);
}

/** Work of the second to the tenth change, the first one apart: it may fill what no render before it needed. */
function changeCounts(world: TemplateWorld, size: number): { executed: number; verified: number } {
  const renderer = fedRenderer(world, size);
  reconcile(renderer);
  const replies = Array.from({ length: 10 }, (_, at) => change(renderer, (at * 37) % size, at + 1)).slice(1);
  const sum = (count: (reply: Rendered) => number): number => replies.reduce((total, reply) => total + count(reply), 0);
  return { executed: sum((reply) => reply.executed), verified: sum((reply) => reply.verified) };
}

function change(renderer: Renderer, number: number, version: number): Rendered {
  renderer.stores.apply(changesOf([ingress(placeOf(number), version)]));
  const reply = reconcile(renderer);
  renderer.release(reply.render);
  return reply;
}

function changeTimes(world: TemplateWorld): { engine: number[]; plain: number[] } {
  const renderer = fedRenderer(world, SIZE);
  reconcile(renderer);
  const engine: number[] = [];
  const plain: number[] = [];
  let files: readonly PlainFile[] = [];
  for (let round = 0; round < WARM_UP + 40; round++) {
    const times = Array.from({ length: CHANGES_PER_PAIR }, (_, at) => {
      const number = round * CHANGES_PER_PAIR + at;
      const changes = changesOf([ingress(placeOf((number * 71) % SIZE), number + 1)]);
      return timed(() => (files = filesAfter(renderer, changes)));
    });
    const stores = plainStoresOf(world, renderer);
    let plainFiles: readonly PlainFile[] = [];
    const plainMs = timed(() => (plainFiles = renderPlain(world.host, world.plan, stores)));
    assertEqual(files, plainFiles);
    if (round < WARM_UP) continue;
    engine.push(median(times));
    plain.push(plainMs);
  }
  return { engine, plain };
}

function filesAfter(renderer: Renderer, changes: readonly ObjectChange[]): readonly PlainFile[] {
  renderer.stores.apply(changes);
  const { render } = reconcile(renderer);
  const files = renderer.files(render);
  renderer.release(render);
  return files;
}

function plainStoresOf(world: TemplateWorld, renderer: Renderer): ReadonlyMap<string, PlainStore> {
  const snapshots = renderer.stores.snapshots();
  return new Map(
    world.config.watchedResources.map(({ alias, indexBy }) => [
      alias,
      plainStore(snapshots.get(alias)?.list() ?? [], indexBy),
    ]),
  );
}

/** Two programs that compute different things are not compared. */
function assertEqual(engine: readonly PlainFile[], plain: readonly PlainFile[]): void {
  if (engine.length !== plain.length) throw new Error(`${engine.length} files, baseline A has ${plain.length}`);
  engine.forEach(({ name, text }, at) => {
    const other = plain[at];
    if (other?.name !== name || other.text !== text) throw new Error(`${name} differs from what baseline A renders`);
  });
}
