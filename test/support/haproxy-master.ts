import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { setTimeout as delay } from 'node:timers/promises';

import { askMaster, parseProcesses, type MasterState } from '../../src/reconcile/master-socket.js';
import { killGroup } from '../../src/check/run-program.js';
import { findHaproxy } from '../cases/checker-shim.js';

/** After this long nothing good is to be expected any more. */
const STOP_MS = 5_000;

export interface HaproxyMaster {
  state(): Promise<MasterState>;
  /** What it wrote to its log. */
  said(): string;
  /** Resolves when no process of it is left. */
  stop(): Promise<void>;
}

/** A real HAProxy in master-worker mode, begun as the README says. `socket` may carry options: `PATH,level,user`. */
export async function startHaproxyMaster(directory: string, socket: string): Promise<HaproxyMaster> {
  const args = ['-W', '-S', socket, '-C', directory, '-f', 'haproxy.cfg'];
  // A process group of its own: workers of earlier reloads would outlive a master that is killed.
  const child = spawn(findHaproxy() ?? 'haproxy', args, { stdio: ['ignore', 'ignore', 'pipe'], detached: true });
  let said = '';
  child.stderr.on('data', (data: Buffer) => (said += data.toString()));
  const stop = async (): Promise<void> => {
    // At SIGTERM a master ends all its workers, those of earlier reloads too, and then itself.
    if (child.exitCode === null && child.signalCode === null && child.kill('SIGTERM'))
      await Promise.race([once(child, 'exit'), delay(STOP_MS, undefined, { ref: false })]);
    killGroup(child.pid);
  };
  const path = socket.split(',')[0] ?? '';
  const state = async (): Promise<MasterState> => {
    const found = await ask(path).catch(() => undefined);
    if (found !== undefined) return found;
    if (child.exitCode !== null) throw new Error(`HAProxy ended: ${said}`);
    await delay(20);
    return state();
  };
  try {
    await state();
  } catch (error) {
    await stop();
    throw error;
  }
  return { state, said: () => said, stop };
}

async function ask(path: string): Promise<MasterState | undefined> {
  return parseProcesses((await askMaster(path, 'show proc', new AbortController().signal)).toString());
}
