import { parse, type Node } from 'acorn';
import type { TemplateSource } from '../config/render-config.js';
import { excerptOf, TemplateCompileError } from './faults.js';
import { parseTemplate, type TemplatePart } from './parse-template.js';

/** A tag of a template, for messages. */
export interface TemplateTag {
  readonly kind: 'text' | 'code' | 'word' | 'raw';
  readonly line: number;
  readonly column: number;
  /** Source of the expression; '' for text. */
  readonly code: string;
}

export interface CompiledTemplate {
  readonly source: TemplateSource;
  /** Expression for the compartment: a function of the frozen helpers that returns the render function. */
  readonly program: string;
  /** The same with every piece reported to `__t`, for the source map. */
  readonly tracedProgram: string;
  readonly tags: readonly TemplateTag[];
}

/** Values the render function takes on each call; everything else is bound once. */
const CALL_PARAMETERS = ['item', 'source', 'props', 'renderSubject', 'args'] as const;

/**
 * Turns a template into the source of a function (DESIGN 6). Line n of the program is line n of the template, so that a
 * stack of the engine is a place in the template. Throws TemplateCompileError.
 *
 * `bound` names what the template may use besides its call parameters: constants of the closure, since a lookup in the
 * compartment's global scope costs more than the whole interpolation.
 */
export function compileTemplate(source: TemplateSource, bound: readonly string[]): CompiledTemplate {
  const parts = parseTemplate(source);
  const program = programOf(parts, bound, false, source);
  refuseForbidden(source, program);
  refuseMarks(source, program);
  return { source, program, tracedProgram: programOf(parts, bound, true, source), tags: parts.map(tagOf) };
}

function tagOf(part: TemplatePart): TemplateTag {
  return { kind: part.kind, line: part.line, column: part.column, code: part.kind === 'text' ? '' : part.code };
}

function programOf(
  parts: readonly TemplatePart[],
  bound: readonly string[],
  traced: boolean,
  source: TemplateSource,
): string {
  const names = [...new Set(bound)].join(',');
  let program = `(function(__b){"use strict";const {__w,__s,__t,${names}}=__b;return function({${CALL_PARAMETERS.join(',')}}){let __o="";`;
  let line = 1;
  parts.forEach((part, tag) => {
    program += '\n'.repeat(Math.max(0, part.line - line));
    line = Math.max(line, part.line);
    const code = statement(part, tag, traced);
    program += code;
    line += newlines(code);
  });
  return `${program}\nreturn __o;};})\n//# sourceURL=template:${encodeURIComponent(source.name)}`;
}

function statement(part: TemplatePart, tag: number, traced: boolean): string {
  // A line break, only where a comment at the end of the code would swallow what follows: the lines are counted.
  const end = part.kind !== 'text' && /\/\/[^\n]*$/.test(part.code) ? '\n' : '';
  switch (part.kind) {
    case 'text':
      return traced ? `__o+=__t(${tag},${literal(part.text)});` : `__o+=${literal(part.text)};`;
    case 'word':
      return traced ? `__o+=__t(${tag},__w((${part.code}${end}),${tag}));` : `__o+=__w((${part.code}${end}),${tag});`;
    case 'raw':
      return traced ? `__o+=__t(${tag},__s((${part.code}${end}),${tag}));` : `__o+=__s((${part.code}${end}),${tag});`;
    case 'code':
      return `${part.code}${end};`;
  }
}

function newlines(text: string): number {
  return text.split('\n').length - 1;
}

/** SES refuses source that contains import expressions or HTML comment marks, wherever they stand: keep text free of both. */
function literal(text: string): string {
  return JSON.stringify(text)
    .replace(/[<>\u2028\u2029]/g, (found) => `\\u${found.charCodeAt(0).toString(16).padStart(4, '0')}`)
    .replace(/import/g, 'im\\u0070ort');
}

const FORBIDDEN: Readonly<Record<string, string>> = {
  AwaitExpression: 'await',
  YieldExpression: 'yield',
  ImportExpression: 'import()',
  MetaProperty: 'a meta property',
  DebuggerStatement: 'debugger',
};

/** Async code, generators and imports are refused: nothing may outlive the call or run where no timeout reaches it. */
function refuseForbidden(source: TemplateSource, program: string): void {
  let tree: Node;
  try {
    tree = parse(program, { ecmaVersion: 2022, sourceType: 'script', locations: true });
  } catch (error) {
    const { loc, message } = error as SyntaxError & { loc?: { line: number; column: number } };
    throw compileError(source, loc?.line ?? 1, loc?.column ?? 0, message.replace(/ \(\d+:\d+\)$/, ''));
  }
  visit(tree, (node) => {
    const { async, generator, loc } = node as Node & { async?: boolean; generator?: boolean };
    const what =
      FORBIDDEN[node.type] ?? (async === true ? 'an async function' : generator === true ? 'a generator' : undefined);
    if (what === undefined) return;
    throw compileError(
      source,
      loc?.start.line ?? 1,
      loc?.start.column ?? 0,
      `${what} is not allowed in a template: render code is synchronous and pure`,
    );
  });
}

/** What SES takes for an HTML comment or an import expression, even in a string of the template's code. */
const MARKS = /<!--|-->|(?:^|[^.]|\.\.\.)\bimport\s*(?:\(|\/[/*])/;

function refuseMarks(source: TemplateSource, program: string): void {
  const found = MARKS.exec(program);
  if (found === null) return;
  const before = program.slice(0, found.index + found[0].search(/\S/)).split('\n');
  const mark = found[0].includes('import') ? 'import(' : found[0];
  const reason = `code can't hold "${mark}", not even in a string: part it by a blank, or join the string of two`;
  throw compileError(source, before.length, before.at(-1)?.length ?? 0, reason);
}

function visit(node: Node, see: (node: Node) => void): void {
  see(node);
  for (const value of Object.values(node)) {
    for (const child of Array.isArray(value) ? value : [value]) {
      if (typeof child === 'object' && child !== null && typeof (child as Node).type === 'string')
        visit(child as Node, see);
    }
  }
}

function compileError(source: TemplateSource, line: number, column: number, reason: string): TemplateCompileError {
  const last = source.text.split('\n').length;
  const own = Math.min(line, last);
  const place = { template: source.name, file: source.file, line: own + source.firstLine - 1, column: column + 1 };
  const hint = line > last ? ' (at the end of the template: is a block left open?)' : '';
  return new TemplateCompileError(place, reason + hint, excerptOf(source.text, own, source.firstLine));
}
