import { createServer, type Server } from 'node:net';
import { join } from 'node:path';
import { afterEach, describe, expect, it } from '@jest/globals';
import pino from 'pino';
import { createReloader, type Reloader, type ReloadTarget } from '../../src/reconcile/reload.js';
import { makeScratch } from '../support/scratch.js';

const log = pino({ level: 'silent' });
const scratch = makeScratch('rg-reload-');
const socket = join(scratch.path, 'master.sock');
let server: Server | undefined;

afterEach(async () => {
  await new Promise<void>((resolve) => (server === undefined ? resolve() : void server.close(() => resolve())));
  server = undefined;
});

function reloaderOf(target: ReloadTarget): Reloader {
  return createReloader({ target, log, timeoutMs: 400 });
}

/** Something that answers each command with the next text; the last one stays. */
async function answering(...answers: readonly string[]): Promise<void> {
  const queue = [...answers];
  server = createServer({ allowHalfOpen: true }, (connection) => {
    connection.once('data', () => connection.end((queue.length > 1 ? queue.shift() : queue[0]) ?? ''));
    connection.on('error', () => undefined);
  });
  await new Promise<void>((resolve) => server?.listen(socket, resolve));
}

const state = (reloads: number, failed: number, worker: number): string =>
  `1 master ${reloads} [failed: ${failed}] 0d00h 2.6.12\n# workers\n${worker} worker 0 0d00h 2.6.12\n# old workers\n`;

describe('a reload through the master socket', () => {
  it('has happened when another worker runs', async () => {
    await answering(state(0, 0, 10), '', state(0, 0, 10), state(1, 0, 11));
    await expect(reloaderOf({ socket }).reload()).resolves.toBeUndefined();
  });

  it.each([
    ['counts it as failed', [state(0, 0, 10), '', state(1, 1, 10)], 'does not take the published configuration'],
    ['says that it failed', [state(0, 0, 10), 'Success=0\n'], 'does not take the published configuration'],
    ['refuses the command', [state(0, 0, 10), 'Permission denied\n'], 'refuses the command'],
    ['does not reload', [state(0, 0, 10), '', state(0, 0, 10)], 'did not finish loading within 400 ms'],
    ['is no master', ['<html>'], 'does not answer as a HAProxy master does'],
  ])('is refused where the other side %s', async (_, answers, reason) => {
    await answering(...answers);
    await expect(reloaderOf({ socket }).reload()).rejects.toThrow(reason);
  });

  it('says what to do where there is no socket', async () => {
    const missing = join(scratch.path, 'missing.sock');
    await expect(reloaderOf({ socket: missing }).reload()).rejects.toThrow(
      `there is no socket: ${missing}; HAProxy still runs the configuration before; start HAProxy in master-worker mode`,
    );
  });
});

describe('a reload by command', () => {
  const node = (script: string): ReloadTarget => ({ command: [process.execPath, '-e', script] });

  it('has happened when the command ends with 0', async () => {
    await expect(reloaderOf(node('')).reload()).resolves.toBeUndefined();
  });

  it.each([
    ['ends otherwise', node("console.error('no\\u001b[31m such unit'); process.exit(3)"), 'ended with code 3: no'],
    ['takes too long', node('setInterval(() => {}, 1000)'), 'did not end within 400 ms'],
    ['does not exist', { command: ['no-such-program-here'] }, 'correct --reload-command'],
  ])('is refused where it %s', async (_, target, reason) => {
    await expect(reloaderOf(target).reload()).rejects.toThrow(reason);
  });

  it('has no control characters in its message', async () => {
    const failing = reloaderOf(node("console.error('\\u001b[31mred'); process.exit(1)")).reload();
    await expect(failing).rejects.not.toThrow(/\p{Cc}/u);
  });
});

it('one that is asked for thrice at once is done twice', async () => {
  let runs = 0;
  const target: ReloadTarget = { command: [process.execPath, '-e', ''] };
  const reloader = createReloader({ target, log, onReport: () => void runs++ });
  await Promise.all([reloader.reload(), reloader.reload(), reloader.reload()]);
  expect(runs).toBe(2);
});
