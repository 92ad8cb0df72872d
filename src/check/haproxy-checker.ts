import { tmpdir } from 'node:os';
import { performance } from 'node:perf_hooks';
import { rmSync } from 'node:fs';
import { basename } from 'node:path';
import type { CheckSettings } from '../config/render-config.js';
import type { CheckFile, CheckFinding, Checker, CheckOutcome, CheckRequest } from './checker.js';
import { checkerTrouble } from './checker-trouble.js';
import { findProgram, stampOf, type FoundProgram } from './find-program.js';
import { parseFindings } from './findings.js';
import { Lanes } from './lanes.js';
import {
  makePrivateDirectory,
  removeAbandoned,
  removeDirectory,
  UnsafeNameError,
  writeFiles,
  type RunAs,
} from './private-directory.js';
import { errorCode, killGroup, runProgram, type RunEnd } from './run-program.js';

export interface HaproxyCheckerOptions {
  readonly settings: CheckSettings;
  /** Where the private directories are made; the system's temporary folder by default. */
  readonly workDirectory?: string;
  /** Told of every run that gave no verdict: a constant message and its fields. */
  readonly log?: (message: string, fields: object) => void;
}

export interface HaproxyChecker extends Checker {
  /** First line of `haproxy -v`, asked for once; undefined if the program is another one or does not say. */
  probeVersion(): Promise<string | undefined>;
  /** Kills the runs under way and waits for their ends; every later check is `aborted`. */
  close(): Promise<void>;
}

type Unavailable = Extract<CheckOutcome, { kind: 'unavailable' }>;
type Trouble = Pick<Unavailable, 'reason' | 'message'>;

/** `nobody` on the systems HAProxy runs on: owns nothing, so a checker gone wrong can touch nothing. */
const NOBODY: RunAs = { uid: 65534, gid: 65534 };

/** `haproxy -v` takes a few milliseconds. */
const VERSION_TIMEOUT_MS = 2_000;

/**
 * Runs the real checker on a copy of the files (DESIGN 8, "The checker"): a private directory, an empty environment, no
 * input, limits on time, memory and output, the user `nobody` where this process is root, and nothing left behind.
 * `check` rejects only if the files can't be had. Only exit code 0 is `passed`; every other one is `refused`, unless the
 * checker itself says that it never got at the files or ran out of memory.
 */
/** Whether this process has made private directories already. */
let hasStarted = false;

export function createHaproxyChecker(options: HaproxyCheckerOptions): HaproxyChecker {
  return new ProcessChecker(options);
}

class ProcessChecker implements HaproxyChecker {
  private readonly settings: CheckSettings;
  private readonly workDirectory: string;
  private readonly log: (message: string, fields: object) => void;
  private readonly program: FoundProgram;
  private readonly lanes: Lanes;
  private readonly runAs = process.getuid?.() === 0 ? NOBODY : undefined;
  private readonly closing = new AbortController();
  private readonly groups = new Set<number>();
  private readonly directories = new Set<string>();
  private readonly underWay = new Set<Promise<unknown>>();
  /** Nothing is made before this is over, or it could be taken for left over. */
  private readonly swept: Promise<void>;
  private version: string | undefined;
  private probe: Promise<string | undefined> | undefined;

  constructor(options: HaproxyCheckerOptions) {
    this.settings = options.settings;
    this.workDirectory = options.workDirectory ?? tmpdir();
    this.log = options.log ?? (() => undefined);
    this.program = findProgram(options.settings.command[0] ?? '', process.env['PATH']);
    this.lanes = new Lanes(options.settings.concurrency);
    process.on('exit', this.onExit);
    this.swept = this.track(removeAbandoned(this.workDirectory, hasStarted));
    hasStarted = true;
  }

  get identity(): string {
    const { command, timeoutMs, memoryMiB } = this.settings;
    // The stamp stands for the version of a program that does not tell one: a replaced file is another checker.
    const stamp = this.program.kind === 'found' ? stampOf(this.program.path) : undefined;
    const version = this.version ?? stamp ?? 'unknown';
    return JSON.stringify({ command, version, timeoutMs, memoryMiB });
  }

  probeVersion(): Promise<string | undefined> {
    this.probe ??= this.track(this.askVersion());
    return this.probe;
  }

  check(request: CheckRequest): Promise<CheckOutcome> {
    // The first check sets the question going and does not wait for the answer: until then the identity has no version.
    void this.probeVersion();
    return this.track(this.judge(request));
  }

  async close(): Promise<void> {
    this.closing.abort();
    await Promise.allSettled([...this.underWay]);
    process.off('exit', this.onExit);
  }

  private track<T>(work: Promise<T>): Promise<T> {
    this.underWay.add(work);
    void work.finally(() => this.underWay.delete(work)).catch(() => undefined);
    return work;
  }

  private async judge(request: CheckRequest): Promise<CheckOutcome> {
    if (this.program.kind === 'missing') return this.unavailable(this.missing(this.program.problem), 0);
    const { signal, unlink } = this.endedBy(request.signal);
    try {
      return await this.judgeInTurn({ ...request, signal }, this.program.path);
    } finally {
      unlink();
    }
  }

  private async judgeInTurn(request: CheckRequest, program: string): Promise<CheckOutcome> {
    const release = await this.lanes.enter(request.lane, request.signal);
    if (release === undefined) return this.unavailable(ABORTED, 0);
    try {
      const files = await request.files();
      return await this.judgeFiles(files, program, request.signal);
    } finally {
      release();
    }
  }

  private async judgeFiles(files: readonly CheckFile[], program: string, signal: AbortSignal): Promise<CheckOutcome> {
    const started = performance.now();
    try {
      return await this.judgeInPlace(files, program, signal, started);
    } catch (error) {
      return this.unavailable(couldNotPrepare(error), performance.now() - started);
    }
  }

  /** Not AbortSignal.any: on Node 20 each call stays with the long-lived signal for good. */
  private endedBy(caller: AbortSignal): { readonly signal: AbortSignal; readonly unlink: () => void } {
    const both = new AbortController();
    const abort = (): void => both.abort();
    const sources = [caller, this.closing.signal];
    if (sources.some((source) => source.aborted)) abort();
    sources.forEach((source) => source.addEventListener('abort', abort, { once: true }));
    return { signal: both.signal, unlink: () => sources.forEach((s) => s.removeEventListener('abort', abort)) };
  }

  private async judgeInPlace(
    files: readonly CheckFile[],
    program: string,
    signal: AbortSignal,
    started: number,
  ): Promise<CheckOutcome> {
    await this.swept;
    const directory = await makePrivateDirectory(this.workDirectory, this.runAs);
    this.directories.add(directory);
    try {
      await writeFiles(directory, files, this.runAs);
      const end = await this.run(program, directory, signal);
      return this.outcomeOf(end, files, performance.now() - started);
    } finally {
      if (await removeDirectory(directory)) this.directories.delete(directory);
      else this.log('the directory of a check could not be removed', { directory });
    }
  }

  private run(program: string, directory: string, signal: AbortSignal): Promise<RunEnd> {
    return runProgram({
      program,
      args: this.argumentsFor(program, directory),
      directory,
      runAs: this.runAs,
      timeoutMs: this.settings.timeoutMs,
      memoryMiB: this.settings.memoryMiB,
      signal,
      groups: this.groups,
    });
  }

  private argumentsFor(program: string, directory: string): readonly string[] {
    const args = this.settings.command.slice(1).map((arg) => arg.replaceAll('{dir}', directory));
    return isHaproxy(program) && !args.includes('-m') ? ['-m', String(this.settings.memoryMiB), ...args] : args;
  }

  private outcomeOf(end: RunEnd, files: readonly CheckFile[], durationMs: number): CheckOutcome {
    if (end.kind !== 'exited') return this.unavailable(this.troubleOf(end), durationMs);
    if (end.code === 0) return { kind: 'passed', warnings: parseFindings(end.output, files), durationMs };
    const trouble = checkerTrouble(end.output, files, this.settings.memoryMiB);
    if (trouble !== undefined) return this.unavailable({ reason: 'failed', message: trouble }, durationMs);
    const findings = parseFindings(end.output, files);
    return { kind: 'refused', findings: findings.length > 0 ? findings : [silentRefusal(end)], durationMs };
  }

  private troubleOf(end: Exclude<RunEnd, { kind: 'exited' }>): Trouble {
    switch (end.kind) {
      case 'signalled':
        return { reason: 'killed', message: `the checker was killed (${end.signal}) and said nothing about the files` };
      case 'timeout':
        return {
          reason: 'timeout',
          message: `the checker did not finish within ${this.settings.timeoutMs} ms; raise check.timeout if it needs longer`,
        };
      case 'aborted':
        return ABORTED;
      case 'missing':
        return this.missing(end.problem);
      case 'failed':
        return { reason: 'failed', message: `the checker cannot run: ${end.problem}` };
    }
  }

  private missing(problem: string): Trouble {
    const fix = 'install HAProxy (apt-get install haproxy) or set check.command, then start again';
    return { reason: 'missing', message: `the checker cannot run: ${problem}; ${fix}` };
  }

  private unavailable(trouble: Trouble, durationMs: number): Unavailable {
    if (trouble.reason !== 'aborted')
      this.log('the checker gave no verdict', { reason: trouble.reason, problem: trouble.message, durationMs });
    return { kind: 'unavailable', ...trouble, durationMs };
  }

  private async askVersion(): Promise<string | undefined> {
    if (this.program.kind === 'missing' || !isHaproxy(this.program.path)) return undefined;
    const end = await runProgram({
      program: this.program.path,
      args: ['-v'],
      directory: '/',
      runAs: this.runAs,
      timeoutMs: VERSION_TIMEOUT_MS,
      memoryMiB: this.settings.memoryMiB,
      signal: this.closing.signal,
      groups: this.groups,
    });
    this.version = end.kind === 'exited' && end.code === 0 ? firstLine(end.output) : undefined;
    return this.version;
  }

  /** Nothing asynchronous happens any more here: kill and remove, so that no process and no key stays behind. */
  private readonly onExit = (): void => {
    for (const group of this.groups) killGroup(group);
    for (const directory of this.directories) rmSync(directory, { recursive: true, force: true });
  };
}

const ABORTED: Trouble = { reason: 'aborted', message: 'the check was given up before it ended' };

/** `haproxy`, `haproxy-2.8`, `/opt/haproxy/sbin/haproxy`. */
function isHaproxy(program: string): boolean {
  return /^haproxy(?:[-.\d].*)?$/.test(basename(program));
}

function firstLine(output: Buffer): string | undefined {
  const line = output
    .toString('latin1')
    .split('\n')[0]
    ?.replace(/[^\x20-\x7e]/g, '')
    .trim()
    .slice(0, 120);
  return line === '' ? undefined : line;
}

/** HAProxy ends with code 2 and a line without a head when nothing is wrong but no section listens. */
function silentRefusal(end: { readonly code: number; readonly output: Buffer }): CheckFinding {
  const deaf = /^Configuration file has no error but will not start \(no listener\)/m.test(
    end.output.toString('latin1'),
  );
  const said = deaf ? 'no section has a bind line, so HAProxy would not start' : 'the checker named no fault';
  return { severity: 'alert', mentions: [], text: `${said} (it ended with code ${end.code})` };
}

/** Only codes and constant words: the system's own messages contain paths. */
function couldNotPrepare(error: unknown): Trouble {
  if (error instanceof UnsafeNameError)
    return { reason: 'failed', message: 'the files cannot be checked: a file name leaves the directory' };
  const code = errorCode(error);
  const message = `the files cannot be checked: writing them to the work directory failed (${code})`;
  return { reason: 'failed', message };
}
