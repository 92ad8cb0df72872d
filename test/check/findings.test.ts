import { describe, expect, it } from '@jest/globals';
import type { CheckFile, CheckFinding } from '../../src/check/checker.js';
import { parseFindings } from '../../src/check/findings.js';
import { file } from './stand-in.js';

const DEFAULTS = ['defaults', '  mode http', '  timeout connect 1s', '  timeout client 1s', '  timeout server 1s'];

/** haproxy.cfg whose own lines begin at line 6. */
function config(...lines: string[]): CheckFile {
  return file('haproxy.cfg', [...DEFAULTS, ...lines, ''].join('\n'));
}

/** Printed by HAProxy 2.6.12 for the file given with it. */
function printed(...lines: string[]): Buffer {
  const head =
    '[NOTICE]   (8057) : haproxy version is 2.6.12-1+deb12u4\n[NOTICE]   (8057) : path to executable is /x\n';
  return Buffer.from(head + lines.map((line) => `${line}\n`).join(''));
}

const ALERT = '[ALERT]    (8057) : config : ';
const WARNING = '[WARNING]  (8057) : config : ';
const SUMMARIES = [
  `${ALERT}Error(s) found in configuration file : haproxy.cfg`,
  `${ALERT}Fatal errors found in configuration.`,
];

function only(output: Buffer, files: readonly CheckFile[]): CheckFinding {
  const findings = parseFindings(output, files);
  expect(findings).toHaveLength(1);
  const [finding] = findings;
  if (finding === undefined) throw new Error('no finding');
  return finding;
}

function textOf(message: string, files: readonly CheckFile[]): string {
  return only(printed(ALERT + message, ...SUMMARIES), files).text;
}

const CERTIFICATES = [
  file('certs/bad.pem', '-----BEGIN CERTIFICATE-----\nc2VjcmV0\n', true),
  file('certs.list', 'certs/bad.pem [foo bar]\n'),
];

interface Case {
  readonly what: string;
  readonly files: readonly CheckFile[];
  readonly message: string;
  readonly expected: Omit<CheckFinding, 'severity'>;
}

const REAL_TEXTS: readonly Case[] = [
  {
    what: 'an unknown keyword',
    files: [config('backend b', '  blance roundrobin')],
    message: "parsing [haproxy.cfg:7] : unknown keyword 'blance' in 'backend' section; did you mean 'balance' maybe ?",
    expected: {
      file: 'haproxy.cfg',
      line: 7,
      mentions: [],
      text: "unknown keyword 'blance' in 'backend' section; did you mean 'balance' maybe ?",
    },
  },
  {
    what: 'a server, named by section and name',
    files: [config('backend b', '  server s 192.0.2.1:80 chek')],
    message: "[haproxy.cfg:7] : 'server b/s' : unknown keyword 'chek'; did you mean 'check' maybe ?",
    expected: {
      file: 'haproxy.cfg',
      line: 7,
      mentions: [],
      text: "'server b/s' : unknown keyword 'chek'; did you mean 'check' maybe ?",
    },
  },
  {
    what: 'a list of what is supported',
    files: [config('backend b', '  timeout foo 1s')],
    message:
      "parsing [haproxy.cfg:7] : 'timeout' supports 'client', 'server', 'http-keep-alive' and 'server-fin' (got 'foo')",
    expected: {
      file: 'haproxy.cfg',
      line: 7,
      mentions: [],
      text: "'timeout' supports 'client', 'server', 'http-keep-alive' and 'server-fin' (got 'foo')",
    },
  },
  {
    what: 'a map with a bad line: the map is blamed, the file that loads it is mentioned',
    files: [
      config('frontend f', '  http-request set-header X %[src,map_ip(maps/ip.map)]'),
      file('maps/ip.map', '10.0.0.0/33 x\n'),
    ],
    message:
      "parsing [haproxy.cfg:7] : error detected in frontend 'f' while parsing 'http-request set-header' rule : failed to parse sample expression <src,map_ip(maps/ip.map)]> : invalid args in converter 'map_ip' : '10.0.0.0/33' is not a valid IPv4 or IPv6 address at line 1 of file 'maps/ip.map'.",
    expected: {
      file: 'maps/ip.map',
      line: 1,
      mentions: ['haproxy.cfg'],
      text: "error detected in frontend 'f' while parsing 'http-request set-header' rule : failed to parse sample expression <src,map_ip(maps/ip.map)]> : invalid args in converter 'map_ip' : '10.0.0.0/33' is not a valid IPv4 or IPv6 address",
    },
  },
  {
    what: 'a pattern file with a bad expression',
    files: [config('frontend f', '  acl x path_reg -f reg.map'), file('reg.map', 'abc(def x\n')],
    message:
      "parsing [haproxy.cfg:7] : error detected while parsing ACL 'x' : regex 'abc(def x' is invalid (error=missing closing parenthesis, erroffset=9) at line 1 of file 'reg.map'.",
    expected: {
      file: 'reg.map',
      line: 1,
      mentions: ['haproxy.cfg'],
      text: "error detected while parsing ACL 'x' : regex 'abc(def x' is invalid (error=missing closing parenthesis, erroffset=9)",
    },
  },
  {
    what: 'a crt-list with a bad keyword',
    files: [config('frontend f', '  bind :8443 ssl crt-list certs.list'), ...CERTIFICATES],
    message:
      "parsing [haproxy.cfg:7] : 'bind :8443' in section 'frontend' : 'crt-list' : parsing [certs.list:1]: unknown ssl keyword foo",
    expected: {
      file: 'certs.list',
      line: 1,
      mentions: ['haproxy.cfg'],
      text: "'bind :8443' in section 'frontend' : unknown ssl keyword foo",
    },
  },
  {
    what: 'a certificate that does not load',
    files: [config('frontend f', '  bind :8443 ssl crt certs/bad.pem'), ...CERTIFICATES],
    message:
      "parsing [haproxy.cfg:7] : 'bind :8443' in section 'frontend' : unable to load certificate from file 'certs/bad.pem'.",
    expected: {
      file: 'haproxy.cfg',
      line: 7,
      mentions: ['certs/bad.pem'],
      text: "unable to load certificate from file 'certs/bad.pem'.",
    },
  },
  {
    what: 'a key that belongs to another certificate',
    files: [config('frontend f', '  bind :8443 ssl crt-list certs.list'), ...CERTIFICATES],
    message:
      "parsing [haproxy.cfg:7] : 'bind :8443' in section 'frontend' : 'crt-list' : inconsistencies between private key and certificate loaded 'certs/bad.pem'.",
    expected: {
      file: 'haproxy.cfg',
      line: 7,
      mentions: ['certs/bad.pem'],
      text: "inconsistencies between private key and certificate loaded 'certs/bad.pem'.",
    },
  },
  {
    what: 'a certificate without its key, looked for in a file beside it',
    files: [config('frontend f', '  bind :8443 ssl crt certs/bad.pem'), ...CERTIFICATES],
    message:
      "parsing [haproxy.cfg:7] : 'bind :8443' in section 'frontend' : No Private Key found in 'certs/bad.pem.key'.",
    expected: {
      file: 'haproxy.cfg',
      line: 7,
      mentions: ['certs/bad.pem'],
      text: "No Private Key found in 'certs/bad.pem.key'.",
    },
  },
  {
    what: 'two sections of one name',
    files: [config('frontend f', '  bind :80', 'frontend f', '  bind :81')],
    message: "Parsing [haproxy.cfg:8]: frontend 'f' has the same name as frontend 'f' declared at haproxy.cfg:6.",
    expected: {
      file: 'haproxy.cfg',
      line: 8,
      mentions: [],
      text: "frontend 'f' has the same name as frontend 'f' declared at haproxy.cfg:6.",
    },
  },
  {
    what: 'a backend that does not exist, told after the parsing: the line in the named section is found',
    files: [config('frontend g', '  bind :81', '  use_backend none if TRUE', 'backend b', '  use_backend none')],
    message: "Proxy 'g': unable to find required use_backend: 'none'.",
    expected: {
      file: 'haproxy.cfg',
      line: 8,
      mentions: [],
      text: "Proxy 'g': unable to find required use_backend: 'none'.",
    },
  },
  {
    what: 'a file that is missing',
    files: [config('frontend f', '  bind :443 ssl crt certs/none.pem')],
    message:
      "parsing [haproxy.cfg:7] : 'bind :443' in section 'frontend' : unable to stat SSL certificate from file 'certs/none.pem' : No such file or directory.",
    expected: {
      file: 'haproxy.cfg',
      line: 7,
      mentions: [],
      text: "'bind :443' in section 'frontend' : unable to stat SSL certificate from file 'certs/none.pem' : No such file or directory.",
    },
  },
];

describe('findings of HAProxy 2.6', () => {
  it.each(REAL_TEXTS)('place and keep $what', ({ files, message, expected }) => {
    expect(only(printed(ALERT + message, ...SUMMARIES), files)).toEqual({ severity: 'alert', ...expected });
  });

  it('tell warnings from alerts and leave out notices', () => {
    const files = [config('backend b', '  use_backend x', '  blub')];
    const output = printed(
      `${WARNING}parsing [haproxy.cfg:7] : 'use_backend' ignored because backend 'b' has no frontend capability.`,
      `${ALERT}parsing [haproxy.cfg:8] : unknown keyword 'blub' in 'backend' section`,
    );
    expect(parseFindings(output, files).map(({ severity, line }) => ({ severity, line }))).toEqual([
      { severity: 'warning', line: 7 },
      { severity: 'alert', line: 8 },
    ]);
  });

  it('join the lines of one message', () => {
    const lines = [
      "missing timeouts for frontend 'f'.",
      '   | While not properly invalid, you will certainly encounter various problems',
      "   | timeouts are set to a non-zero value: 'client', 'connect', 'server'.",
    ];
    expect(only(printed(WARNING + lines.join('\n')), [config('frontend f')])).toMatchObject({
      line: 6,
      text: "missing timeouts for frontend 'f'. While not properly invalid, you will certainly encounter various problems timeouts are set to a non-zero value: 'client', 'connect', 'server'.",
    });
  });

  it('leave out the echo of a line and the mark below it', () => {
    const message = "parsing [haproxy.cfg:7]: unmatched quote at position 11:\n  balance 'unterminated\n          ^";
    expect(textOf(message, [config('backend b', "  balance 'unterminated")])).toBe('unmatched quote at position 11');
  });

  it('are one summary where nothing else was said', () => {
    expect(only(printed(...SUMMARIES), [config()])).toEqual({
      severity: 'alert',
      mentions: ['haproxy.cfg'],
      text: 'Error(s) found in configuration file : haproxy.cfg',
    });
  });
});

describe('findings in the formats of other versions', () => {
  const files = [config('backend b', '  blub x')];
  const expected = {
    severity: 'alert',
    file: 'haproxy.cfg',
    line: 7,
    mentions: [],
    text: "unknown keyword 'blub' in 'backend' section",
  };

  it.each([
    [
      '2.2 and before',
      "[ALERT] 350/140231 (12779) : parsing [haproxy.cfg:7] : unknown keyword 'blub' in 'backend' section",
    ],
    [
      'without a process number',
      "[ALERT] : config : parsing [haproxy.cfg:7] : unknown keyword 'blub' in 'backend' section",
    ],
    [
      'an absolute path',
      "[ALERT]    (7) : config : parsing [/tmp/x/haproxy.cfg:7] : unknown keyword 'blub' in 'backend' section",
    ],
    [
      'a path from here',
      "[ALERT]    (7) : config : parsing [./haproxy.cfg:7] : unknown keyword 'blub' in 'backend' section",
    ],
    [
      'short of memory',
      "(null)(null)[ALERT]    (7) : (null)parsing [haproxy.cfg:7] : unknown keyword 'blub' in 'backend' section",
    ],
  ])('are read: %s', (_, line) => {
    expect(parseFindings(Buffer.from(line), files)).toEqual([expected]);
  });

  it('take the place from the middle of the message, if it is in the section that is named', () => {
    const bind = [config('frontend f', "  bind ':443' ssl")];
    const line = (at: number): string =>
      `Proxy 'f': no SSL certificate specified for bind ':443' at [/x/haproxy.cfg:${at}] (use 'crt').`;
    expect(only(printed(ALERT + line(7)), bind).line).toBe(7);
    expect(only(printed(ALERT + line(2)), bind).line).toBe(6);
  });
});

describe('the blame', () => {
  it('is not moved by a value that imitates the words for a map line', () => {
    const value = 'x at line 3 of file maps/other.map';
    const files = [config('backend b', `  bind '${value}'`), file('maps/other.map', 'a b\n')];
    const message = "parsing [haproxy.cfg:7] : 'bind' : invalid port 'x at line 3 of file 'maps/other.map'";
    expect(only(printed(ALERT + message), files)).toMatchObject({ file: 'haproxy.cfg', line: 7 });
  });

  it('is not moved by a value that looks like a place', () => {
    const files = [config('backend b', '  [haproxy.cfg:1]')];
    const message = "parsing [haproxy.cfg:7] : unknown keyword '[haproxy.cfg:1]' in 'backend' section";
    expect(only(printed(ALERT + message), files)).toMatchObject({ file: 'haproxy.cfg', line: 7 });
  });

  it('falls on no file that was not checked', () => {
    const message = "parsing [/etc/passwd:1] : unknown keyword 'root' in 'backend' section";
    const finding = only(printed(ALERT + message), [config()]);
    expect(finding).not.toHaveProperty('file');
    expect(finding.text).toBe("unknown keyword '…' in '…' section");
  });
});

describe('what a message may not carry out', () => {
  const acl = [config('frontend f', '  acl leak src -f /etc/canary')];
  const patternError = (content: string): string =>
    textOf(
      `parsing [haproxy.cfg:7] : error detected while parsing ACL 'leak' : '${content}' is not a valid IPv4 or IPv6 address at line 1 of file '/etc/canary'.`,
      acl,
    );

  it.each([
    ['a line', 'root:x:0:0:root:/root:/bin/bash'],
    ['words that HAProxy uses too', 'password server key'],
    ['a quote that ends the quotation', "' hunter2 swordfish '"],
    ['many quotes', "a' 'b' \"hunter2\" 'swordfish"],
    ['a number', '421337'],
    ['base64', 'aHVudGVyMiBzd29yZGZpc2ggaHVudGVyMiBzd29yZGZpc2g='],
    ['a mark of a PEM block', '-----BEGIN PRIVATE KEY-----'],
    ['an imitated message', "x' is fine (got 'hunter2"],
    ['words tied by dashes', 'hunter2-swordfish_correct.horse/battery'],
    ['capitals', 'SWORDFISH HUNTER2'],
  ])('is the content of a file that was not checked: %s', (_, content) => {
    const text = patternError(content);
    expect(text).toMatch(/^error detected while parsing ACL 'leak' : /);
    expect(text).not.toMatch(/root|password|hunter|swordfish|correct|battery|4213|aHVud|BEGIN|PRIVATE/i);
  });

  it('is an environment variable', () => {
    const message =
      "parsing [haproxy.cfg:7] : error detected in backend 'b' while parsing 'http-request set-header' rule : failed to parse sample expression <SECRETENVVAL]> : unknown fetch method 'SECRETENVVAL'.";
    expect(textOf(message, [config('backend b', '  http-request set-header a %["$X"]')])).toBe(
      "error detected in backend 'b' while parsing 'http-request set-header' rule : failed to parse sample expression <…]> : unknown fetch method '…'.",
    );
  });

  it('is a line of a Lua file', () => {
    const message =
      "parsing [haproxy.cfg:7] : error in Lua file '/etc/shadow': /etc/shadow:1: <name> expected near 'hunter2'";
    expect(textOf(message, [config('global', '  lua-load /etc/shadow')])).toBe(
      "error in Lua file '/etc/shadow': …: <name> expected near '…'",
    );
  });

  it.each(["'aHVudGVyMg=='", 'aHVudGVyMg==', "''aHVudGVyMg==' 1234 'swordfish'", '"swordfish"', '421'])(
    'is the content of a sensitive file: %s',
    (content) => {
      const files = [config('frontend f', '  bind :443 ssl crt certs/bad.pem'), ...CERTIFICATES];
      const text = textOf(
        `parsing [haproxy.cfg:7] : 'bind :443' in section 'frontend' : invalid line ${content} in file 'certs/bad.pem'`,
        files,
      );
      expect(text).toMatch(/^invalid line .* in file 'certs\/bad\.pem'$/);
      expect(text).not.toMatch(/aHVu|swordfish|421|1234/);
    },
  );

  it('is the line of a sensitive file that the finding is placed on', () => {
    const files = [file('users.list', 'user admin hunter2\n', true)];
    expect(only(printed(`${ALERT}parsing [users.list:1] : unknown keyword 'hunter2' in hunter2`), files)).toEqual({
      severity: 'alert',
      file: 'users.list',
      line: 1,
      mentions: [],
      text: "unknown keyword '…' in …",
    });
  });

  it('is a word of another line', () => {
    const files = [config('backend b', '  blub x', '  # hunter2')];
    expect(textOf("parsing [haproxy.cfg:7] : unknown keyword 'hunter2' near hunter2", files)).toBe(
      "unknown keyword '…' near …",
    );
  });

  it('is a part of a word of its own line', () => {
    const files = [config('backend b', '  blub hunter2swordfish')];
    expect(textOf("parsing [haproxy.cfg:7] : unknown keyword 'hunter2'", files)).toBe("unknown keyword '…'");
  });

  it('is the mark of a PEM block, even if the line has it', () => {
    const files = [config('backend b', '  blub -----BEGIN PRIVATE KEY----- x')];
    expect(textOf("parsing [haproxy.cfg:7] : unknown keyword '-----BEGIN PRIVATE KEY-----'", files)).not.toMatch(
      /BEGIN|---/,
    );
  });
});

describe('the text of a finding', () => {
  const files = [config('backend b', '  foo é 😀 bar')];

  it('is valid text without control characters, whatever was printed', () => {
    const bytes = Buffer.concat([
      Buffer.from(
        `${ALERT}parsing [haproxy.cfg:7] : unknown keyword 'foo' \u001b[31m\u001b]0;title\u0007\0\u202e\u2028\r\u0085 é `,
      ),
      Buffer.from([0xff, 0xfe, 0xc3, 0x28, 0x0a]),
    ]);
    const { text } = only(bytes, files);
    expect(text).toBe("unknown keyword 'foo' é …");
    expect(text).not.toMatch(/[\u0000-\u001f\u007f-\u009f\u2028\u2029\u202e\ufffd]/);
  });

  it('is at most 300 characters, cut between characters', () => {
    const message = `parsing [haproxy.cfg:7] : unknown keyword ${'😀 '.repeat(1_000)}`;
    const { text } = only(printed(ALERT + message), files);
    expect(Array.from(text)).toHaveLength(300);
    expect(text.isWellFormed()).toBe(true);
    expect(text.endsWith('…')).toBe(true);
  });

  it('is empty when nothing may be shown', () => {
    expect(textOf("parsing [haproxy.cfg:7] : 'hunter2' swordfish", files)).toBe('');
  });

  it('is quickly found for the longest output that is kept', () => {
    const long = [config('backend b', `  blub ${'a '.repeat(50_000)}`), file('m.map', 'a b\n'.repeat(100_000))];
    const worst = [
      "'a ".repeat(80_000),
      `at line 1 of file '${'a'.repeat(200_000)}`,
      'a-'.repeat(100_000),
      '['.repeat(200_000),
      '---'.repeat(80_000),
    ];
    for (const message of worst) {
      const output = printed(`${ALERT}parsing [haproxy.cfg:7] : ${message}`);
      expect(parseFindings(output.subarray(0, 256 * 1024), long)).toHaveLength(1);
    }
  });

  it('is as quickly found when a value was written to make the search slow', () => {
    const values = [
      'line 1 of file '.repeat(1_000) + '.'.repeat(16_000) + 'x',
      '/a'.repeat(16_000),
      `${'.'.repeat(15_000)}x${':'.repeat(15_000)}x`,
      'e '.repeat(2_000),
    ];
    for (const value of values) {
      const message = `${ALERT}parsing [haproxy.cfg:7] : regex '${value}' is invalid\n`;
      const long = [config('backend b', `  blub ${value.slice(0, 40)} ${'e'.repeat(16_000)}`)];
      expect(parseFindings(Buffer.from(message.repeat(8)), long)).toHaveLength(8);
    }
  });

  it('is bounded in number, too', () => {
    const output = Buffer.from(`${ALERT}parsing [haproxy.cfg:7] : foo\n`.repeat(5_000));
    expect(parseFindings(output, files)).toHaveLength(200);
  });
});
