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

/**
 * Runs a synchronous task and stops it, endless loops and backtracking expressions included, when its time is up: the
 * engine only offers that around a script (DESIGN 1; about 80 us a call). Throws TimedOut. Nothing of a stopped task
 * runs any more, not even its `finally`, so it must only have written to state that is dropped.
 */
export function runBounded<T>(task: () => T, timeoutMs: number | undefined): T {
  if (timeoutMs === undefined) return task();
  globalThis.rendergateTask = task;
  try {
    return script.runInThisContext({ timeout: Math.max(1, Math.floor(timeoutMs)) }) as T;
  } catch (error) {
    const { code } = error as { readonly code?: string };
    throw code === 'ERR_SCRIPT_EXECUTION_TIMEOUT' ? new TimedOut(`stopped after ${timeoutMs} ms`) : error;
  } finally {
    globalThis.rendergateTask = undefined;
  }
}
