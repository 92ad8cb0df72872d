import { beforeAll, describe, expect, it } from '@jest/globals';

import { splitWords } from '../../src/template/haproxy-words.js';
import { snippet } from '../support/render-config.js';
import { renderCases, type CaseResult } from './rendered-cases.js';

const MARKS = '<!-- a --> import("x") import (y) ${z} `\\` \u2028 <a-->\n';

const WRITTEN = {
  'text with what the compartment refuses in code': [MARKS, MARKS],
  'values with such marks': ["<%= item.spec.html %> <%= 'im' + 'port(x)' %>\n", '<!-- x --> import(x)\n'],
  'no line for code alone on its line': [
    'a\n<% for (const entry of item.spec.list) { %>\n  <%= entry %>\n<% } %>\n<%= 1 %><%= 2 -%>\n b\n',
    'a\n  b\n  a\n12 b\n',
  ],
  'what follows a comment at the end of a tag': [
    '<% // a comment %>x\n<%= 1 // one %>, <%= 2 /* two */ %>\n',
    'x\n1, 2\n',
  ],
  'a newline at the end in any case': ['<%= item.spec.line %>', 'first\n'],
  'its source, object, subject and the values of the operator': [
    '<%= source.slice(0, 4) %> <%= renderSubject.namespace %>/<%= renderSubject.name %> <%= item.metadata.name %> <%= extraContext.a.b %>\n',
    'case shop/one one c\n',
  ],
  'text`...` with its values as words': [
    '<%~ text`s ${item.spec.line} ${"a b"} ${text`in ${1}`}` %>\n',
    's first a b in 1\n',
  ],
  'lines([...])': ['<%~ lines(item.spec.list.map((entry) => text`- ${entry}`)) %>\n', '- b\n- a\n'],
  'rawLines() that the allow-list lets through': [
    "<%~ rawLines('spec.raw', 'timeout server 5s\\n# note\\n') %>\n",
    'timeout server 5s\n',
  ],
  'a snippet with its arguments and what the caller sees': ["<%~ snippet('entry', { name: 'n' }) %>\n", 'n@one case\n'],
  'a snippet in a snippet': ["<%~ snippet('outer', { name: 'n' }) %>\n", '[n!@one case]\n'],
  'a snippet without arguments': ["<%~ snippet('plain') %>\n", 'undefined\n'],
  'what it catches': ['<% try { null.x; } catch { %>\ncaught\n<% } %>\n', 'caught\n'],
} as const;

const FAULTS = {
  'Math.random()': ['<%= Math.random() %>', /random/],
  'code made of text': ['<%= [].constructor.constructor("return 1")() %>', /./],
  'a change of its item': ['<% item.spec.line = 1; %>', /read only|frozen|Cannot assign/],
  'a change of a list in it': ['<% item.spec.list.sort(); %>', /read only|frozen|Cannot assign/],
  'a change of a list of objects': ['<% resources.case0.list().push(1); %>', /not extensible|read only/],
  'a change of extraContext': ['<% extraContext.a.b = 1; %>', /read only|frozen|Cannot assign/],
  'a change of the language': ['<% Array.prototype.map = () => []; %>', /read only|Cannot assign|frozen/],
  'a name that nobody declared': ['<% kept = 1; %>', /not defined|kept/],
  'a change of its accessors': ['<% resources.case0.list = () => []; %>', /read only|frozen|Cannot assign/],
  'undefined, with its expression': [
    'a\n\n<%= item.spec.nothing %>\n',
    /^<%= item\.spec\.nothing %>: the value is undefined/,
  ],
  'recursion without end': ['<% const f = () => f() + 1; f(); %>', /stack/i],
  'null that is thrown': ['<% throw null; %>', /./],
  'text that is thrown': ["<% throw 'a text'; %>", /./],
  'plain text in <%~ %>': ["<%~ 'plain' %>", /takes text of a template.*not the plain text "plain"/],
  'a value in <%~ %>': ['<%~ item.spec.line %>', /takes text of a template/],
  'undefined in <%~ %>': ['<%~ undefined %>', /takes text of a template/],
  'a look-alike in <%~ %>': ["<%~ { toString: () => 'x' } %>", /takes text of a template/],
  'a list in <%~ %>': ['<%~ [text`a`] %>', /takes text of a template/],
  'a line break in text`...`': ['<%~ text`${"a\\nb"}` %>', /control character/],
  'undefined in text`...`': ['<%~ text`${undefined}` %>', /the value is undefined/],
  'null in fmt()': ['<%~ fmt(null) %>', /the value is null/],
  'plain text in lines()': ["<%~ lines(['x']) %>", /takes text of a template/],
  'no list in lines()': ['<%~ lines(item.spec.line) %>', /./],
  'plain text in shared.unique()': ["<% shared.unique('c', 'k', 'x'); %>", /takes text of a template/],
  'raw lines that are not allowed': ["<%~ rawLines('spec.raw', 'lua-load /x.lua') %>", /^spec\.raw: .*lua-load/],
  'a snippet that is not there': ["<%~ snippet('entri') %>", /no snippet called "entri"/],
  'a snippet without end': ["<%~ snippet('endless') %>", /stack/i],
  'fail()': ["<% fail('spec.line', 'is wrong'); %>", /^spec\.line: is wrong$/],
  'a group of another': ["<%= shared.select('case1', 'c', 'k') %>", /case1/],
  'a resource that is not watched': ['<%= resources.pods.list().length %>', /./],
  'state on a helper': ['<% isIp.seen = 1; %>', /not extensible/],
  "state on a helper's prototype": ['<% sortBy.prototype.seen = 1; %>', /not extensible/],
  'state on an accessor': ['<% shared.select.seen = 1; %>', /not extensible/],
  'state on a resource': ['<% resources[source].list.seen = 1; %>', /not extensible/],
  'state on text`...`': ['<% text.seen = 1; %>', /not extensible/],
  'state on the class of a fault': [
    "<% try { fail('a', 'b'); } catch (fault) { fault.constructor.seen = 1; } %>",
    /not extensible/,
  ],
  "state on a fault's prototype": [
    "<% try { fail('a', 'b'); } catch (fault) { Object.getPrototypeOf(fault).seen = 1; } %>",
    /not extensible/,
  ],
  'a long value': ["<%= 'x'.repeat(1001) %>", /the limit is render\.maxInstanceBytes/],
  'many values': [
    "<% for (let i = 0; i < 300; i++) { %><%= 'xxxxx' %><% } %>",
    /the limit is render\.maxInstanceBytes/,
  ],
  'much text of its own': [
    '<% for (let i = 0; i < 300; i++) { %>xxxxxx<% } %>',
    /the limit is render\.maxInstanceBytes/,
  ],
} as const;

const BY_KIND = {
  haproxy: { text: '<%~ text`server ${"a b"} ${"it\'s"}` %> <%= "" %>\n', kind: 'haproxy' },
  formatted: { text: "log-format <%~ fmt('50% of [x]') %>\n", kind: 'haproxy' },
  snippet: { text: "<%~ snippet('entry', { name: 'a b' }) %>\n", kind: 'haproxy' },
  percent: { text: "<%= '50%' %>\n", kind: 'haproxy' },
  map: { text: '<%~ text`${"a b"}` %>\n', kind: 'map' },
  crtList: { text: '<%= "a[b" %>\n', kind: 'crtList' },
} as const;

const HIDDEN = [
  ...['Promise', 'Proxy', 'Date', 'Reflect', 'WeakRef', 'WeakMap', 'ArrayBuffer', 'Uint8Array', 'SharedArrayBuffer'],
  ...['Atomics', 'Function', 'Compartment', 'process', 'require', 'console', 'setTimeout', 'Intl', 'globalThis'],
];

let results: Readonly<Record<string, CaseResult>>;

beforeAll(async () => {
  const first = (table: Readonly<Record<string, readonly [string, unknown]>>): Record<string, string> =>
    Object.fromEntries(Object.entries(table).map(([name, [text]]) => [name, text]));
  const hidden = HIDDEN.map((name) => [`hidden ${name}`, `<%= typeof ${name} %>\n`]);
  results = await renderCases(
    { ...first(WRITTEN), ...first(FAULTS), ...BY_KIND, ...(Object.fromEntries(hidden) as Record<string, string>) },
    {
      extraContext: { a: { b: 'c' } },
      render: { maxInstanceBytes: 1_000 },
      snippets: [
        snippet('entry', '<%= args.name %>@<%= item.metadata.name %> <%= source.slice(0, 4) %>'),
        snippet('outer', "[<%~ snippet('entry', { name: args.name + '!' }) %>]"),
        snippet('plain', '<%= typeof args.name %>'),
        snippet('endless', "<%~ snippet('endless') %>"),
      ],
    },
  );
});

describe('a template', () => {
  it.each(Object.entries(WRITTEN))('writes %s', (name, [, text]) => {
    expect(results[name]).toEqual({ text, fault: undefined });
  });

  it.each(Object.entries(FAULTS))('fails, alone, by %s', (name, [, reason]) => {
    expect(results[name]).toEqual({ text: '', fault: expect.stringMatching(reason) });
  });

  it.each(HIDDEN)('sees no %s', (name) => {
    expect(results[`hidden ${name}`]).toEqual({ text: 'undefined\n', fault: undefined });
  });
});

describe('the kind of a template', () => {
  it('haproxy makes one word of each value, in snippets too', () => {
    expect(results['haproxy']?.text).toBe("server 'a b' 'it'\\''s' ''\n");
    expect(results['snippet']?.text).toBe("'a b'@one case\n");
  });

  it('haproxy refuses a percent sign, which fmt() doubles in one word', () => {
    expect(results['percent']?.fault).toMatch(/"50%" holds a percent sign/);
    expect(splitWords(results['formatted']?.text.trim() ?? '')).toEqual({
      ok: true,
      words: ['log-format', '50%% of [x]'],
    });
  });

  it('map and crtList refuse what would end or change a word there', () => {
    expect(results['map']?.fault).toMatch(/"a b" holds a blank/);
    expect(results['crtList']?.fault).toMatch(/"a\[b" holds a bracket/);
  });
});
