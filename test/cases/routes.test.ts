import { mkdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';

import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';

import { makeScratch } from '../support/scratch.js';
import type { Scratch } from '../support/scratch.js';
import { haproxyRefuses } from './always.js';
import { CheckerShim, findHaproxy } from './checker-shim.js';
import { judgeRoutes } from './routes.js';

const haproxy = findHaproxy() ?? 'haproxy';

const CONFIG = `global
  log stdout format raw local0
defaults
  mode http
  timeout connect 1s
  timeout client 5s
  timeout server 5s
frontend http
  bind *:80
  use_backend a if { req.hdr(host) a.example.com } { path_beg /x }
backend a
  server s1 192.0.2.10:8080 check
`;

let scratch: Scratch;

beforeAll(() => {
  scratch = makeScratch();
  mkdirSync(join(scratch.path, 'release'));
  writeFileSync(join(scratch.path, 'release/haproxy.cfg'), CONFIG);
});

afterAll(() => scratch.remove());

describe('routes in a real haproxy', () => {
  const judge = (host: string, path: string, to: string): Promise<string[]> =>
    judgeRoutes(haproxy, join(scratch.path, 'release'), [{ host, path, to: [to] }]);

  it('lead to the server that stands for an address', async () => {
    expect(await judge('a.example.com', '/x/y z', '192.0.2.10:8080')).toEqual([]);
  });

  it('lead nowhere when no server answers', async () => {
    expect(await judge('b.example.com', '/x', 'none')).toEqual([]);
  });

  it('are named with what came instead', async () => {
    expect(await judge('b.example.com', '/x', '192.0.2.10:8080')).toEqual([
      'routes: b.example.com/x: expected 192.0.2.10:8080, got none (HTTP 503)',
    ]);
  });

  it('say why haproxy did not start', async () => {
    mkdirSync(join(scratch.path, 'bad'));
    writeFileSync(join(scratch.path, 'bad/haproxy.cfg'), `${CONFIG}  parsecs 5\n`);
    const [failure] = await judgeRoutes(haproxy, join(scratch.path, 'bad'), [{ host: 'a', path: '/', to: ['none'] }]);
    expect(failure).toContain("unknown keyword 'parsecs'");
  });
});

describe('the checker shim', () => {
  const shim = (name: string): CheckerShim => new CheckerShim(scratch.folder(name), haproxy, true);
  const refuses = (program: string): Promise<string | undefined> =>
    haproxyRefuses(program, join(scratch.path, 'release'));

  it('becomes the real checker and counts its runs', async () => {
    const own = shim('plain');
    expect(await refuses(own.program)).toBeUndefined();
    expect(await refuses(own.program)).toBeUndefined();
    expect(own.runs()).toBe(2);
  });

  it('ends as a stand-in until it is restored', async () => {
    const own = shim('stand-in');
    own.replace({ exitCode: 3, stderrBase64: Buffer.from('no \u001b[31m').toString('base64') });
    expect(await refuses(own.program)).toContain('no \\u001b[31m');
    own.restore();
    expect(await refuses(own.program)).toBeUndefined();
  });

  it('is killed by a signal, or is not there at all', async () => {
    const own = shim('killed');
    own.replace({ signal: 'SIGKILL' });
    expect(await refuses(own.program)).toBeDefined();
    own.restore();
    own.replace({ missing: true });
    expect(await refuses(own.program)).toContain('ENOENT');
    own.restore();
    expect(await refuses(own.program)).toBeUndefined();
  });

  it('leaves no process when it has ended by itself', async () => {
    const own = shim('ended');
    await refuses(own.program);
    expect(own.processes()).toBe(0);
  });
});
