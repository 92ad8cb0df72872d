import { afterEach, describe, expect, it } from '@jest/globals';
import { request } from 'undici';

import type { HealthCheck, HealthResult } from '../../src/server/contract.js';
import { rootReport, singleReport } from '../../src/server/health.js';
import { send, startTestServer } from './running-server.js';
import type { TestServer } from './running-server.js';

function entry(name: string, result: HealthResult): HealthCheck {
  return { name, check: () => Promise.resolve(result) };
}

const GOOD = entry('ping', { ok: true });
const NOTED = entry('render-graph', { ok: true, note: 'first render running, no sibling can validate' });
const BAD = entry('checker', { ok: false, reason: 'haproxy is missing' });

let running: TestServer | undefined;
afterEach(() => running?.server.close());

async function plain(path: string, method: 'GET' | 'HEAD' | 'POST' = 'GET') {
  const { statusCode, headers, body } = await request(`${running?.healthUrl}${path}`, { method });
  return { status: statusCode, headers, text: await body.text() };
}

describe('health endpoints, printed as by the kube-apiserver', () => {
  it.each([
    ['/livez', 200, 'ok'],
    ['/livez?verbose', 200, '[+]ping ok\nlivez check passed\n'],
    ['/livez/ping', 200, 'ok'],
    [
      '/readyz',
      500,
      '[+]ping ok\n[+]render-graph ok: first render running, no sibling can validate\n' +
        '[-]checker failed: haproxy is missing\n[+]shutdown ok\nreadyz check failed\n',
    ],
    ['/readyz?exclude=checker', 200, 'ok'],
    [
      '/readyz?exclude=checker&exclude=render-graph&verbose',
      200,
      '[+]ping ok\n[+]render-graph excluded: ok\n[+]checker excluded: ok\n[+]shutdown ok\nreadyz check passed\n',
    ],
    [
      '/livez?verbose=1&exclude=x"y',
      200,
      '[+]ping ok\nwarn: some health checks cannot be excluded: no matches for "x\\"y"\nlivez check passed\n',
    ],
    ['/readyz/checker', 500, 'internal server error: haproxy is missing\n'],
    ['/readyz/render-graph', 200, 'ok: first render running, no sibling can validate'],
  ])('%s', async (path, status, text) => {
    running = await startTestServer({ live: [GOOD], ready: [GOOD, NOTED, BAD] });
    expect(await plain(path)).toMatchObject({ status, text });
    const tls = await send(running, { path, method: 'GET' });
    expect({ status: tls.status, text: tls.text }).toEqual({ status, text });
    expect(tls.headers['content-type']).toBe('text/plain; charset=utf-8');
  });

  it('answers a sibling for itself alone, where a check would ask siblings in turn', async () => {
    const check: HealthCheck = {
      ...entry('asking', { ok: false, reason: 'a sibling has one' }),
      own: () => ({ ok: true }),
    };
    running = await startTestServer({ ready: [check, BAD] });
    expect(await plain('/readyz/asking')).toMatchObject({ status: 500 });
    expect(await plain('/readyz/asking?own')).toMatchObject({ status: 200, text: 'ok' });
    expect(await plain('/readyz/checker?own')).toMatchObject({ status: 500 });
    expect((await plain('/readyz?own')).status).toBe(500);
  });

  it('answers HEAD without a body and other methods with 405', async () => {
    running = await startTestServer();
    expect(await plain('/livez', 'HEAD')).toMatchObject({ status: 200, text: '' });
    for (const path of ['/livez', '/readyz', '/readyz/shutdown', '/metrics']) {
      expect(await plain(path, 'POST')).toMatchObject({ status: 405, headers: { allow: 'GET, HEAD' } });
    }
  });

  it('knows no /validate on the plain port, and no check that is not there', async () => {
    running = await startTestServer();
    expect((await plain('/validate', 'POST')).status).toBe(404);
    expect((await plain('/livez/shutdown')).status).toBe(404);
    expect((await plain('/readyz/__proto__')).status).toBe(404);
  });

  it('serves the metrics on the plain port', async () => {
    running = await startTestServer();
    await send(running, { body: '{}' });
    const { status, headers, text } = await plain('/metrics');
    expect(status).toBe(200);
    expect(headers['content-type']).toMatch(/^text\/plain; version=0\.0\.4/);
    expect(text).toContain('rendergate_http_requests_total{route="validate",code="200"} 1');
  });
});

describe('a check that misbehaves', () => {
  it.each<[string, HealthCheck['check'], RegExp]>([
    [
      'throws',
      () => {
        throw new Error('boom');
      },
      /^\[-]odd failed: the check itself failed: boom\nreadyz check failed\n$/,
    ],
    ['rejects', () => Promise.reject(new Error('boom')), /failed: the check itself failed: boom\n/],
    ['never answers', () => new Promise(() => undefined), /failed: the check did not answer in 20 ms\n/],
    [
      'gives a reason of several lines',
      () => ({ ok: false, reason: 'a\n[+]b ok\r\u2028c' }),
      /^\[-]odd failed: a \[\+]b ok c\nreadyz check failed\n$/,
    ],
  ])('that %s has failed, on a line of its own', async (_how, check, text) => {
    const report = await rootReport('readyz', [{ name: 'odd', check }], { verbose: false, exclude: [] }, 20);
    expect(report.status).toBe(500);
    expect(report.text).toMatch(text);
    expect((await singleReport({ name: 'odd', check }, 20)).status).toBe(500);
  });
});
