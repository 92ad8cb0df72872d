import { spawnSync } from 'node:child_process';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import fc from 'fast-check';
import { splitWords } from '../../src/template/haproxy-words.js';
import { checkRawLines } from '../../src/template/raw-lines.js';

const HAPROXY = '/usr/sbin/haproxy';
const HEAD = [
  'defaults',
  '  mode http',
  '  timeout connect 1s',
  '  timeout client 1s',
  '  timeout server 1s',
  'backend raw',
];

let directory = '';
beforeAll(() => {
  directory = mkdtempSync(join(tmpdir(), 'raw-lines-'));
});
afterAll(() => rmSync(directory, { recursive: true, force: true }));

/** What the real checker prints about these lines of a backend. */
function haproxy(lines: readonly string[]): string {
  writeFileSync(join(directory, 'haproxy.cfg'), [...HEAD, ...lines, ''].join('\n'));
  const run = spawnSync(HAPROXY, ['-c', '-C', directory, '-f', 'haproxy.cfg'], {
    encoding: 'utf8',
    env: { HOME: '/tmp/home-canary' },
  });
  return run.stdout + run.stderr;
}

function accepted(text: string): readonly string[] {
  const result = checkRawLines(text);
  if (!result.ok) throw new Error(`refused: ${result.reason}`);
  return result.lines;
}

function wordsOf(line: string): readonly string[] {
  const split = splitWords(line);
  return split.ok ? split.words : [];
}

function refused(text: string): string {
  const result = checkRawLines(text);
  return result.ok ? `accepted as ${result.lines.join(' / ')}` : result.reason;
}

describe('words', () => {
  const cases: readonly (readonly [string, readonly string[]])[] = [
    ['a  b\tc', ['a', 'b', 'c']],
    ["'glo'bal", ['global']],
    ['"lua-load" x', ['lua-load', 'x']],
    ['lua\\x2dload', ['lua-load']],
    ['a\\ b c', ['a b', 'c']],
    ['a # b', ['a']],
    ['a#b', ['a']],
    ['"a # b"', ['a # b']],
    ['a\\#b', ['a#b']],
    ["'a\\'b", ['a\\b']],
    ["'it'\\''s'", ["it's"]],
    ['"say \\"x\\""', ['say "x"']],
    ['^/a$ $HOME', ['^/a$', '$HOME']],
    ['"a\\$b" \\$c', ['a$b', '\\$c']],
    ['\\d \\;', ['\\d', '\\;']],
    ["'' x", ['', 'x']],
    ['', []],
    ['   # only a comment', []],
  ];
  it.each(cases)('%j is split as HAProxy splits it', (line, words) => {
    expect(splitWords(line)).toEqual({ ok: true, words });
  });

  it('refuses what HAProxy refuses or expands', () => {
    for (const line of ['"a', "it's", '"${HOME}"', '"$HOME"', 'a\\x', 'a\\x4', 'a\\x00', 'a\\xff']) {
      expect([line, splitWords(line).ok]).toEqual([line, false]);
    }
  });

  it('agrees with the real HAProxy on the first word of any line', () => {
    const piece = fc.constantFrom(
      'a',
      'B',
      '-',
      ' ',
      '"',
      "'",
      '\\',
      '#',
      '$',
      '%',
      '{',
      '\\x41',
      '\\n',
      '\\t',
      'é',
      ';',
      '[',
    );
    const lines = fc
      .sample(fc.array(piece, { minLength: 1, maxLength: 9 }), { numRuns: 400, seed: 7 })
      .map((pieces) => `bogus${pieces.join('')}`);
    // What it prints of a control character is not what it saw, and such words are refused anyway.
    const clear = lines.filter((line) => !line.includes('$') && !/[\n\t]/.test(wordsOf(line).join('')));
    // HAProxy stops after 50 faults.
    for (let from = 0; from < clear.length; from += 45) {
      const part = clear.slice(from, from + 45);
      const said = haproxy(part);
      part.forEach((line, at) =>
        expect([line, said.includes(sayingOf(line, HEAD.length + at + 1))]).toEqual([line, true]),
      );
    }
  });
});

/** The beginning of what HAProxy must say about a line of its own kind. */
function sayingOf(line: string, number: number): string {
  const split = splitWords(line);
  return split.ok
    ? `haproxy.cfg:${number}] : unknown keyword '${split.words[0]}' in 'backend' section`
    : `haproxy.cfg:${number}]: `;
}

describe('attacks', () => {
  const canary = '/etc/hostname';
  const attacks: readonly (readonly [string, string])[] = [
    ['lua-load /tmp/x.lua', 'lua-load'],
    ['http-request set-header X-Team blue\nglobal\n  lua-load /tmp/x.lua', 'global'],
    ['\'glo\'bal\n\t"lua-load"   /tmp/x.lua', 'global'],
    ['"lua-load" /tmp/x.lua', 'lua-load'],
    ['lua\\x2dload-per-thread /tmp/x.lua', 'lua-load-per-thread'],
    ['.include x', '.include'],
    [`acl leak src -f ${canary}`, '-f'],
    [`acl leak src "-f" ${canary}`, '-f'],
    [`acl leak src -i -f ${canary}`, '-f'],
    [`acl leak src -M -f ${canary}`, '-M'],
    ['acl leak src -u 4', '-u'],
    [`http-request deny if { src -f ${canary} }`, '-f'],
    [`http-request deny if TRUE !{ path_beg -f ${canary} }`, '-f'],
    [`http-request deny if ! { path -i -f ${canary} }`, '-f'],
    [`http-request return status 200 content-type text/plain file ${canary}`, 'file'],
    [`http-request return status 200 content-type text/plain lf-file ${canary}`, 'lf-file'],
    [`http-request deny deny_status 403 errorfile ${canary}`, 'errorfile'],
    ['http-request deny deny_status 403 errorfiles x', 'errorfiles'],
    [`errorfile 503 ${canary}`, 'errorfile'],
    ['errorloc 503 http://x', 'errorloc'],
    [`http-request set-header X %[path,map(${canary})]`, 'map'],
    [`http-request set-header X "%[path,lower,map_reg(${canary},x)]"`, 'map_reg'],
    [`http-request set-header X '%{+Q}[path,map(${canary})]'`, 'map'],
    [`http-request set-header X %%%[path,map_str(${canary})]`, 'map_str'],
    [`http-request set-var(txn.x) path,map(${canary})`, 'map'],
    [`http-request set-var(txn.x) path map(${canary})`, 'map'],
    [`http-request redirect location /%[path,map(${canary})]`, 'map'],
    ['http-request set-header X %[env(HOME)]', 'env'],
    ['http-request set-header X "$HOME"', 'environment'],
    ['http-request set-header X "${HOME}"', 'environment'],
    ['http-request set-header X %[var(proc.secret)]', 'proc.secret'],
    ['http-request set-var(proc.x) path', 'proc.x'],
    ['http-request set-var-fmt(proc.x) a', 'proc.x'],
    ['http-request set-var(sess.x) path', 'sess.x'],
    ['http-request set-header X %[path,set-var(proc.x)]', 'proc.x'],
    ['http-request set-header X %[int(1),add(proc.x)]', 'proc.x'],
    ['http-request set-header X %[lua.steal]', 'lua.steal'],
    ['http-request lua.steal', 'lua.steal'],
    ['http-request use-service lua.x', 'use-service'],
    ['http-request cache-use x', 'cache-use'],
    [`http-request set-map(${canary}) a b`, 'set-map'],
    [`http-request add-acl(${canary}) a`, 'add-acl'],
    ['http-request do-resolve(txn.x,dns) hdr(host)', 'do-resolve'],
    ['http-request track-sc0 src table other', 'track-sc0'],
    ['http-request set-header X %[sc_http_req_rate(0,other)]', 'sc_http_req_rate'],
    ['http-request set-header X %[src,table_http_req_rate(other)]', 'table_http_req_rate'],
    ['http-request set-header X %[ssl_fc_session_key]', 'ssl_fc_session_key'],
    [`http-request set-header X %[hdr(a),jwt_verify(txn.a,${canary})]`, 'jwt_verify'],
    ['http-request set-header X %[path,debug(a,stderr)]', 'debug'],
    ['http-request set-header X \'%[str("a"),lower]\'', 'quote'],
    ["http-request set-header X '%[str(a\\,b)]'", 'backslash'],
    ['http-request set-header X %H', '%H'],
    ['http-request set-header X 50%', 'format'],
    ['http-request set-header constructor %[constructor]', 'constructor'],
    ['constructor x', 'constructor'],
    ['http-request __proto__', '__proto__'],
    ['filter spoe engine x config /etc/x', 'filter'],
    ['server s1 127.0.0.1:80', 'server'],
    ['option external-check', 'external-check'],
    ['option forwardfor except 0.0.0.0/0', 'except'],
    ['option forwardfor header X-Other', 'header'],
    ['external-check command /bin/sh', 'external-check'],
    ['log 127.0.0.1 local0', 'log'],
    ['use-server x if TRUE', 'use-server'],
    ['email-alert mailers x', 'email-alert'],
    ['stick-table type ip size 1g', 'stick-table'],
    ['no option forwardfor', 'no'],
    ['frontend side-door', 'frontend'],
    ['retries 3 global', 'global'],
    ['balance roundrobin; global', 'roundrobin;'],
    ['http-request deny if TRUE {', '{'],
    ["http-request set-header X 'a\\nb' 'c", 'quote'],
    ['http-request set-header X a\\nglobal', 'control character'],
    ['http-request set-header X a\u0085b', 'control character'],
    ['http-request set-header X a\u2028b', 'control character'],
    ['http-request set-header X a\u0000b', 'control character'],
    ['http-request set-header X a\rglobal', 'control character'],
    ['http-request set-header X \ud800', 'surrogate'],
    ["http-request set-header X ''", 'empty word'],
    [`acl x path ${'a '.repeat(80)}`, '64 words'],
  ];
  it.each(attacks)('%j is refused, naming %s', (text, named) => {
    expect(refused(text)).toContain(named);
    expect(refused(text)).not.toMatch(/^accepted/);
  });

  it('shows no control character and no more than a stretch of the text in a reason', () => {
    for (const [text] of attacks) {
      expect(refused(text)).not.toMatch(/[\u0000-\u001f\u007f-\u009f]/);
      expect(refused(text).length).toBeLessThan(400);
    }
    expect(refused('x'.repeat(300_000)).length).toBeLessThan(400);
  });

  it('reads no name among values as a converter, a flag or a host to look up', () => {
    const [line] = accepted(`acl leak var(txn.x) -m str map(${canary})`);
    expect(line).toBe(`acl leak var(txn.x) -n -m str -- map(${canary})`);
    expect(haproxy(accepted('acl name src localhost'))).toContain("'localhost' is not a valid IPv4");
    expect(accepted('acl x var(txn.x) map(/etc/passwd) x')).toEqual(['acl x var(txn.x) -n -- map(/etc/passwd) x']);
  });
});

describe('ordinary raw lines', () => {
  const plain = [
    'http-request set-header X-Team blue',
    'http-response set-header X-Served-By shop',
    '  http-request set-header X-Forwarded-Prefix /shop   # why',
    'http-request set-header X-Name "two words; it\'s $5"'.replace('$', '\\$'),
    'http-request add-header X-Real %[src]',
    'http-request set-header X-Id "%[req.hdr(X-A),lower,field(1,:)]-%[path]"',
    'http-request set-header X-Pct 100%%',
    'http-request set-header X-Client %ci:%cp',
    'http-request del-header X-Debug',
    'http-response del-header X- -m beg',
    'http-request replace-header Cookie foo=([^;]*);(.*) foo=\\1;ip=%bi;\\2'.replace('%bi', '%[src]'),
    'http-request replace-path ^/old/(.*)$ /new/\\1',
    'http-request set-path /api%[path]',
    'http-request set-query %[query]&a=b',
    'http-request set-var(txn.lang) req.hdr(Accept-Language),language(en;fr)',
    'http-request set-var-fmt(req.key) %[path]-%[src]',
    'http-request unset-var(txn.lang)',
    'acl is_api path_beg /api /v2',
    'acl admin src 10.0.0.0/8 2001:db8::/32',
    'acl big req.hdr_cnt(x) gt 3',
    'acl mobile req.hdr(User-Agent) -i -m sub android iphone',
    'acl odd path_reg ^/(a|b)[0-9]{2}$',
    'http-request deny if is_api !admin or { method POST } { path -m end .php }',
    'http-request deny deny_status 403 content-type text/plain string "no, thanks" if mobile',
    'http-request return status 200 content-type text/plain lf-string "hello %[src]" hdr X-A b if { path /hello }',
    'http-request redirect location https://new.example.org%[path] code 301 unless admin',
    'http-request redirect scheme https drop-query if !{ ssl_fc }',
    'http-response set-status 418 reason "a teapot" if { status 500 }',
    'http-response replace-value Cache-Control private public',
    'http-after-response set-header Strict-Transport-Security "max-age=31536000; includeSubDomains"',
    'timeout server 90s',
    'timeout tunnel 1h',
    'option http-server-close',
    'option forwardfor if-none',
    'option redispatch 1',
    'retries 2',
    'retry-on conn-failure empty-response 503',
    'balance hdr(X-User)',
    'balance uri depth 3 whole',
    'balance url_param userid',
    'balance random(2)',
    'hash-type consistent sdbm avalanche',
    'cookie SRV insert indirect nocache httponly secure dynamic domain .example.com maxidle 30m',
    'dynamic-cookie-key secret-1',
  ];
  it.each(plain)('%j is accepted, and by HAProxy too', (text) => {
    const said = haproxy(accepted(text).filter((line) => !/is_api|admin|mobile/.test(line) || line.startsWith('acl')));
    expect(said).not.toContain('ALERT');
  });

  it('are accepted together, without comments and empty lines', () => {
    const together = ['# a comment', '', ...plain.filter((line) => !/^(balance|timeout)/.test(line)), ''].join('\n');
    const lines = accepted(together);
    expect(lines).toHaveLength(plain.filter((line) => !/^(balance|timeout)/.test(line)).length);
    expect(haproxy(lines)).not.toContain('ALERT');
  });

  it('are written so that judging them again gives the same lines', () => {
    for (const text of plain) {
      const once = accepted(text);
      expect(accepted(once.join('\n'))).toEqual(once);
    }
  });

  it('may end in a carriage return, as files from Windows do', () => {
    expect(accepted('retries 2\r\ntimeout queue 5s\r\n')).toEqual(['retries 2', 'timeout queue 5s']);
  });

  it('take time in step with their length', () => {
    expect(checkRawLines('retries 2\n'.repeat(30_000)).ok).toBe(true);
    expect(checkRawLines(`http-request set-header X ${'%[src]'.repeat(50_000)}`).ok).toBe(true);
    expect(checkRawLines(`http-request set-header X %[path${',lower'.repeat(50_000)}]`).ok).toBe(true);
    expect(checkRawLines(`http-request set-header X %[str(${'('.repeat(100_000)}`).ok).toBe(false);
  });
});

describe('any text', () => {
  it('that is accepted begins each line with an allowed directive and holds no line break or control character', () => {
    const word = fc.constantFrom(
      ...[
        'http-request',
        'deny',
        'if',
        '{',
        '}',
        'src',
        '-f',
        '-m',
        'str',
        '/etc/passwd',
        'set-header',
        'X',
        '%[path]',
        '%[path,map(/x)]',
        '!',
        '||',
      ],
      ...[
        'acl',
        'a',
        '"',
        "'",
        '\\',
        '\n',
        '#',
        'lua-load',
        'balance',
        'timeout',
        'server',
        'global',
        'var(txn.x)',
        '--',
        '1.2.3.4',
        "'-f'",
        '"-"f',
      ],
    );
    const text = fc.array(word, { maxLength: 12 }).map((words) => words.join(' '));
    const seen: string[] = [];
    fc.assert(
      fc.property(text, (given) => {
        const result = checkRawLines(given);
        if (!result.ok) return;
        seen.push(...result.lines);
        for (const line of result.lines) {
          expect(line).toMatch(/^(acl|http-request|balance|timeout)( |$)/);
          expect(line).not.toMatch(/[\u0000-\u001f]/);
          // A file is only named where HAProxy takes it for a value: behind `--`, or as a header's value.
          if (/(^| )-f /.test(line)) expect(line.indexOf(' -- ')).toBeLessThan(line.indexOf(' -f '));
        }
      }),
      { numRuns: 3000, seed: 11 },
    );
    expect(haproxy(seen)).not.toMatch(/root:|failed to open/);
  });
});
