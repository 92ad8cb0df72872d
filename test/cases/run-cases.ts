import { readFileSync, readdirSync } from 'node:fs';
import { join } from 'node:path';

import { parse } from 'yaml';

import { readCase } from './case-schema.js';
import type { Case, Runner } from './case-schema.js';
import { buildWorld } from './case-world.js';
import { runOverHttps } from './https-runner.js';
import { runOffline } from './offline-runner.js';

/** One file through one runner; a file that is no case fails once, without a runner. */
export interface CaseTest {
  /** `bad-regex-path.yaml https`. */
  readonly name: string;
  /** One line for each failing expectation; empty when it passed. Never rejects. */
  run(): Promise<readonly string[]>;
}

/** Runs at once: the machine that the bounds are meant for has two cores. */
export const CONCURRENCY = 2;

const RUNNERS = { https: runOverHttps, offline: runOffline } as const;

/** All tests of a directory of case files, in the order of their names. */
export function findCaseTests(directory: string): CaseTest[] {
  const names = readdirSync(directory).filter((name) => /\.ya?ml$/.test(name));
  return names.sort().flatMap((name) => testsOf(directory, name));
}

function testsOf(directory: string, name: string): CaseTest[] {
  const read = readCaseFile(join(directory, name));
  if (!read.ok) return [{ name, run: () => Promise.resolve(read.problems) }];
  return read.case.runners.map((runner) => ({ name: `${name} ${runner}`, run: () => runCase(read.case, runner) }));
}

function readCaseFile(path: string): ReturnType<typeof readCase> {
  try {
    return readCase(parse(readFileSync(path, 'utf8'), { maxAliasCount: -1 }));
  } catch (error) {
    return { ok: false, problems: [`not a case: ${error instanceof Error ? error.message : String(error)}`] };
  }
}

async function runCase(source: Case, runner: Runner): Promise<readonly string[]> {
  try {
    const world = await buildWorld(source);
    try {
      return await RUNNERS[runner](world);
    } finally {
      world.remove();
    }
  } catch (error) {
    return [`the case did not come to its end: ${error instanceof Error ? error.message : String(error)}`];
  }
}

/** Runs jobs in their order, at most `limit` at once; gives what each call gives, as soon as that one is done. */
export function createPool(limit: number): <T>(job: () => Promise<T>) => Promise<T> {
  const waiting: (() => void)[] = [];
  let running = 0;
  return async (job) => {
    if (running >= limit) await new Promise<void>((resolve) => waiting.push(resolve));
    else running += 1;
    try {
      return await job();
    } finally {
      // A place goes straight to the next in line, else it is free.
      const next = waiting.shift();
      if (next === undefined) running -= 1;
      else next();
    }
  };
}
