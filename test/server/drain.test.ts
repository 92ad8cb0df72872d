import { once } from 'node:events';
import { Agent } from 'node:https';
import { connect } from 'node:net';

import { describe, expect, it } from '@jest/globals';
import { request } from 'undici';

import { createGate, openTls, readAll, REPLY, send, startTestServer, until } from './running-server.js';
import type { Gate, TestServer } from './running-server.js';

interface HeldServer {
  readonly running: TestServer;
  readonly entered: Gate;
  readonly release: Gate;
}

/** A server whose reviews wait until they are released. */
async function startHeld(drainMs = 10_000): Promise<HeldServer> {
  const entered = createGate();
  const release = createGate();
  const review = async () => {
    entered.open();
    await release.opened;
    return REPLY;
  };
  return { running: await startTestServer({ review, drainMs }), entered, release };
}

async function readiness(running: TestServer): Promise<{ status: number; text: string }> {
  const { statusCode, body } = await request(`${running.healthUrl}/readyz?verbose`);
  return { status: statusCode, text: await body.text() };
}

describe('draining (B19)', () => {
  it('fails readiness alone, goes on serving, and closes each connection with its answer', async () => {
    const running = await startTestServer();
    const agent = new Agent({ keepAlive: true });
    expect((await send(running, { body: '{}', agent })).headers.connection).toBe('keep-alive');
    expect(await readiness(running)).toEqual({ status: 200, text: '[+]shutdown ok\nreadyz check passed\n' });
    running.server.startDraining();
    expect(await readiness(running)).toEqual({
      status: 500,
      text: '[-]shutdown failed: the process is shutting down\nreadyz check failed\n',
    });
    expect((await request(`${running.healthUrl}/livez`)).statusCode).toBe(200);
    const late = await send(running, { body: '{}', agent });
    expect([late.status, late.headers.connection]).toEqual([200, 'close']);
    agent.destroy();
    await running.server.close();
  });

  it('finishes the request in flight, and says close in its answer', async () => {
    const { running, entered, release } = await startHeld();
    const agent = new Agent({ keepAlive: true });
    const answer = send(running, { body: '{}', agent });
    await entered.opened;
    const closed = running.server.close();
    await expect(send(running, { body: '{}' })).rejects.toMatchObject({ code: 'ECONNREFUSED' });
    expect((await readiness(running)).status).toBe(500);
    release.open();
    expect(await answer).toMatchObject({ status: 200, headers: { connection: 'close' }, text: REPLY.body });
    await closed;
    await expect(readiness(running)).rejects.toMatchObject({ code: 'ECONNREFUSED' });
    agent.destroy();
  });

  it('answers a request that arrives on an open connection while others are drained', async () => {
    const { running, entered, release } = await startHeld();
    const first = send(running, { body: '{}' });
    const socket = openTls(running);
    await once(socket, 'secureConnect');
    await entered.opened;
    const closed = running.server.close();
    const second = readAll(socket);
    socket.write('POST /validate HTTP/1.1\r\nHost: x\r\nContent-Type: application/json\r\nContent-Length: 2\r\n\r\n{}');
    release.open();
    expect((await first).status).toBe(200);
    expect(await second).toMatch(/^HTTP\/1\.1 200 [\s\S]*Connection: close/);
    await closed;
  });

  it('ends a request that outlasts the drain time, and tells its review', async () => {
    const { running, entered } = await startHeld(50);
    const answer = send(running, { body: '{}' });
    const lost = expect(answer).rejects.toMatchObject({ code: 'ECONNRESET' });
    await entered.opened;
    await running.server.close();
    await lost;
    await until(() => running.calls[0]?.signal.aborted === true);
  });

  it('is not held up by idle, silent and half-open connections', async () => {
    const running = await startTestServer({ drainMs: 3_600_000 });
    const agent = new Agent({ keepAlive: true });
    await send(running, { body: '{}', agent });
    const silent = openTls(running);
    const ended = readAll(silent);
    await once(silent, 'secureConnect');
    const handshake = connect(running.server.port, '127.0.0.1');
    const cut = readAll(handshake);
    await once(handshake, 'connect');
    await running.server.close();
    await Promise.all([ended, cut]);
    agent.destroy();
  });

  it('may be closed twice', async () => {
    const running = await startTestServer();
    await Promise.all([running.server.close(), running.server.close()]);
    await running.server.close();
  });
});
