import { fork } from 'node:child_process';
import { fileURLToPath } from 'node:url';
import { parseArgs } from 'node:util';
import { SUITES, type Suite } from './suites.js';
import { type Row, tableOf } from './table.js';

const HELP = `usage: npm run bench -- [--json] [--only NAME] [--report-only]

  --json         print a JSON list of rows {name, value, unit, bound, ok, note} and nothing else
  --only NAME    measure and print one row
  --report-only  exit with 0 whatever the bounds say
  --list         print the names of all rows

Exit code: 0 when every row keeps its bound, 1 when one does not, 2 when a benchmark could not run.
`;

interface Options {
  readonly json: boolean;
  readonly only: string | undefined;
  readonly reportOnly: boolean;
}

async function main(): Promise<number> {
  const options = readOptions();
  if (typeof options === 'number') return options;
  const rows: Row[] = [];
  for (const [name, suite] of Object.entries(SUITES)) {
    if (!isWanted(suite, options)) continue;
    if (!options.json) process.stderr.write(`bench: ${suite.rows.join(', ')} ...\n`);
    rows.push(...(await runSuite(name)));
  }
  const shown = rows.filter((row) => options.only === undefined || row.name === options.only);
  process.stdout.write(options.json ? `${JSON.stringify(shown, undefined, 2)}\n` : tableOf(shown));
  return options.reportOnly || shown.every((row) => row.ok) ? 0 : 1;
}

function readOptions(): Options | number {
  const flag = { type: 'boolean', default: false } as const;
  try {
    const { values } = parseArgs({
      options: { json: flag, only: { type: 'string' }, 'report-only': flag, list: flag, help: { ...flag, short: 'h' } },
    });
    const names = Object.values(SUITES).flatMap((suite) => suite.rows);
    if (values.help) return printed(HELP);
    if (values.list) return printed(`${names.join('\n')}\n`);
    if (values.only !== undefined && !names.includes(values.only))
      return misused(`there is no row "${values.only}"; see --list`);
    return { json: values.json, only: values.only, reportOnly: values['report-only'] };
  } catch (error) {
    return misused(error instanceof Error ? error.message : String(error));
  }
}

function printed(text: string): number {
  process.stdout.write(text);
  return 0;
}

function misused(reason: string): number {
  process.stderr.write(`error: ${reason}\n${HELP}`);
  return 2;
}

function isWanted(suite: Suite, options: Options): boolean {
  return options.only === undefined || suite.rows.includes(options.only);
}

/** Rejects when the process ends without having sent its rows. */
function runSuite(name: string): Promise<readonly Row[]> {
  const program = fileURLToPath(new URL('./suite-process.js', import.meta.url));
  const child = fork(program, [name], { stdio: ['ignore', 2, 2, 'ipc'] });
  return new Promise((resolve, reject) => {
    child.once('message', (rows) => resolve(rows as readonly Row[]));
    child.once('exit', (code, signal) => reject(new Error(`benchmark ${name} ended with ${signal ?? code}`)));
  });
}

try {
  process.exitCode = await main();
} catch (error) {
  process.stderr.write(`error: ${error instanceof Error ? error.message : String(error)}\n`);
  process.exitCode = 2;
}
