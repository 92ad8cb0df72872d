import { spawn, type ChildProcess, type ChildProcessByStdio } from 'node:child_process';
import { existsSync } from 'node:fs';
import type { Readable } from 'node:stream';
import { BoundedOutput } from './bounded-output.js';
import type { RunAs } from './private-directory.js';

export interface ProgramRun {
  /** Absolute path. */
  readonly program: string;
  readonly args: readonly string[];
  readonly directory: string;
  readonly runAs: RunAs | undefined;
  readonly timeoutMs: number;
  /** Undefined: no limits but that of time. */
  readonly memoryMiB: number | undefined;
  readonly signal: AbortSignal;
  /** Process groups under way, for whoever must kill them when this process ends. */
  readonly groups: Set<number>;
}

/** How one run ended. */
export type RunEnd =
  | { readonly kind: 'exited'; readonly code: number; readonly output: Buffer }
  | { readonly kind: 'signalled'; readonly signal: string }
  | { readonly kind: 'timeout' }
  | { readonly kind: 'aborted' }
  /** Not found, or not executable for the user it runs as. */
  | { readonly kind: 'missing'; readonly problem: string }
  | { readonly kind: 'failed'; readonly problem: string };

type Child = ChildProcessByStdio<null, Readable, Readable>;

/** Kept of each of stdout and stderr: some 2,000 messages, and never enough to matter in memory. */
const OUTPUT_LIMIT_BYTES = 256 * 1024;

/** A killed process is gone within milliseconds; after this long it hangs in the kernel and is waited for no more. */
const KILL_GRACE_MS = 2_000;

/** A process that left the group can hold the pipes open; what the checker itself wrote is read long before. */
const PIPE_GRACE_MS = 250;

/** Between stdout and stderr, so that no line is made of both. */
const LINE_END = Buffer.from('\n');

const SHELL = '/bin/sh';

/** First word of the shell's own messages, which tells them from the checker's. */
const SHELL_NAME = 'rendergate-limits';

/**
 * Sets the limits that Node cannot set, then becomes the checker (same process). Needed because `haproxy -m` has no
 * effect under `-c` (tried with 2.6: `-m 10` passes a file that takes 91 MB). Data size, in KiB, counts what is really
 * written to, unlike the address space; core dumps could hold keys. PWD and the like are the shell's additions.
 */
const LIMIT_SCRIPT = 'ulimit -c 0; ulimit -d "$1"; shift; unset PWD OLDPWD SHLVL; exec "$@"';

/**
 * Runs a program with an empty environment, without input, in a process group of its own, and kills that group at its
 * end, at the time limit and when the signal is aborted. Never rejects, and never outlasts the time limit by more than
 * two seconds.
 */
export function runProgram(run: ProgramRun): Promise<RunEnd> {
  if (run.signal.aborted) return Promise.resolve({ kind: 'aborted' });
  try {
    return supervise(run, start(run));
  } catch (error) {
    return Promise.resolve(startFailure(run, error));
  }
}

/** Kills a process group; nothing happens when it is gone already. */
export function killGroup(group: number | undefined): void {
  // Never 0 or 1: these would mean our own group and everybody.
  if (group === undefined || group <= 1) return;
  try {
    process.kill(-group, 'SIGKILL');
  } catch {
    // No such group: everybody in it has ended.
  }
}

function start(run: ProgramRun): Child {
  const [program, args] = withLimits(run);
  return spawn(program, args, {
    cwd: run.directory,
    env: {},
    stdio: ['ignore', 'pipe', 'pipe'],
    detached: true,
    ...(run.runAs ?? {}),
  });
}

function withLimits(run: ProgramRun): [string, string[]] {
  if (run.memoryMiB === undefined || !existsSync(SHELL)) return [run.program, [...run.args]];
  const limit = String(Math.ceil(run.memoryMiB * 1024));
  return [SHELL, ['-c', LIMIT_SCRIPT, SHELL_NAME, limit, run.program, ...run.args]];
}

function supervise(run: ProgramRun, child: Child): Promise<RunEnd> {
  const stdout = new BoundedOutput(child.stdout, OUTPUT_LIMIT_BYTES);
  const stderr = new BoundedOutput(child.stderr, OUTPUT_LIMIT_BYTES);
  const { pid } = child;
  if (pid !== undefined) run.groups.add(pid);
  return new Promise<RunEnd>((resolve) => {
    const stop = onStop(run, (end) => {
      killGroup(pid);
      setTimeout(() => resolve(end), KILL_GRACE_MS).unref();
    });
    child.once('error', (error) => resolve(startFailure(run, error)));
    child.once('exit', (code, signal) => {
      // The pipes close only when the last process that holds them is gone: first the children.
      killGroup(pid);
      void drained([stdout, stderr]).then(() =>
        resolve(stop.end() ?? exitOf(run, code, signal, stdout.bytes(), stderr.bytes())),
      );
    });
    void exited(child).then(stop.disarm);
  }).finally(() => {
    if (pid !== undefined) run.groups.delete(pid);
    stdout.destroy();
    stderr.destroy();
  });
}

function exited(child: ChildProcess): Promise<void> {
  return new Promise((resolve) => {
    child.once('exit', () => resolve());
    child.once('error', () => resolve());
  });
}

interface Stop {
  /** Why we ended the run, if we did. */
  end(): RunEnd | undefined;
  disarm(): void;
}

/** Calls `kill` once: at the time limit or when the signal is aborted, whichever comes first. */
function onStop(run: ProgramRun, kill: (end: RunEnd) => void): Stop {
  let end: RunEnd | undefined;
  const stopWith = (cause: RunEnd): void => {
    if (end !== undefined) return;
    end = cause;
    kill(cause);
  };
  const abort = (): void => stopWith({ kind: 'aborted' });
  const timer = setTimeout(() => stopWith({ kind: 'timeout' }), run.timeoutMs);
  run.signal.addEventListener('abort', abort, { once: true });
  return {
    end: () => end,
    disarm: () => {
      clearTimeout(timer);
      run.signal.removeEventListener('abort', abort);
    },
  };
}

async function drained(outputs: readonly BoundedOutput[]): Promise<void> {
  let timer: NodeJS.Timeout | undefined;
  const grace = new Promise((resolve) => {
    timer = setTimeout(resolve, PIPE_GRACE_MS);
  });
  await Promise.race([Promise.all(outputs.map((output) => output.closed())), grace]);
  clearTimeout(timer);
}

function exitOf(run: ProgramRun, code: number | null, signal: string | null, out: Buffer, err: Buffer): RunEnd {
  if (code === null) return { kind: 'signalled', signal: signal ?? 'unknown' };
  const shellGaveUp = (code === 126 || code === 127) && err.subarray(0, SHELL_NAME.length).toString() === SHELL_NAME;
  if (!shellGaveUp) return { kind: 'exited', code, output: Buffer.concat([out, LINE_END, err]) };
  const what = code === 127 ? 'was not found' : `is not executable${userOf(run)}`;
  return { kind: 'missing', problem: `${run.program} ${what}` };
}

function startFailure(run: ProgramRun, error: unknown): RunEnd {
  const code = errorCode(error);
  if (!existsSync(run.directory)) return { kind: 'failed', problem: 'its directory went away before it started' };
  if (code === 'ENOENT') return { kind: 'missing', problem: `${run.program} was not found` };
  if (code === 'EACCES') return { kind: 'missing', problem: `${run.program} is not executable${userOf(run)}` };
  return { kind: 'failed', problem: `${run.program} did not start (${code})` };
}

/** The system's word for what went wrong (`EACCES`); its message is not used, since it holds paths. */
export function errorCode(error: unknown): string {
  const hasCode = typeof error === 'object' && error !== null && 'code' in error;
  return hasCode ? String(error.code) : 'unknown error';
}

function userOf(run: ProgramRun): string {
  return run.runAs === undefined ? '' : ` for user ${run.runAs.uid}`;
}
