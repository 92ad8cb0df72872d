import type { PlainExpectation } from './case-schema.js';
import { readRelease } from './case-world.js';
import type { CaseWorld } from './case-world.js';
import { asksForOutput, judgeOutput } from './expectations.js';
import { judgeRoutes } from './routes.js';

/** Processes that were killed are gone a moment later. */
const PROCESS_GRACE_MS = 2_000;
const LOOK_AGAIN_MS = 20;

/**
 * The fields that speak of processes and of what is rendered. `release` gives the directory of what is rendered now;
 * it is called only when that is asked for.
 */
export async function judgeState(
  world: CaseWorld,
  release: () => Promise<string>,
  expect: PlainExpectation,
): Promise<string[]> {
  const failures: string[] = [];
  if (expect.processesLeft !== undefined) failures.push(...(await judgeProcesses(world, expect.processesLeft)));
  if (expect.canaryRan !== undefined && expect.canaryRan !== world.canaryRan()) {
    failures.push(`canaryRan: expected ${expect.canaryRan}, got ${world.canaryRan()}`);
  }
  if (asksForOutput(expect)) {
    failures.push(...judgeOutput(expect, { output: readRelease(await release()), seen: world.shim.seen() }));
  }
  if (expect.routes !== undefined) failures.push(...(await judgeRoutes(world.haproxy, await release(), expect.routes)));
  return failures;
}

async function judgeProcesses({ shim }: CaseWorld, expected: number): Promise<string[]> {
  const deadline = Date.now() + PROCESS_GRACE_MS;
  while (shim.processes() > expected && Date.now() < deadline) {
    await new Promise((resolve) => setTimeout(resolve, LOOK_AGAIN_MS));
  }
  const left = shim.processes();
  return left > expected ? [`processesLeft: expected ${expected}, got ${left}`] : [];
}
