import { spawnSync } from 'node:child_process';
import { chmodSync, existsSync, mkdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { timed } from './statistics.js';

const FOLDERS = ['/usr/local/sbin', '/usr/sbin', '/sbin', '/usr/local/bin', '/usr/bin'];

/** The real checker; throws where it is not installed. */
export function haproxyPath(): string {
  const folders = [...(process.env['PATH'] ?? '').split(':').filter((folder) => folder !== ''), ...FOLDERS];
  const found = folders.map((folder) => join(folder, 'haproxy')).find((path) => existsSync(path));
  if (found === undefined) throw new Error('haproxy is not installed: apt-get install haproxy');
  return found;
}

/** Milliseconds of one bare `haproxy -c` on published files, start of the process included. */
export function bareCheckMs(directory: string): number {
  let status: number | null = null;
  const args = ['-c', '-C', directory, '-f', 'haproxy.cfg'];
  const ms = timed(() => ({ status } = spawnSync(haproxyPath(), args, { stdio: 'ignore' })));
  if (status !== 0) throw new Error(`haproxy refuses what was published (${String(status)})`);
  return ms;
}

/**
 * Stands in the place of `haproxy` and becomes it, but notes in a file when a check begins and ends. The file is one that
 * the checker's own user may write; lines of one word are appended whole.
 */
export class CountedChecker {
  readonly program: string;
  readonly #notes: string;

  constructor(folder: string) {
    const directory = join(folder, 'counted');
    mkdirSync(directory);
    chmodSync(directory, 0o755);
    this.program = join(directory, 'haproxy');
    this.#notes = join(directory, 'notes');
    const real = haproxyPath();
    const script = [
      '#!/bin/sh',
      `case " $* " in *" -c "*) ;; *) exec '${real}' "$@" ;; esac`,
      `echo begin >> '${this.#notes}'`,
      `'${real}' "$@"`,
      'code=$?',
      `echo end >> '${this.#notes}'`,
      'exit $code',
      '',
    ].join('\n');
    writeFileSync(this.program, script);
    chmodSync(this.program, 0o755);
    this.reset();
  }

  reset(): void {
    rmSync(this.#notes, { force: true });
    writeFileSync(this.#notes, '');
    chmodSync(this.#notes, 0o666);
  }

  /** Checks begun since the last reset, and the most that ran at once. */
  counts(): { readonly runs: number; readonly atOnce: number } {
    let running = 0;
    let atOnce = 0;
    let runs = 0;
    for (const note of readFileSync(this.#notes, 'utf8').trim().split('\n')) {
      if (note === 'begin') runs++;
      running += note === 'begin' ? 1 : note === 'end' ? -1 : 0;
      atOnce = Math.max(atOnce, running);
    }
    return { runs, atOnce };
  }
}
