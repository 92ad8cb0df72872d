import type { Step } from './steps.js';

/** What a run has seen; a run that has never met one of these proves nothing about it. */
export interface Tally {
  histories: number;
  commits: number;
  reviews: number;
  executions: number;
  readonly steps: Record<Step['do'], number>;
  readonly seen: Record<(typeof SEEN)[number], number>;
}

const STEPS = [
  'put',
  'delete',
  'awayAndBack',
  'noop',
  'swap',
  'commit',
  'abort',
  'review',
  'replace',
  'trim',
  'lift',
  'restart',
] as const;
const SEEN = [
  ...['cold', 'warm', 'failed', 'stopped', 'refused', 'unchecked', 'servedOld', 'leftOut', 'lifted'],
  ...['reviewFaults', 'unchanged', 'warnings', 'takeovers', 'combined'],
] as const;

export function emptyTally(): Tally {
  const zeros = (names: readonly string[]): Record<string, number> =>
    Object.fromEntries(names.map((name) => [name, 0]));
  return {
    histories: 0,
    commits: 0,
    reviews: 0,
    executions: 0,
    steps: zeros(STEPS) as Tally['steps'],
    seen: zeros(SEEN) as Tally['seen'],
  };
}

/** Kinds of steps and of outcomes that never came up. */
export function neverSeen({ steps, seen }: Tally): readonly string[] {
  return Object.entries({ ...steps, ...seen }).flatMap(([name, count]) => (count === 0 ? [name] : []));
}

export function describeTally({ steps, seen }: Tally): string {
  const text = (counts: Record<string, number>): string =>
    Object.entries(counts)
      .map(([name, count]) => `${name} ${count}`)
      .join(', ');
  return `steps: ${text(steps)}\noutcomes: ${text(seen)}`;
}
