import {
  chmodSync,
  existsSync,
  mkdirSync,
  readFileSync,
  readdirSync,
  renameSync,
  rmSync,
  writeFileSync,
} from 'node:fs';
import { join } from 'node:path';
import { randomUUID } from 'node:crypto';

import type { CheckerStandIn } from './case-schema.js';

const FOLDERS = ['/usr/local/sbin', '/usr/sbin', '/sbin', '/usr/local/bin', '/usr/bin', '/bin'];

/** The real checker; undefined when it is not installed. */
export function findHaproxy(): string | undefined {
  const folders = [...(process.env['PATH'] ?? '').split(':').filter((folder) => folder !== ''), ...FOLDERS];
  return folders.map((folder) => join(folder, 'haproxy')).find((path) => existsSync(path));
}

/**
 * The program that a case's configuration names as its checker. Normally it becomes the real one; it counts its runs,
 * keeps what it got to see if told so, and ends as a stand-in when one is set. It runs as another user with an empty
 * environment, so all that it needs is written into it, and only its record directory is writable for it.
 */
export class CheckerShim {
  readonly program: string;
  /** In the environment of every process that it starts. */
  readonly mark = `case-${randomUUID()}`;
  private readonly record: string;
  private readonly standIn: string;

  constructor(
    private readonly directory: string,
    haproxy: string,
    recordsFiles: boolean,
  ) {
    this.program = join(directory, 'haproxy');
    this.record = join(directory, 'record');
    this.standIn = join(directory, 'stand-in');
    mkdirSync(this.record, { recursive: true });
    chmodSync(directory, 0o755);
    chmodSync(this.record, 0o777);
    writeFileSync(this.program, this.script(haproxy, recordsFiles), { mode: 0o755 });
    chmodSync(this.program, 0o755);
  }

  /** From now on every run ends so. */
  replace(standIn: CheckerStandIn): void {
    if (standIn.missing === true) return renameSync(this.program, `${this.program}.away`);
    const stderr = join(this.directory, 'stderr');
    writeFileSync(stderr, Buffer.from(standIn.stderrBase64 ?? '', 'base64'), { mode: 0o644 });
    const draft = `${this.standIn}.draft`;
    writeFileSync(draft, standInScript(standIn, stderr), { mode: 0o644 });
    renameSync(draft, this.standIn);
  }

  restore(): void {
    if (existsSync(`${this.program}.away`)) renameSync(`${this.program}.away`, this.program);
    rmSync(this.standIn, { force: true });
  }

  /** Checks that were started so far, of both lanes. */
  runs(): number {
    return this.recorded('run-').length;
  }

  /** All files that any checker got to see, one after the other. */
  seen(): string {
    return this.recorded('seen-')
      .map((name) => readFileSync(join(this.record, name), 'utf8'))
      .join('\n');
  }

  /** Processes that a checker run left behind. */
  processes(): number {
    const ids = readdirSync('/proc').filter((name) => /^\d+$/.test(name));
    return ids.filter((id) => environmentOf(id).includes(this.mark)).length;
  }

  private recorded(prefix: string): string[] {
    return readdirSync(this.record).filter((name) => name.startsWith(prefix));
  }

  private script(haproxy: string, recordsFiles: boolean): string {
    return [
      '#!/bin/sh',
      // `-v` and the like are no checks.
      `case " $* " in *" -c "*) ;; *) exec '${haproxy}' "$@" ;; esac`,
      'PATH=/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin',
      `RENDERGATE_CASE=${this.mark}`,
      'export PATH RENDERGATE_CASE',
      `: > '${this.record}'/run-$$`,
      ...(recordsFiles ? [`find . -type f -exec cat {} + > '${this.record}'/seen-$$`] : []),
      `if [ -e '${this.standIn}' ]; then . '${this.standIn}'; fi`,
      `exec '${haproxy}' "$@"`,
      '',
    ].join('\n');
  }
}

/** What a stand-in does in place of checking; after a sleep alone it goes on to the real checker. */
function standInScript(standIn: CheckerStandIn, stderr: string): string {
  const { sleepSeconds, spawnsChild, signal, exitCode, stderrBase64 } = standIn;
  const lines: string[] = [];
  if (spawnsChild === true) lines.push(`sleep ${sleepSeconds ?? 60} &`);
  if (sleepSeconds !== undefined) lines.push(`sleep ${sleepSeconds}`);
  if (stderrBase64 !== undefined) lines.push(`cat '${stderr}' >&2`);
  if (signal !== undefined) lines.push(`kill -s ${signal.replace(/^SIG/, '')} $$`, 'sleep 5');
  if (exitCode !== undefined || stderrBase64 !== undefined) lines.push(`exit ${exitCode ?? 1}`);
  return `${lines.join('\n')}\n`;
}

function environmentOf(id: string): string {
  try {
    return readFileSync(`/proc/${id}/environ`, 'latin1');
  } catch {
    return '';
  }
}
