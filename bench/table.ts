/** One figure. `bound` is what it has to keep (`<= 2`), null where it is only reported; then `ok` is true. */
export interface Row {
  readonly name: string;
  readonly value: number;
  readonly unit: string;
  readonly bound: string | null;
  readonly ok: boolean;
  /** State of the JIT, what stands in which process, and what was measured beside it. */
  readonly note: string;
}

export function reported(name: string, value: number, unit: string, note: string): Row {
  return { name, value: rounded(value), unit, bound: null, ok: true, note };
}

export function atMost(name: string, value: number, limit: number, unit: string, note: string): Row {
  return { name, value: rounded(value), unit, bound: `<= ${limit}`, ok: value <= limit, note };
}

export function atLeast(name: string, value: number, limit: number, unit: string, note: string): Row {
  return { name, value: rounded(value), unit, bound: `>= ${limit}`, ok: value >= limit, note };
}

/** A count that has to be the same in every case; the value is the first one. */
export function allEqual(name: string, counts: readonly number[], unit: string, note: string): Row {
  const [first = Number.NaN] = counts;
  return { name, value: first, unit, bound: `= ${first}`, ok: counts.every((count) => count === first), note };
}

function rounded(value: number): number {
  return Number(value.toPrecision(4));
}

/** The rows as text, one line each, and the failed ones counted at the end. */
export function tableOf(rows: readonly Row[]): string {
  const cells = rows.map(({ name, value, unit, bound, ok, note }) => {
    const verdict = bound === null ? 'reported' : ok ? 'ok' : 'FAILED';
    return [name, String(value), unit, bound ?? '', verdict, note];
  });
  const all = [['name', 'value', 'unit', 'bound', 'ok', 'note'], ...cells];
  const widths = [0, 1, 2, 3, 4].map((column) => Math.max(...all.map((line) => line[column]?.length ?? 0)));
  const lines = all.map((line) =>
    line.map((cell, column) => (column === 1 ? cell.padStart(widths[1] ?? 0) : cell.padEnd(widths[column] ?? 0))),
  );
  const failed = rows.filter((row) => !row.ok).length;
  return `${lines.map((line) => line.join('  ').trimEnd()).join('\n')}\n\n${rows.length} rows, ${failed} failed\n`;
}
