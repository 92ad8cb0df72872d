import { Script } from 'node:vm';

/** The task did not end within its time; it was stopped wherever it was. */
export class TimedOut extends Error {
  override readonly name = 'TimedOut';
  readonly code = 'RENDER_TIMED_OUT';
}

declare global {
  var rendergateTask: (() => unknown) | undefined;
}

const script = new Script('rendergateTask()', { filename: 'rendergate-task' });

/** When the innermost bounded task that is running will be stopped; `performance.now()`, undefined outside of any. */
let stopsAt: number | undefined;

/**
 * Runs a synchronous task and stops it, endless loops and backtracking expressions included, when its time is up: the
 * engine only offers that around a script (DESIGN 1), and takes a thread for each, 0.1 to 0.3 ms. So a task whose caller
 * can wait until `latestMs` needs none of its own where the one around it ends in between; it is that one then that
 * throws. Throws TimedOut. Nothing of a stopped task runs any more, not even its `finally`, so it must only have written
 * to state that is dropped.
 */
export function runBounded<T>(task: () => T, timeoutMs: number | undefined, latestMs = timeoutMs): T {
  if (timeoutMs === undefined || isBounded(timeoutMs, latestMs)) return task();
  const bound = Math.max(1, Math.floor(timeoutMs));
  const outer = stopsAt;
  stopsAt = performance.now() + bound;
  globalThis.rendergateTask = task;
  try {
    return script.runInThisContext({ timeout: bound }) as T;
  } catch (error) {
    const { code } = error as { readonly code?: string };
    throw code === 'ERR_SCRIPT_EXECUTION_TIMEOUT' ? new TimedOut(`stopped after ${timeoutMs} ms`) : error;
  } finally {
    stopsAt = outer;
    globalThis.rendergateTask = undefined;
  }
}

function isBounded(timeoutMs: number, latestMs: number | undefined): boolean {
  if (stopsAt === undefined || latestMs === undefined) return false;
  const leftMs = stopsAt - performance.now();
  return timeoutMs <= leftMs && leftMs <= latestMs;
}
