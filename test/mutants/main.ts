import { spawnSync } from 'node:child_process';
import { cpSync, mkdtempSync, readFileSync, rmSync, symlinkSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';

import { PROJECT_ROOT } from '../support/project.js';
import { type Mutant, MUTANTS } from './mutants.js';

/** Enough for the rarest; most are caught by the first ten. */
const HISTORIES = 600;
const SEED = 1;
/** A mutant may make a render endless. */
const LONGEST_MS = 60_000;

process.exitCode = main();

/** Makes each mistake in a copy of the built program and lets the fuzzer look for it. */
function main(): number {
  const copy = mkdtempSync(join(tmpdir(), 'rendergate-mutants-'));
  try {
    for (const part of ['package.json', 'dist/src', 'dist/test/fuzz'])
      cpSync(join(PROJECT_ROOT, part), join(copy, part), { recursive: true });
    symlinkSync(join(PROJECT_ROOT, 'node_modules'), join(copy, 'node_modules'), 'junction');
    if (!fuzz(copy).passed) return failed('The engine as it is has differences: run "npm run fuzz" first.');
    const missed = MUTANTS.filter((mutant) => !isCaught(copy, mutant)).length;
    console.log(`${MUTANTS.length - missed} caught, ${missed} missed`);
    return missed === 0 ? 0 : 1;
  } finally {
    rmSync(copy, { recursive: true, force: true });
  }
}

function isCaught(copy: string, { what, file, find, replace }: Mutant): boolean {
  const path = join(copy, 'dist/src', file);
  const original = readFileSync(path, 'utf8');
  if (original.split(find).length !== 2) {
    console.log(`MISSED ${what}: "${find}" does not stand once in ${file}; mend the list of mutants`);
    return false;
  }
  writeFileSync(
    path,
    original.replace(find, () => replace),
  );
  const { passed, said } = fuzz(copy);
  writeFileSync(path, original);
  console.log(passed ? `MISSED ${what}` : `caught ${what} (${said})`);
  return !passed;
}

function fuzz(copy: string): { readonly passed: boolean; readonly said: string } {
  const main = join(copy, 'dist/test/fuzz/main.js');
  const options = ['--histories', String(HISTORIES), '--seed', String(SEED), '--no-shrink'];
  const { status, stdout, stderr } = spawnSync(process.execPath, [main, ...options], {
    encoding: 'utf8',
    timeout: LONGEST_MS,
  });
  const difference = /^after step \d+, (\w+) .*?: ([^{}]*?)(:?$| at )/m.exec(stdout);
  const histories = /^(\d+) histories, \d+ commits, \d+ reviews/m.exec(stdout)?.[1];
  const said =
    histories === undefined
      ? `it ends with ${status ?? 'a time-out'}: ${stderr.split('\n')[0] ?? ''}`
      : `history ${histories}, ${difference?.[2] ?? ''}`;
  return { passed: status === 0, said };
}

function failed(message: string): number {
  console.error(message);
  return 1;
}
