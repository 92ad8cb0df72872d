/** The middle value; of an even number the mean of the two in the middle. NaN of nothing. */
export function median(values: readonly number[]): number {
  return (quantile(values, 0.5, Math.floor) + quantile(values, 0.5, Math.ceil)) / 2;
}

/** The smallest value that at least this share of all does not exceed. */
export function percentile(values: readonly number[], share: number): number {
  const sorted = [...values].sort((a, b) => a - b);
  return sorted[Math.max(0, Math.ceil(sorted.length * share) - 1)] ?? Number.NaN;
}

/** Both sides were measured in pairs, one right after the other, so that what slows the machine slows both. */
export function medianRatio(numerators: readonly number[], denominators: readonly number[]): number {
  return median(numerators.map((value, at) => value / (denominators[at] ?? Number.NaN)));
}

function quantile(values: readonly number[], share: number, round: (at: number) => number): number {
  const sorted = [...values].sort((a, b) => a - b);
  return sorted[round((sorted.length - 1) * share)] ?? Number.NaN;
}

/** Runs it once and gives the milliseconds it took. */
export function timed(run: () => void): number {
  const started = performance.now();
  run();
  return performance.now() - started;
}

/** Collects garbage first, so that no side pays for what the other left. The program is started with --expose-gc. */
export function collectGarbage(): void {
  if (globalThis.gc === undefined) throw new Error('start the benchmarks with node --expose-gc');
  globalThis.gc();
}
