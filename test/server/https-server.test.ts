import { once } from 'node:events';
import { Agent } from 'node:https';
import { connect } from 'node:net';
import { Readable } from 'node:stream';

import { afterEach, beforeEach, describe, expect, it } from '@jest/globals';
import supertest from 'supertest';
import { Agent as UndiciAgent, request } from 'undici';

import {
  createGate,
  freshCertificate,
  MAX_BODY_BYTES,
  metricLines,
  openTls,
  readAll,
  REPLY,
  send,
  startTestServer,
  until,
} from './running-server.js';
import type { TestServer } from './running-server.js';

let running: TestServer;

beforeEach(async () => {
  running = await startTestServer();
});
afterEach(() => running.server.close());

/** Ends the server of beforeEach and takes its place. */
async function replaceServer(changes: Parameters<typeof startTestServer>[0]): Promise<void> {
  await running.server.close();
  running = await startTestServer(changes);
}

function statusOf(text: string): { kind: string; code: number; message: string } {
  return JSON.parse(text);
}

describe('POST /validate', () => {
  it('answers with status, type and body of the review (R1)', async () => {
    const answer = await supertest(running.url).post('/validate').ca(running.tls.ca).send({ kind: 'AdmissionReview' });
    expect(answer.status).toBe(200);
    expect(answer.headers['content-type']).toBe('application/json');
    expect(answer.text).toBe(REPLY.body);
    expect(answer.headers).not.toHaveProperty('etag');
    expect(answer.headers).not.toHaveProperty('x-powered-by');
    expect(running.calls.map(({ body }) => body)).toEqual(['{"kind":"AdmissionReview"}']);
  });

  it.each([['application/json'], ['application/json; charset=utf-8'], ['Application/JSON;charset="UTF-8"; odd']])(
    'takes Content-Type %s (P1)',
    async (type) => {
      expect((await send(running, { headers: { 'content-type': type }, body: '{}' })).status).toBe(200);
    },
  );

  it.each([['text/plain'], ['application/jsonp'], ['application/yaml'], ['application/apply-patch+json'], ['']])(
    'refuses Content-Type %j with 415 (P1)',
    async (type) => {
      const answer = await send(running, { headers: { 'content-type': type }, body: '{}' });
      expect(answer.status).toBe(415);
      expect(statusOf(answer.text)).toMatchObject({ kind: 'Status', code: 415 });
      expect(running.calls).toEqual([]);
    },
  );

  it('refuses a compressed body with 415', async () => {
    expect((await send(running, { headers: { 'content-encoding': 'gzip' }, body: 'x' })).status).toBe(415);
  });

  it('answers 415 although the body never comes (P1)', async () => {
    const socket = openTls(running);
    socket.write('POST /validate HTTP/1.1\r\nHost: x\r\nContent-Type: text/plain\r\nContent-Length: 1000\r\n\r\n');
    const text = await readAll(socket);
    expect(text).toMatch(/^HTTP\/1\.1 415 /);
    expect(text).toMatch(/\r\nConnection: close\r\n/);
  });

  it.each([['GET'], ['PUT'], ['DELETE'], ['PATCH'], ['OPTIONS']])(
    'answers %s with 405 and Allow (P1)',
    async (method) => {
      const answer = await send(running, { method });
      expect(answer.status).toBe(405);
      expect(answer.headers.allow).toBe('POST');
      expect(statusOf(answer.text).code).toBe(405);
    },
  );

  it('hands the body on as UTF-8 text, also when a character is split between chunks', async () => {
    const bytes = Buffer.from('{"a":"grün 🚦"}');
    const parts = [bytes.subarray(0, 9), bytes.subarray(9, 14), bytes.subarray(14)];
    const answer = await request(`${running.url}/validate`, {
      method: 'POST',
      headers: { 'content-type': 'application/json' },
      body: Readable.from(parts),
      dispatcher: new UndiciAgent({ connect: { ca: running.tls.ca } }),
    });
    await answer.body.dump();
    expect(running.calls[0]?.body).toBe('{"a":"grün 🚦"}');
  });

  it('hands on the timeout as sent, or undefined', async () => {
    for (const query of [
      '?timeout=10s',
      '',
      '?timeout=',
      '?timeout=%20-3x',
      '?timeout=1s&timeout=2s',
      '?timeout[a]=1',
    ]) {
      await send(running, { path: `/validate${query}`, body: '{}' });
    }
    expect(running.calls.map(({ timeout }) => timeout)).toEqual(['10s', undefined, '', ' -3x', '1s', undefined]);
  });

  it('counts the time from the headers, not from the end of the body', async () => {
    const socket = openTls(running);
    const answer = readAll(socket);
    const head = 'POST /validate HTTP/1.1\r\nHost: x\r\nConnection: close\r\nContent-Type: application/json\r\n';
    socket.write(`${head}Expect: 100-continue\r\nContent-Length: 2\r\n\r\n`);
    await once(socket, 'data'); // "100 Continue": the headers are in
    const headersIn = performance.now();
    socket.write('{}');
    await answer;
    expect(running.calls[0]?.receivedAt).toBeLessThanOrEqual(headersIn);
  });

  it('tells a sender that asks first (Expect: 100-continue) to keep a body that would be refused', async () => {
    const socket = openTls(running);
    const head = `POST /validate HTTP/1.1\r\nHost: x\r\nContent-Type: application/json\r\nExpect: 100-continue\r\n`;
    socket.write(`${head}Content-Length: ${MAX_BODY_BYTES + 1}\r\n\r\n`);
    expect(await readAll(socket)).toMatch(/^HTTP\/1\.1 413 /);
  });

  it('aborts the signal when the caller goes away', async () => {
    const gate = createGate();
    const aborted = createGate();
    await replaceServer({
      review: async ({ signal }) => {
        signal.addEventListener('abort', aborted.open);
        gate.open();
        await aborted.opened;
        return REPLY;
      },
    });
    const socket = openTls(running);
    socket.write('POST /validate HTTP/1.1\r\nHost: x\r\nContent-Type: application/json\r\nContent-Length: 2\r\n\r\n{}');
    await gate.opened;
    socket.destroy();
    await aborted.opened;
    expect(running.calls[0]?.signal.aborted).toBe(true);
  });

  it('does not abort the signal of a review that was answered', async () => {
    const agent = new Agent({ keepAlive: true });
    await send(running, { body: '{}', agent });
    await send(running, { body: '{}', agent });
    agent.destroy();
    expect(running.calls[0]?.signal.aborted).toBe(false);
  });

  it('answers well-formed JSON without a stack trace when the handler breaks its promise', async () => {
    await replaceServer({ review: () => Promise.reject(new Error('secret detail')) });
    const answer = await send(running, { body: '{}' });
    expect(answer.status).toBe(500);
    expect(statusOf(answer.text)).toMatchObject({ kind: 'Status', code: 500 });
    expect(answer.text).not.toMatch(/secret detail|at .*\.ts|node_modules/);
    expect(running.log.some((line) => line['msg'] === 'request failed')).toBe(true);
  });

  it('replaces a lone surrogate, so that the answer is valid UTF-8 (R7)', async () => {
    await replaceServer({ review: () => Promise.resolve({ status: 200, body: '{"a":"\ud800"}' }) });
    expect((await send(running, { body: '{}' })).text).toBe('{"a":"\ufffd"}');
  });
});

const MIB = 1024 * 1024;

/** Sends chunks as fast as they are taken, up to 64 MiB, until the server ends the connection. */
async function pushBody(header: string): Promise<{ readonly text: string; readonly taken: number }> {
  const socket = openTls(running);
  const answer = readAll(socket);
  socket.write(`POST /validate HTTP/1.1\r\nHost: x\r\nContent-Type: application/json\r\n${header}\r\n\r\n`);
  const chunk = Buffer.concat([Buffer.from('10000\r\n'), Buffer.alloc(0x10000, 'a'), Buffer.from('\r\n')]);
  let taken = 0;
  const pump = (): void => {
    if (socket.destroyed || taken >= 64 * MIB) return;
    taken += chunk.length;
    socket.write(chunk, pump);
  };
  pump();
  return { text: await answer, taken };
}

describe('large bodies (P10)', () => {
  it('accepts a body of exactly the limit', async () => {
    const answer = await send(running, { body: Buffer.alloc(MAX_BODY_BYTES, 'a') });
    expect(answer.status).toBe(200);
    expect(running.calls[0]?.body.length).toBe(MAX_BODY_BYTES);
  });

  it.each([
    ['with Content-Length', {}],
    ['chunked', { 'transfer-encoding': 'chunked' }],
  ])('answers 413 to one byte more, %s', async (_how, headers) => {
    const answer = await send(running, { body: Buffer.alloc(MAX_BODY_BYTES + 1, 'a'), headers });
    expect(answer.status).toBe(413);
    expect(answer.headers.connection).toBe('close');
    expect(statusOf(answer.text)).toMatchObject({ kind: 'Status', code: 413 });
    expect(running.calls).toEqual([]);
  });

  it('gets its 413 through to a client that has 64 MiB to send', async () => {
    const declared = supertest(running.url).post('/validate').ca(running.tls.ca).type('json');
    expect((await declared.send('a'.repeat(64 * MIB))).body).toMatchObject({ kind: 'Status', code: 413 });
    const body = Buffer.alloc(64 * MIB, 'a');
    const chunked = await send(running, { body, headers: { 'transfer-encoding': 'chunked' } });
    expect(statusOf(chunked.text)).toMatchObject({ kind: 'Status', code: 413 });
  });

  it.each([
    ['with Content-Length', `Content-Length: ${64 * MIB}`, 0],
    ['chunked', 'Transfer-Encoding: chunked', MAX_BODY_BYTES],
  ])('reads no more of 64 MiB than it must, %s', async (_how, header, limit) => {
    const { text, taken } = await pushBody(header);
    expect(text).toMatch(/^HTTP\/1\.1 413 /);
    // What was taken beyond the limit stands in the buffers of the kernel and of TLS, on both sides.
    expect(taken).toBeLessThan(limit + 16 * MIB);
    expect(running.calls).toEqual([]);
  });

  it('keeps its memory low while twenty senders push at once', async () => {
    const before = process.memoryUsage().arrayBuffers;
    const pushed = await Promise.all(Array.from({ length: 20 }, () => pushBody(`Content-Length: ${64 * MIB}`)));
    expect(pushed.every(({ text }) => text.startsWith('HTTP/1.1 413 '))).toBe(true);
    expect(process.memoryUsage().arrayBuffers - before).toBeLessThan(32 * MIB);
  });

  it('serves the next caller after a refusal', async () => {
    await send(running, { body: Buffer.alloc(MAX_BODY_BYTES + 1, 'a') });
    expect((await send(running, { body: '{}' })).status).toBe(200);
  });
});

describe('other paths and broken requests', () => {
  it.each([['/'], ['/Validate'], ['/validate/x'], ['/readyz/unknown'], ['/%zz'], ['//'], ['/constructor']])(
    'answers %s with JSON and a client error',
    async (path) => {
      const answer = await send(running, { path, method: 'GET' });
      expect([400, 404]).toContain(answer.status);
      expect(answer.headers['content-type']).toBe('application/json');
      expect(statusOf(answer.text)).toMatchObject({ kind: 'Status', code: answer.status });
    },
  );

  it.each([
    ['not HTTP at all', 'hello\r\n\r\n', '400', 'malformed'],
    [
      'two lengths',
      'POST /validate HTTP/1.1\r\nHost: x\r\nContent-Length: 1\r\nContent-Length: 2\r\n\r\n',
      '400',
      'malformed',
    ],
    [
      'a broken chunk',
      'POST /validate HTTP/1.1\r\nHost: x\r\nContent-Type: application/json\r\nTransfer-Encoding: chunked\r\n\r\nzz\r\n',
      '400',
      'malformed',
    ],
    ['endless headers', `GET / HTTP/1.1\r\nHost: x\r\nA: ${'a'.repeat(20_000)}\r\n\r\n`, '431', 'headers-too-large'],
  ])('ends and counts a connection that sends %s', async (_what, bytes, code, kind) => {
    const socket = openTls(running);
    socket.write(bytes);
    expect(await readAll(socket)).toMatch(new RegExp(`^HTTP/1\\.1 ${code} `));
    expect(await metricLines(running.metrics, 'rendergate_connection_errors_total{')).toEqual([
      `rendergate_connection_errors_total{kind="${kind}"} 1`,
    ]);
    expect((await send(running, { body: '{}' })).status).toBe(200);
  });

  it.each([
    ['headers', 'POST /validate HTTP/1.1\r\nHost: x\r\n'],
    ['a body', 'POST /validate HTTP/1.1\r\nHost: x\r\nContent-Type: application/json\r\nContent-Length: 9\r\n\r\n{'],
    ['nothing', ''],
  ])('ends a sender of %s that never finishes', async (_what, bytes) => {
    await replaceServer({ timeouts: { keepAliveMs: 10_000, headersMs: 100, requestMs: 200 } });
    const socket = openTls(running);
    socket.write(bytes);
    expect(await readAll(socket)).toMatch(/^HTTP\/1\.1 408 /);
    expect(running.calls).toEqual([]);
    expect(await metricLines(running.metrics, 'rendergate_connection_errors_total{')).toEqual([
      'rendergate_connection_errors_total{kind="timeout"} 1',
    ]);
  });

  it('survives CONNECT and an upgrade', async () => {
    const socket = openTls(running);
    socket.write('CONNECT example.org:443 HTTP/1.1\r\nHost: x\r\n\r\n');
    await readAll(socket);
    const upgrade = openTls(running);
    upgrade.write('GET /livez HTTP/1.1\r\nHost: x\r\nConnection: Upgrade, close\r\nUpgrade: h2c\r\n\r\n');
    expect(await readAll(upgrade)).toMatch(/^HTTP\/1\.1 200 /);
  });
});

describe('TLS', () => {
  it('speaks HTTP/1.1 to a client that offers h2 as well (B12)', async () => {
    const socket = openTls(running, { ALPNProtocols: ['h2', 'http/1.1'] });
    await once(socket, 'secureConnect');
    expect(socket.alpnProtocol).toBe('http/1.1');
    socket.destroy();
  });

  it('refuses a client that offers h2 alone (B12)', async () => {
    const [error] = await once(openTls(running, { ALPNProtocols: ['h2'] }), 'error').catch((cause) => [cause]);
    expect(error).toMatchObject({ code: 'ERR_SSL_TLSV1_ALERT_NO_APPLICATION_PROTOCOL' });
  });

  it('counts a plain HTTP request, and a client that goes away in the handshake, as TLS errors', async () => {
    const plain = connect(running.server.port, '127.0.0.1');
    plain.write('GET /livez HTTP/1.1\r\nHost: x\r\n\r\n');
    await readAll(plain);
    const silent = connect(running.server.port, '127.0.0.1');
    await once(silent, 'connect');
    silent.write(Buffer.from([0x16, 0x03, 0x01, 0x02]));
    silent.end();
    await readAll(silent);
    await until(async () => {
      const lines = await metricLines(running.metrics, 'rendergate_connection_errors_total{kind="tls"}');
      return lines[0]?.endsWith(' 2') === true;
    });
  });

  it('gives new handshakes the new certificate, keeps open connections, and fails none', async () => {
    const second = await freshCertificate();
    const both = { ...running, tls: { ...running.tls, ca: running.tls.ca + second.ca } };
    const agent = new Agent({ keepAlive: true, maxSockets: 1 });
    const first = await send(both, { body: '{}', agent });
    let sent = 0;
    let swapped = false;
    const sender = async (): Promise<void> => {
      for (let after = 0; after < 20; after += swapped ? 1 : 0) {
        expect((await send(both, { body: '{}' })).status).toBe(200);
        sent += 1;
      }
    };
    const senders = [sender(), sender(), sender()];
    await until(() => sent > 10);
    running.server.setTls(second);
    swapped = true;
    await Promise.all(senders);
    const again = await send(both, { body: '{}', agent });
    expect(again.localPort).toBe(first.localPort);
    agent.destroy();
    const onlyNew = { ...running, tls: second };
    expect((await send(onlyNew, { body: '{}' })).status).toBe(200);
    const stillHttp1 = openTls(onlyNew, { ALPNProtocols: ['h2', 'http/1.1'] });
    await once(stillHttp1, 'secureConnect');
    expect(stillHttp1.alpnProtocol).toBe('http/1.1');
    stillHttp1.destroy();
  });

  it('keeps the old certificate when the new pair does not fit', async () => {
    const other = await freshCertificate();
    expect(() => running.server.setTls({ cert: other.cert, key: running.tls.key })).toThrow();
    expect((await send(running, { body: '{}' })).status).toBe(200);
  });
});

describe('keep-alive', () => {
  it('reuses one connection, also after it was idle for longer than the headers may take', async () => {
    await replaceServer({ timeouts: { keepAliveMs: 60_000, headersMs: 100, requestMs: 150 } });
    const agent = new Agent({ keepAlive: true, maxSockets: 1 });
    const first = await send(running, { body: '{}', agent });
    const idle = performance.now();
    await until(() => performance.now() - idle > 600);
    const second = await send(running, { body: '{}', agent });
    agent.destroy();
    expect(first.headers['connection']).toBe('keep-alive');
    expect(second.localPort).toBe(first.localPort);
  });

  it('outlives the API server, which reuses a connection for 90 s', async () => {
    const agent = new Agent({ keepAlive: true });
    const { headers } = await send(running, { body: '{}', agent });
    agent.destroy();
    expect(headers['keep-alive']).toBe('timeout=125');
  });
});

describe('ports', () => {
  it('says which port is taken, and leaves nothing listening', async () => {
    await expect(startTestServer({ port: running.server.port })).rejects.toThrow(/port \d+: the port is in use/);
    await expect(startTestServer({ healthPort: running.server.healthPort })).rejects.toThrow(/the port is in use/);
  });
});
