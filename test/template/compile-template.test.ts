import { describe, expect, it } from '@jest/globals';

import { compileTemplate } from '../../src/template/compile-template.js';
import { TemplateCompileError } from '../../src/template/faults.js';
import { template } from '../support/render-config.js';

function errorOf(text: string, firstLine = 1): TemplateCompileError {
  try {
    compileTemplate(template('t', text, firstLine), ['fmt']);
  } catch (error) {
    if (error instanceof TemplateCompileError) return error;
  }
  throw new Error('it compiled');
}

describe('a template that is refused when it is compiled', () => {
  it.each([
    ['async function', 'a\n<% async function f() {} %>', 2, 'an async function'],
    ['async arrow', '<% const f = async () => 1; %>', 1, 'an async function'],
    ['async method', '<% const f = { async m() {} }; %>', 1, 'an async function'],
    ['for await', '<% async function f() { for await (const a of []) {} } %>', 1, 'an async function'],
    ['generator', 'a\nb <% function* f() {} %>', 2, 'a generator'],
    ['generator method', '<% const f = { *m() {} }; %>', 1, 'a generator'],
    ['import()', "a\n\n<% import('fs'); %>", 3, 'import()'],
    ['import() in an interpolation', "<%= import('fs') %>", 1, 'import()'],
    ['debugger', '<% debugger; %>', 1, 'debugger'],
    ['new.target', '<% function F() { return new.target; } %>', 1, 'a meta property'],
  ])('has an %s', (_, text, line, reason) => {
    const { place, message } = errorOf(text);
    expect(place.line).toBe(line);
    expect(message).toContain(`${reason} is not allowed in a template`);
    expect(message).toContain(`> ${String(line).padStart(4)} | `);
  });

  it.each([
    ['await', '<% await x; %>'],
    ['yield', '<% yield x; %>'],
    ['import', "<% import x from 'y'; %>"],
    ['import.meta', '<% const a = import.meta; %>'],
    ['export', '<% export const a = 1; %>'],
    ['with', '<% with (a) {} %>'],
    ['delete of a name', '<% delete item; %>'],
    ['an octal', '<% const a = 010; %>'],
    ['a declaration of a parameter', '<% const item = 1; %><% let item = 2; %>'],
    ['two expressions', '<%= a b %>'],
    ['a statement in an interpolation', '<%= if (a) b %>'],
    ['nothing in an interpolation', '<%= %>'],
    ['a brace that nobody opened', 'a <% } %>'],
  ])('is no strict script: %s', (_, text) => {
    expect(errorOf(text).place).toMatchObject({ line: 1, file: 'test.yaml' });
  });

  it('counts lines from where the template stands in its file', () => {
    const { place, excerpt } = errorOf('a\nb\n<% async () => 1 %>\nc\n', 40);
    expect(place.line).toBe(42);
    expect(excerpt.split('\n').map((line) => line.trim())).toEqual([
      '41 | b',
      '>   42 | <% async () => 1 %>',
      '43 | c',
    ]);
  });

  it('asks for the block that is left open at its end', () => {
    const { place, message } = errorOf('<% if (a) { %>\nb\n');
    expect(message).toContain('is a block left open?');
    expect(place.line).toBe(1);
  });

  it('names line and column of a mistake in the middle of a long tag', () => {
    expect(errorOf('<%\n  const a = 1;\n  const b = ;\n%>\n').place).toMatchObject({ line: 3, column: 13 });
    expect(errorOf('a <%= b %> c <% const d = ; %>\n').place).toMatchObject({ line: 1, column: 27 });
    expect(errorOf('a\nb <% debugger; %>\n').place).toMatchObject({ line: 2, column: 6 });
  });
});

describe('what the compartment would refuse wherever it stands', () => {
  it.each([
    ['<!--', "a\n<% const mark = '<!--'; %>"],
    ['-->', 'a\n<% while (i-->0) j(); %>'],
    ['import(', 'a\n<%= "import (x)" %>'],
    ['import(', 'a\n<% /* import(x) */ b(); %>'],
  ])('is refused in code, with its place: %s', (mark, text) => {
    const { place, message } = errorOf(text);
    expect(place.line).toBe(2);
    expect(message).toContain(`code can't hold "${mark}"`);
  });

  it('is kept out of the source form of text', () => {
    const { program, tracedProgram } = compileTemplate(template('t', '<!-- import(x) --> import ("y")\n'), []);
    for (const source of [program, tracedProgram]) expect(source).not.toMatch(/<!--|-->|\bimport\s*\(/);
  });

  it.each(['<% const a = x.import(1); %>', '<% const important = 1; %>', '<%= "an import of goods" %>'])(
    'is not seen where there is none: %s',
    (text) => {
      expect(() => compileTemplate(template('t', text), [])).not.toThrow();
    },
  );
});

describe('a compiled template', () => {
  it('has each line of code on the line of the template', () => {
    const text = 'text\n<% one(); %>\n\n<%= two %> <%= three // last\n%> <%= four %>\n<%\n five();\n%><%~ six %>\n';
    const compiled = compileTemplate(template('t', text), ['fmt']);
    for (const program of [compiled.program, compiled.tracedProgram]) {
      const lines = program.split('\n');
      const lineOf = (word: string): number => lines.findIndex((line) => line.includes(word)) + 1;
      const expected = text.split('\n');
      for (const word of ['one', 'two', 'three', 'five', 'six'])
        expect([word, lineOf(word)]).toEqual([word, expected.findIndex((line) => line.includes(word)) + 1]);
    }
  });

  it('knows its tags in order, with place and code', () => {
    const { tags } = compileTemplate(template('t', 'a <%= b.c %>\n<% d(); %>\n'), []);
    expect(tags).toEqual([
      { kind: 'text', line: 1, column: 1, code: '' },
      { kind: 'word', line: 1, column: 7, code: 'b.c' },
      { kind: 'text', line: 1, column: 13, code: '' },
      { kind: 'code', line: 2, column: 4, code: 'd();' },
    ]);
  });
});
