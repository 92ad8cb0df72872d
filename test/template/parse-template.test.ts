import { describe, expect, it } from '@jest/globals';
import fc from 'fast-check';

import { TemplateCompileError } from '../../src/template/faults.js';
import { parseTemplate } from '../../src/template/parse-template.js';
import { template } from '../support/render-config.js';

/** The parts in short: text in quotes, tags with their sign. */
function parts(text: string): string[] {
  const signs = { code: '', word: '=', raw: '~' } as const;
  return parseTemplate(template('t', text)).map((part) =>
    part.kind === 'text' ? JSON.stringify(part.text) : `<%${signs[part.kind]} ${part.code} %>`,
  );
}

function places(text: string): string[] {
  return parseTemplate(template('t', text)).map(({ kind, line, column }) => `${kind} ${line}:${column}`);
}

function errorOf(text: string): TemplateCompileError {
  try {
    parseTemplate(template('t', text, 10));
  } catch (error) {
    if (error instanceof TemplateCompileError) return error;
  }
  throw new Error('it parsed');
}

describe('the parts of a template', () => {
  it('are text, code, words and safe text', () => {
    expect(parts("a <%= b %> c <%~ group('x') %>\n")).toEqual([
      '"a "',
      '<%= b %>',
      '" c "',
      "<%~ group('x') %>",
      '"\\n"',
    ]);
  });

  it('are one text, or nothing, without a tag', () => {
    expect(parts('a\nb\n')).toEqual(['"a\\nb\\n"']);
    expect(parts('')).toEqual([]);
  });

  it('have their places: a tag where its code begins', () => {
    expect(places('ab <%= c %>\n  d <%~\n   e\n%> f')).toEqual([
      'text 1:1',
      'word 1:8',
      'text 1:12',
      'raw 3:4',
      'text 4:3',
    ]);
  });

  it('have the place of the right tag when two have the same code', () => {
    expect(places('<%= a %>, <%= a %>\n<%= a %>')).toEqual([
      'word 1:5',
      'text 1:9',
      'word 1:15',
      'text 1:19',
      'word 2:5',
    ]);
  });

  it.each([
    ["<%= '%>' %>x", ["<%= '%>' %>", '"x"']],
    ['<%= "<% a %>" %>x', ['<%= "<% a %>" %>', '"x"']],
    ['<%= `a${"%>"}` %>x', ['<%= `a${"%>"}` %>', '"x"']],
    ['<% /* %> */ a(); %>x', ['<% /* %> */ a(); %>', '"x"']],
  ])('are not ended by what stands in a string or comment: %s', (text, expected) => {
    expect(parts(text)).toEqual(expected);
  });

  it('keep characters that mean something elsewhere', () => {
    expect(parts('$ { } ` \\ \' " \u2028 😀 \r\n<%= a %>')).toEqual([
      JSON.stringify('$ { } ` \\ \' " \u2028 😀 \r\n'),
      '<%= a %>',
    ]);
  });
});

describe('a code tag alone on its line', () => {
  it.each([
    ['a\n<% b %>\nc\n', ['"a\\n"', '<% b %>', '"c\\n"']],
    ['a\n  <% b %>  \nc\n', ['"a\\n"', '<% b %>', '"c\\n"']],
    ['<% b %>\nc', ['<% b %>', '"c"']],
    ['a\n<% b %>', ['"a\\n"', '<% b %>']],
    ['<% b %>', ['<% b %>']],
    ['<% a %>\n<% b %>\n<% c %>\n', ['<% a %>', '<% b %>', '<% c %>']],
    ['\t<% a %>\r\nb\r\n', ['<% a %>', '"b\\r\\n"']],
    ['a\n<%\n  b\n%>\nc\n', ['"a\\n"', '<% b %>', '"c\\n"']],
    ['a\n\n<% b %>\n\nc', ['"a\\n\\n"', '<% b %>', '"\\nc"']],
  ])('takes the line with it: %j', (text, expected) => {
    expect(parts(text)).toEqual(expected);
  });

  it.each([
    ['a <% b %>\nc', ['"a "', '<% b %>', '"\\nc"']],
    ['<% b %> a\n', ['<% b %>', '" a\\n"']],
    ['<% a %><% b %>\nc', ['<% a %>', '<% b %>', '"\\nc"']],
    ['<%= a %><% b %>\nc', ['<%= a %>', '<% b %>', '"\\nc"']],
    ['<% a %> <%= b %>\n', ['<% a %>', '" "', '<%= b %>', '"\\n"']],
  ])('only if it is alone: %j', (text, expected) => {
    expect(parts(text)).toEqual(expected);
  });

  it('leaves the places of what follows as they are', () => {
    expect(places('<% a %>\n  <% b %>\n<%= c %>')).toEqual(['code 1:4', 'code 2:6', 'word 3:5']);
  });
});

describe('an interpolation', () => {
  it('keeps the newline behind it', () => {
    expect(parts('<%= a %>\n<%= b %>\n')).toEqual(['<%= a %>', '"\\n"', '<%= b %>', '"\\n"']);
  });

  it.each([
    ['<%= a -%>\nb', ['<%= a %>', '"b"']],
    ['<%= a -%>\r\nb', ['<%= a %>', '"b"']],
    ['<%= a -%>\n\nb', ['<%= a %>', '"\\nb"']],
    ['<%= a -%> \nb', ['<%= a %>', '" \\nb"']],
    ['x <% a -%>\nb', ['"x "', '<% a %>', '"b"']],
    ['<%~ a -%>\n', ['<%~ a %>']],
  ])('that ends in -%%> takes one newline with it: %j', (text, expected) => {
    expect(parts(text)).toEqual(expected);
  });
});

describe('a template that cannot be parsed', () => {
  it.each([
    ['a\n<%= b', 11],
    ["a\n\n<%= 'b %>", 12],
    ['<% /* a %>', 10],
    ['<%= `a %>', 10],
  ])('names file, line and what is wrong: %j', (text, line) => {
    const { place, message } = errorOf(text);
    expect(place).toMatchObject({ template: 't', file: 'test.yaml', line });
    expect(message).toMatch(/^test\.yaml:\d+:\d+: template t: \S/);
    expect(message).toContain(`> ${String(line).padStart(4)} | `);
  });
});

describe('any template', () => {
  const piece = fc.oneof(
    fc.constantFrom(
      '\n',
      ' ',
      'a',
      '< ',
      ' % ',
      '\t',
      '\r\n',
      "'",
      '"',
      '`',
      '\\',
      '😀',
      '<%= x %>',
      '<% y %>',
      '<%~ z %>',
    ),
    fc.constantFrom('<%= x -%>', '<% y -%>', '<!--', '-->', 'import(', '${', '//', '/*'),
  );

  it('gives its own text back around the tags, but for white space, or is refused with its place', () => {
    fc.assert(
      fc.property(fc.array(piece, { maxLength: 12 }), (pieces) => {
        const text = pieces.join('');
        let found: string[];
        try {
          found = parseTemplate(template('t', text)).flatMap((part) => (part.kind === 'text' ? [part.text] : []));
        } catch (error) {
          expect(error).toBeInstanceOf(TemplateCompileError);
          return;
        }
        const bare = (what: string): string => what.replace(/<%[=~]? [xyz] -?%>/g, '').replace(/\s/g, '');
        expect(bare(found.join(''))).toBe(bare(text));
      }),
      { numRuns: 300 },
    );
  });
});
