import type { Random } from './random.js';
import { ALIASES, type Alias, type Place, randomPlace, randomSpec, type Spec } from './world.js';

/** A change by absolute content, so that a history stays meaningful when steps are taken out of it. */
export interface Put {
  readonly place: Place;
  /** Undefined: gone. */
  readonly spec: Spec | undefined;
}

/** One step of a history; plain data that can be printed and run again. */
export type Step =
  | { readonly do: 'put' | 'delete' | 'awayAndBack'; readonly put: Put }
  | { readonly do: 'noop'; readonly place: Place }
  | { readonly do: 'commit'; readonly check: 'judge' | 'unavailable'; readonly blame: 'all' | 'first' }
  | { readonly do: 'abort'; readonly after: number }
  | { readonly do: 'review'; readonly ledger: readonly Put[]; readonly changes: readonly Put[] }
  | { readonly do: 'replace'; readonly alias: Alias; readonly puts: readonly Put[]; readonly keep: boolean }
  | { readonly do: 'trim'; readonly put: Put }
  | { readonly do: 'lift'; readonly at: number }
  | { readonly do: 'restart' };

const WEIGHTS = {
  put: 42,
  delete: 10,
  awayAndBack: 5,
  noop: 4,
  commit: 26,
  abort: 5,
  review: 14,
  replace: 2,
  trim: 1,
  lift: 2,
  restart: 1,
};

export function randomSteps(random: Random): Step[] {
  const first = Array.from({ length: 3 + random.int(10) }, () => randomStep(random, 'put'));
  const rest = Array.from({ length: 8 + random.int(16) }, () => randomStep(random, random.weighted(WEIGHTS)));
  const commit = { do: 'commit', check: 'judge', blame: 'all' } as const;
  return [...first, commit, ...rest, commit];
}

function randomStep(random: Random, kind: keyof typeof WEIGHTS): Step {
  switch (kind) {
    case 'put':
    case 'awayAndBack':
    case 'trim':
      return { do: kind, put: randomPut(random, 0) };
    case 'delete':
      return { do: kind, put: { place: randomPlace(random), spec: undefined } };
    case 'noop':
      return { do: kind, place: randomPlace(random) };
    case 'commit':
      return {
        do: kind,
        check: random.chance(85) ? 'judge' : 'unavailable',
        blame: random.chance(70) ? 'all' : 'first',
      };
    case 'abort':
      return { do: kind, after: 1 + random.int(5) };
    case 'review':
      return {
        do: kind,
        ledger: randomPuts(random, random.chance(30) ? 2 : 0),
        changes: randomPuts(random, 1 + random.int(3)),
      };
    case 'replace':
      return {
        do: kind,
        alias: random.pick(ALIASES),
        puts: randomPuts(random, random.int(4)),
        keep: random.chance(60),
      };
    case 'lift':
      return { do: kind, at: random.int(3) };
    case 'restart':
      return { do: kind };
  }
}

function randomPut(random: Random, deletions: number): Put {
  const place = randomPlace(random);
  return { place, spec: random.chance(deletions) ? undefined : randomSpec(random) };
}

function randomPuts(random: Random, count: number): Put[] {
  return Array.from({ length: count }, () => randomPut(random, 30));
}

/** The step on one line. */
export function describeStep(step: Step): string {
  const { do: kind, ...rest } = step;
  return `${kind} ${JSON.stringify(rest)}`;
}
