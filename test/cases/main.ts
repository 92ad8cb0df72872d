import { statSync } from 'node:fs';

import { CONCURRENCY, createPool, findCaseTests } from './run-cases.js';
import type { CaseTest } from './run-cases.js';

const USAGE = `Usage: npm run cases -- DIR [FILTER]

Runs every case file (*.yaml) of DIR over HTTPS and offline. FILTER: only tests whose name has this text in it,
where a name is the file and the runner ("missing-secret.yaml offline"). Exit code 1 when anything failed.`;

const [directory, filter = ''] = process.argv.slice(2);
process.exitCode = directory === undefined ? misused(USAGE) : await runDirectory(directory, filter);

async function runDirectory(path: string, words: string): Promise<number> {
  if (!statSync(path, { throwIfNoEntry: false })?.isDirectory()) return misused(`${path} is no directory\n\n${USAGE}`);
  const tests = findCaseTests(path).filter(({ name }) => name.includes(words));
  if (tests.length === 0) return misused(`no case in ${path} has "${words}" in its name\n\n${USAGE}`);
  const pool = createPool(CONCURRENCY);
  const results = await Promise.all(tests.map((test) => pool(() => runAndReport(test))));
  const failed = results.filter((passed) => !passed).length;
  console.log(`${results.length - failed} passed, ${failed} failed`);
  return failed === 0 ? 0 : 1;
}

async function runAndReport(test: CaseTest): Promise<boolean> {
  const started = performance.now();
  const failures = await test.run();
  const seconds = ((performance.now() - started) / 1000).toFixed(1);
  const lines = [
    `${failures.length === 0 ? 'ok    ' : 'FAILED'} ${test.name} (${seconds} s)`,
    ...failures.map((line) => `         ${line}`),
  ];
  console.log(lines.join('\n'));
  return failures.length === 0;
}

function misused(text: string): number {
  console.error(text);
  return 2;
}
