import { type ChildProcess, fork } from 'node:child_process';
import { chmodSync, mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { writeCluster } from './data.js';
import type { ServerQuestion, ServerReady, ServerSettings } from './server-process.js';

/** A process that serves on this machine; its directories are below `folder` and go with `close`. */
export interface Served extends ServerReady {
  readonly resources: string;
  readonly output: string;
  readonly folder: string;
  /** Heap of all its threads after a collection, bytes. */
  heap(): Promise<number>;
  close(): Promise<void>;
}

/** Starts the real server on a cluster of this size and waits for its first published root. */
export async function serveCluster(
  ingresses: number,
  checkerIn: (folder: string) => ServerSettings['checker'],
): Promise<Served> {
  const folder = scratch();
  const resources = join(folder, 'resources');
  writeCluster(resources, ingresses);
  const output = join(folder, 'output');
  const settings: ServerSettings = { resources, output, certs: join(folder, 'certs'), checker: checkerIn(folder) };
  const child = start('server-process.js', JSON.stringify(settings));
  return { ...(await ready(child)), resources, output, folder, ...controls(child, folder) };
}

/** Starts the bare echo. */
export async function serveEcho(): Promise<Served> {
  const folder = scratch();
  const child = start('echo-process.js', join(folder, 'certs'));
  return { ...(await ready(child)), resources: '', output: '', folder, ...controls(child, folder) };
}

/** Other users may enter: where this runs as root the checker is somebody else. */
function scratch(): string {
  const folder = mkdtempSync(join(tmpdir(), 'rendergate-bench-'));
  chmodSync(folder, 0o755);
  process.once('exit', () => rmSync(folder, { recursive: true, force: true }));
  return folder;
}

function start(program: string, argument: string): ChildProcess {
  const here = (name: string): string => fileURLToPath(new URL(`./${name}`, import.meta.url));
  const execArgv = ['--expose-gc', '--import', new URL('./heap-preload.js', import.meta.url).href];
  const child = fork(here(program), [argument], { stdio: ['ignore', 2, 2, 'ipc'], execArgv });
  process.once('exit', () => child.kill('SIGKILL'));
  return child;
}

function ready(child: ChildProcess): Promise<ServerReady> {
  return answer(child) as Promise<ServerReady>;
}

function controls(child: ChildProcess, folder: string): Pick<Served, 'heap' | 'close'> {
  return {
    heap: () => {
      child.send('heap' satisfies ServerQuestion);
      return answer(child) as Promise<number>;
    },
    close: async () => {
      const ended = new Promise((resolve) => child.once('exit', resolve));
      child.send('close' satisfies ServerQuestion);
      await ended;
      rmSync(folder, { recursive: true, force: true });
    },
  };
}

function answer(child: ChildProcess): Promise<unknown> {
  return new Promise((resolve, reject) => {
    const onExit = (code: number | null): void =>
      reject(new Error(`a served process ended with code ${code ?? 'none'}`));
    child.once('exit', onExit);
    child.once('message', (message) => {
      child.off('exit', onExit);
      resolve(message);
    });
  });
}
