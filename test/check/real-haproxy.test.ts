import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, it } from '@jest/globals';
import { existsSync, writeFileSync, chmodSync } from 'node:fs';
import { join } from 'node:path';
import { generate } from 'selfsigned';
import type { CheckFile, CheckOutcome } from '../../src/check/checker.js';
import { findProgram } from '../../src/check/find-program.js';
import { file, HAPROXY_CHECK, request, Workshop } from './stand-in.js';

const installed = findProgram('haproxy', process.env['PATH']).kind === 'found';
if (!installed)
  process.stderr.write(
    'haproxy is not installed: the tests with the real checker are skipped (apt-get install haproxy)\n',
  );
const describeWithHaproxy = installed ? describe : describe.skip;

const DEFAULTS = 'defaults\n  mode http\n  timeout connect 1s\n  timeout client 1s\n  timeout server 1s\n';

/** haproxy.cfg whose own lines begin at line 6. */
function config(...lines: string[]): CheckFile {
  return file('haproxy.cfg', `${DEFAULTS}${lines.join('\n')}\n`);
}

interface Pair {
  readonly cert: string;
  readonly key: string;
}

async function pair(name: string): Promise<Pair> {
  const made = await generate([{ name: 'commonName', value: name }]);
  return { cert: made.cert, key: made.private };
}

describeWithHaproxy('the real checker', () => {
  let shop: Workshop;
  let one: Pair;
  let two: Pair;

  beforeAll(async () => {
    [one, two] = await Promise.all([pair('one.example.com'), pair('two.example.com')]);
  });

  beforeEach(() => {
    shop = new Workshop();
  });

  afterEach(async () => {
    expect(shop.leftOver()).toEqual([]);
    await shop.close();
  });

  afterAll(() => expect(one.key).not.toBe(two.key));

  function check(...files: CheckFile[]): Promise<CheckOutcome> {
    return shop.checker(HAPROXY_CHECK).check(request(files));
  }

  it('passes a good configuration with maps, a crt-list and certificates in folders', async () => {
    const outcome = await check(
      config(
        'frontend f',
        '  bind :8443 ssl strict-sni crt-list certs.list',
        '  use_backend %[path,map_beg(maps/paths.map)]',
        'backend b',
        '  server s 192.0.2.1:80',
      ),
      file('maps/paths.map', '/a b\n'),
      file('certs.list', 'certs/one.pem one.example.com\n'),
      file('certs/one.pem', `${one.cert}\n${one.key}`, true),
    );
    expect(outcome).toMatchObject({ kind: 'passed', warnings: [] });
  });

  it('passes with a warning, and places it', async () => {
    const outcome = await check(config('frontend f', '  bind :8080', '  http-request deny', '  http-request deny'));
    expect(outcome).toMatchObject({ kind: 'passed', warnings: [{ severity: 'warning', file: 'haproxy.cfg' }] });
  });

  it('refuses an unknown keyword and a missing backend at their lines', async () => {
    expect(await check(config('backend b', '  blance roundrobin'))).toMatchObject({
      kind: 'refused',
      findings: [{ file: 'haproxy.cfg', line: 7, text: expect.stringContaining("unknown keyword 'blance'") }],
    });
    const missing = config('frontend f', '  bind :8080', '  default_backend none');
    expect(await check(missing)).toMatchObject({ findings: [{ file: 'haproxy.cfg', line: 8 }] });
  });

  it('refuses a configuration that would not start, and says why', async () => {
    expect(await check(config('backend b', '  server s 192.0.2.1:80'))).toMatchObject({
      kind: 'refused',
      findings: [{ severity: 'alert', text: expect.stringContaining('no section has a bind line') }],
    });
  });

  it('refuses a map at the line of the map', async () => {
    const cfg = config('frontend f', '  bind :8080', '  http-request set-header X %[src,map_ip(maps/ip.map)]');
    expect(await check(cfg, file('maps/ip.map', '192.0.2.0/24 a\n10.0.0.0/33 b\n'))).toMatchObject({
      findings: [
        { file: 'maps/ip.map', line: 2, mentions: ['haproxy.cfg'], text: expect.stringContaining('10.0.0.0/33') },
      ],
    });
  });

  it('refuses a crt-list at its line', async () => {
    const cfg = config('frontend f', '  bind :8443 ssl crt-list certs.list');
    const pem = file('certs/one.pem', `${one.cert}\n${one.key}`, true);
    expect(await check(cfg, file('certs.list', 'certs/one.pem [foo bar] a.example.com\n'), pem)).toMatchObject({
      findings: [{ file: 'certs.list', line: 1, mentions: ['haproxy.cfg'] }],
    });
  });

  it.each([
    ['a key of another certificate', (): string => `${one.cert}\n${two.key}`],
    ['no key', (): string => one.cert],
    ['garbage', (): string => 'garbage SECRETCANARY swordfish\n'],
    ['a spoilt key', (): string => `${one.cert}\n-----BEGIN PRIVATE KEY-----\nU0VDUkVU\n-----END PRIVATE KEY-----\n`],
  ])('refuses a certificate with %s by its name, and says nothing of its content', async (_, content) => {
    const pem = content();
    const outcome = await check(config('frontend f', '  bind :8443 ssl crt certs/'), file('certs/one.pem', pem, true));
    expect(outcome).toMatchObject({ kind: 'refused', findings: [{ line: 7, mentions: ['certs/one.pem'] }] });
    const said = JSON.stringify(outcome);
    for (const line of pem.split('\n').filter((text) => text.length > 3)) expect(said).not.toContain(line);
    expect(said).not.toMatch(/SECRETCANARY|swordfish|BEGIN|U0VD/);
  });

  it.each(['acl leak src -f CANARY', 'http-request set-header X %[src,map_ip(CANARY)]', 'errorfile 503 CANARY'])(
    'carries nothing out of a file that it was made to open: %s',
    async (line) => {
      const canary = join(shop.folder, 'canary');
      writeFileSync(canary, "hunter2' swordfish 'root:x:421337\n");
      chmodSync(canary, 0o644);
      const outcome = await check(config('frontend f', '  bind :8080', `  ${line.replace('CANARY', canary)}`));
      expect(outcome).toMatchObject({ kind: 'refused', findings: [{ file: 'haproxy.cfg', line: 8 }] });
      expect(JSON.stringify(outcome)).not.toMatch(/hunter|swordfish|root|421337/);
    },
  );

  it('cannot open what only this process may read, when it runs as root', async () => {
    if (process.getuid?.() !== 0 || !existsSync('/etc/shadow')) return;
    const outcome = await check(config('global', '  lua-load /etc/shadow'));
    expect(outcome).toMatchObject({ findings: [{ text: expect.stringContaining('Permission denied') }] });
  });

  it('carries no variable out, since there is none', async () => {
    process.env['CHECK_CANARY'] = 'swordfish';
    const outcome = await check(config('backend b', '  http-request set-header a %["$CHECK_CANARY"]'));
    delete process.env['CHECK_CANARY'];
    expect(JSON.stringify(outcome)).not.toContain('swordfish');
  });

  it('makes text of half a letter', async () => {
    const outcome = await check(config('backend b', '  timeout server \u00e95s'));
    expect(outcome).toMatchObject({ findings: [{ line: 7, text: "unexpected character '…' in 'timeout server'" }] });
  });

  it('gives no verdict when the memory limit is too small for the files', async () => {
    const backends = Array.from({ length: 5_000 }, (_, index) => `backend b${index}\n  server s 192.0.2.1:80 check`);
    const checker = shop.checker(HAPROXY_CHECK, { memoryMiB: 24 });
    expect(await checker.check(request([config(...backends)]))).toMatchObject({
      kind: 'unavailable',
      reason: 'failed',
      message: expect.stringContaining('24 MiB'),
    });
  });

  it('gives no verdict when the command names a file that is not there', async () => {
    const checker = shop.checker(['haproxy', '-c', '-C', '{dir}', '-f', 'other.cfg']);
    expect(await checker.check(request([config()]))).toMatchObject({ kind: 'unavailable', reason: 'failed' });
  });

  it('reads an absolute path of the directory as the file that it is', async () => {
    const checker = shop.checker(['haproxy', '-c', '-f', '{dir}/haproxy.cfg']);
    expect(await checker.check(request([config('backend b', '  blub')]))).toMatchObject({
      findings: [{ file: 'haproxy.cfg', line: 7 }],
    });
  });

  it('tells its version once, and the identity names it from then on', async () => {
    const checker = shop.checker(HAPROXY_CHECK);
    const before = checker.identity;
    const [first, second] = await Promise.all([checker.probeVersion(), checker.probeVersion()]);
    expect(first).toMatch(/^HA-?Proxy version \d/);
    expect(second).toBe(first);
    expect(checker.identity).toContain(first);
    expect(checker.identity).not.toBe(before);
  });
});
