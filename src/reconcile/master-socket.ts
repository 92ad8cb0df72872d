import { once } from 'node:events';
import { connect } from 'node:net';
import { BoundedOutput } from '../check/bounded-output.js';

/** The processes of a HAProxy in master-worker mode, as `show proc` lists them (2.6 and newer). */
export interface MasterState {
  /** Process number of the master: it keeps it over reloads, and has another one when HAProxy was started anew. */
  readonly pid: number;
  /** Reloads since the master was started, those that failed included. */
  readonly reloads: number;
  /** Reloads that failed since the last one that did not. */
  readonly failed: number;
  /** Process numbers of the workers that take new connections. */
  readonly workers: readonly number[];
  /** Version of those workers: `2.6.12-1+deb12u4`; undefined when there is none. */
  readonly version: string | undefined;
}

/** Kept of an answer: what counts stands at its beginning, the rest is dropped. */
const ANSWER_LIMIT_BYTES = 64 * 1024;

/**
 * Sends one command to a master's Unix socket and resolves with the answer: '' when the master closes without one, as it
 * does while it loads. Rejects when the connection cannot be made (`ENOENT`, `ECONNREFUSED`, `EACCES`), and when the
 * signal is aborted. The end of our side is the end of the session: without it the master waits for more commands.
 */
export async function askMaster(path: string, command: string, signal: AbortSignal): Promise<Buffer> {
  signal.throwIfAborted();
  const socket = connect({ path });
  // Not as an option of the socket, which would stay with the signal for good: one question follows the other.
  const abort = (): void => void socket.destroy(new Error('given up'));
  signal.addEventListener('abort', abort, { once: true });
  try {
    const answer = new BoundedOutput(socket, ANSWER_LIMIT_BYTES);
    await once(socket, 'connect');
    socket.end(`${command}\n`);
    await answer.closed();
    signal.throwIfAborted();
    return answer.bytes();
  } finally {
    signal.removeEventListener('abort', abort);
  }
}

const MASTER = /^(\d+)\s+master\s+(\d+)\s+\[failed: (\d+)\]/m;
const WORKER = /^(\d+)\s+worker\s+\d+\s+\S+\s+(\S+)/gm;

/** Undefined when this is no answer to `show proc`. */
export function parseProcesses(answer: string): MasterState | undefined {
  const master = MASTER.exec(answer);
  if (master === null) return undefined;
  const [, pid, reloads, failed] = master.map(Number) as [number, number, number, number];
  const [current = ''] = answer.split('# old workers');
  const workers = [...current.matchAll(WORKER)];
  return { pid, reloads, failed, workers: workers.map(([, worker]) => Number(worker)), version: workers[0]?.[2] };
}
