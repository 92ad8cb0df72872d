import { spawn } from 'node:child_process';
import type { ChildProcessWithoutNullStreams } from 'node:child_process';
import { once } from 'node:events';
import { readFileSync } from 'node:fs';
import { Agent } from 'node:https';
import { join } from 'node:path';

import { afterEach, describe, expect, it } from '@jest/globals';
import { request } from 'undici';

import { scratchDirectory, send, until } from './running-server.js';
import type { Endpoint } from './running-server.js';

interface ServerProcess extends Endpoint {
  readonly child: ChildProcessWithoutNullStreams;
  /** Code and signal. */
  readonly exit: Promise<readonly unknown[]>;
  stderr(): string;
  ready(): Promise<boolean>;
}

const BUILT = join(import.meta.dirname, '../../dist/test/server/shutdown-process.js');
const cleanups: (() => void)[] = [];
afterEach(() => {
  for (const cleanup of cleanups.splice(0)) cleanup();
});

async function startProcess(propagationMs: number, mode: readonly string[] = []): Promise<ServerProcess> {
  const scratch = scratchDirectory();
  const child = spawn(process.execPath, [BUILT, scratch.path, String(propagationMs), ...mode]);
  cleanups.push(() => child.kill('SIGKILL'), scratch.remove);
  const exit = once(child, 'exit');
  let output = '';
  let errors = '';
  child.stdout.on('data', (data: Buffer) => (output += data.toString()));
  child.stderr.on('data', (data: Buffer) => (errors += data.toString()));
  await Promise.race([until(() => output.endsWith('\n')), exit.then(() => Promise.reject(new Error(errors)))]);
  const { port, healthPort }: { port: number; healthPort: number } = JSON.parse(output);
  return {
    child,
    exit,
    url: `https://127.0.0.1:${port}`,
    tls: { ca: readFileSync(join(scratch.path, 'ca.crt'), 'utf8') },
    stderr: () => errors,
    ready: async () => {
      const { statusCode, body } = await request(`http://127.0.0.1:${healthPort}/readyz`, { reset: true });
      await body.dump();
      return statusCode === 200;
    },
  };
}

/** A review that the process holds until something is written to its stdin. */
async function hold(process: ServerProcess): Promise<{ readonly answer: ReturnType<typeof send> }> {
  const answer = send(process, { body: 'hold' });
  answer.catch(() => undefined);
  await until(() => process.stderr().includes('holding'));
  return { answer };
}

describe('SIGTERM (B19)', () => {
  it('fails readiness, serves on, finishes what is in flight, loses no call and exits 0', async () => {
    const process = await startProcess(2_000);
    const held = await hold(process);
    const agent = new Agent({ keepAlive: true });
    let notReady = false;
    let answered = 0;
    // As the callers of a Service do: they come until its endpoints no longer have this replica.
    const caller = async (): Promise<void> => {
      for (; !notReady; answered += 1) expect((await send(process, { body: '{}', agent })).status).toBe(200);
    };
    const callers = [caller(), caller(), caller()];
    await until(() => answered > 30);
    process.child.kill('SIGTERM');
    await until(async () => !(await process.ready()));
    const late = await send(process, { body: '{}', agent });
    expect([late.status, late.headers.connection]).toEqual([200, 'close']);
    notReady = true;
    await Promise.all(callers);
    process.child.stdin.write('release');
    expect((await held.answer).status).toBe(200);
    expect(await process.exit).toEqual([0, null]);
    agent.destroy();
  });

  it.each([
    ['SIGTERM', 143],
    ['SIGINT', 130],
  ] as const)('is cut short by a second signal: %s exits %d at once', async (signal, code) => {
    const process = await startProcess(600_000);
    await hold(process);
    process.child.kill('SIGTERM');
    await until(async () => !(await process.ready()));
    process.child.kill(signal);
    expect(await process.exit).toEqual([code, null]);
    expect(process.stderr()).toContain('second signal');
  });

  it('exits 1 and says why when something does not close', async () => {
    const process = await startProcess(0, ['fail']);
    process.child.kill('SIGINT');
    expect(await process.exit).toEqual([1, null]);
    expect(process.stderr()).toContain('cannot close');
  });
});
