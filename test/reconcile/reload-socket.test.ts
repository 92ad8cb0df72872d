import { once } from 'node:events';
import { createServer, type Server, type Socket } from 'node:net';
import { renameSync, symlinkSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';

import { afterEach, beforeEach, describe, expect, it } from '@jest/globals';

import { ReloadError } from '../../src/reconcile/reload-error.js';
import { reloadBySocket } from '../../src/reconcile/reload-socket.js';
import { findHaproxy } from '../cases/checker-shim.js';
import { freePorts } from '../deploy/origin.js';
import { startHaproxyMaster, type HaproxyMaster } from '../support/haproxy-master.js';
import { makeScratch, type Scratch } from '../support/scratch.js';

const canRun = findHaproxy() !== undefined;
if (!canRun) process.stderr.write('parts of test/reconcile/reload-socket.test.ts are left out: they need haproxy\n');

let scratch: Scratch;
let socket: string;

beforeEach(() => {
  scratch = makeScratch();
  socket = join(scratch.path, 'master.sock');
});
afterEach(() => scratch.remove());

/** The error of a reload that must not succeed. */
async function failure(timeoutMs = 20_000, signal = new AbortController().signal): Promise<ReloadError> {
  const error = await reloadBySocket(socket, timeoutMs, signal).then(
    () => new Error('it was reloaded'),
    (reason: unknown) => reason,
  );
  if (!(error instanceof ReloadError)) throw error;
  return error;
}

(canRun ? describe : describe.skip)('the master of a real HAProxy', () => {
  let haproxy: HaproxyMaster | undefined;
  let port: number;

  beforeEach(async () => void ([port = 0] = await freePorts(1)));
  afterEach(async () => {
    await haproxy?.stop();
    haproxy = undefined;
  });

  /** A release with this configuration becomes `current`. */
  function publish(name: string, text: string): void {
    writeFileSync(join(scratch.folder(name), 'haproxy.cfg'), text);
    symlinkSync(name, join(scratch.path, 'next'));
    renameSync(join(scratch.path, 'next'), join(scratch.path, 'current'));
  }

  const saying = (word: string, bind = `127.0.0.1:${port}`): string => `defaults
  mode http
  timeout client 5s
frontend f
  bind ${bind}
  http-request return status 200 content-type text/plain string ${word}
`;
  const answer = async (): Promise<string> => (await fetch(`http://127.0.0.1:${port}/`)).text();
  const start = async (options = ''): Promise<HaproxyMaster> =>
    (haproxy = await startHaproxyMaster(join(scratch.path, 'current'), `${socket}${options}`));
  const reload = (): Promise<string | undefined> => reloadBySocket(socket, 20_000, new AbortController().signal);

  it('reads the release that the link stands for now, and says which version serves it', async () => {
    publish('one', saying('one'));
    const master = await start();
    const before = await master.state();
    publish('two', saying('two'));
    expect(await reload()).toBe(before.version);
    expect(await answer()).toBe('two');
    expect(await master.state()).toMatchObject({ pid: before.pid, reloads: before.reloads + 1, failed: 0 });
  });

  it('that does not take a configuration serves the one before, and takes the next', async () => {
    publish('one', saying('one'));
    await start();
    publish('broken', 'no such section\n');
    for (let count = 0; count < 2; count++)
      expect((await failure()).message).toBe(
        'HAProxy was not reloaded: it does not take the published configuration; ' +
          "HAProxy still runs the configuration before; see HAProxy's own log for the cause",
      );
    expect(await answer()).toBe('one');
    publish('two', saying('two'));
    await reload();
    expect(await answer()).toBe('two');
  });

  it('that cannot bind serves the configuration before', async () => {
    publish('one', saying('one'));
    await start();
    publish('elsewhere', saying('two', '192.0.2.1:1'));
    expect((await failure()).reason).toBe('it does not take the published configuration');
    expect(await answer()).toBe('one');
  });

  it('whose socket has no right to reload says so, and what to do', async () => {
    publish('one', saying('one'));
    await start(',level,user');
    expect(await failure()).toMatchObject({
      reason: 'its master refuses the command: Permission denied',
      fix: expect.stringContaining('level admin'),
    });
  });

  it('that ended in the reload is reported as gone', async () => {
    publish('one', saying('one'));
    await start();
    renameSync(join(scratch.path, 'current'), join(scratch.path, 'moved'));
    const { reason, fix, effect } = await failure(500);
    expect(reason).toBe('its master went away and did not come back within 500 ms (ECONNREFUSED)');
    expect([fix, effect]).toEqual([expect.stringContaining('absolute paths'), 'HAProxy may have ended']);
  });

  it('is told from a stats socket', async () => {
    publish('one', `global\n  stats socket ${socket}.stats level admin\n${saying('one')}`);
    await start();
    socket += '.stats';
    expect((await failure()).fix).toContain('not of a stats socket');
  });
});

describe('a socket', () => {
  let server: Server | undefined;
  const connections = new Set<Socket>();

  async function hangUp(): Promise<void> {
    for (const connection of connections) connection.destroy();
    if (server?.listening) await once(server.close(), 'close');
  }
  afterEach(hangUp);

  /** Answers as told: HAProxy 2.7 and newer says what became of the reload. */
  async function answerWith(commands: Readonly<Record<string, (times: number) => string | undefined>>): Promise<void> {
    const times = new Map<string, number>();
    server = createServer({ allowHalfOpen: true }, (connection) => {
      connections.add(connection.on('error', () => undefined));
      connection.on('data', (data: Buffer) => {
        const command = data.toString().trim();
        const count = (times.get(command) ?? 0) + 1;
        times.set(command, count);
        const text = commands[command]?.(count);
        if (text !== undefined) connection.end(text);
      });
    });
    server.listen(socket);
    await once(server, 'listening');
  }

  const processes = (reloads: number, worker: number): string =>
    `#<PID> <type> <reloads> <uptime> <version>\n1 master ${reloads} [failed: 0] 0d00h00m01s 2.8.3-a\n# workers\n${worker} worker 0 0d00h00m01s 2.8.3-a\n# old workers\n9 worker 7 0d00h01m01s 2.6.12\n# programs\n\n`;

  it('that nobody made, or listens at, is told with what to start', async () => {
    expect((await failure()).message).toBe(
      `HAProxy was not reloaded: there is no socket: ${socket}; HAProxy still runs the configuration before; ` +
        'start HAProxy in master-worker mode with this socket (-W -S)',
    );
    writeFileSync(socket, '');
    expect((await failure()).reason).toBe(`nobody listens at the socket: ${socket}`);
  });

  it('that reports success is asked whether a new worker has come', async () => {
    await answerWith({
      reload: () => 'Success=1\n--\n[NOTICE] (1) : Loading success.\n',
      // The third time a master is in the midst of it: nothing yet, then the old worker only.
      'show proc': (times) => ['', processes(3, 5), '', processes(4, 5), processes(4, 6)][times - 1],
    });
    expect(await reloadBySocket(socket, 20_000, new AbortController().signal)).toBe('2.8.3-a');
  });

  it('that reports failure is believed, and its messages show nothing of the configuration', async () => {
    const said =
      "[ALERT] (1) : config : parsing [haproxy.cfg:7] : unknown keyword 'hunter2-token'\u001b[31m in 'frontend' section\u0007\n";
    await answerWith({ reload: () => `Success=0\n--\n${said}`, 'show proc': () => processes(3, 5) });
    const { reason, message } = await failure();
    expect(reason).toMatch(
      /^it does not take the published configuration: .*unknown keyword '…' in 'frontend' section$/,
    );
    expect(message).not.toMatch(/hunter2|[\u0000-\u001f]/);
  });

  it('that is silent is left after the time limit', async () => {
    await answerWith({ 'show proc': () => undefined });
    expect((await failure(100)).reason).toBe(`its master did not answer within 100 ms: ${socket}`);
    await hangUp();
    await answerWith({ 'show proc': () => processes(3, 5), reload: () => undefined });
    expect(await failure(100)).toMatchObject({
      reason: 'it did not finish loading within 100 ms',
      effect: 'HAProxy may still run the configuration before',
    });
  });

  it('is left at once when the signal is aborted', async () => {
    const closing = new AbortController();
    await answerWith({ 'show proc': () => (closing.abort(), undefined) });
    expect((await failure(20_000, closing.signal)).reason).toBe('the reload was given up before it ended');
    expect((await failure(20_000, closing.signal)).reason).toBe('the reload was given up before it ended');
  });
});
