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
  const plain = programOf(parts, bound, false, source);
  refuseForbidden(source, plain);
  refuseMarks(source, plain);
  const traced = programOf(parts, bound, true, source);
  return { source, program: plain.text, tracedProgram: traced.text, tags: parts.map(tagOf) };
}

interface Program {
  readonly text: string;
  /** Where in the text the code of each tag begins. */
  readonly codes: readonly { readonly at: number; readonly part: TemplatePart & { readonly code: string } }[];
}

function tagOf(part: TemplatePart): TemplateTag {
  return { kind: part.kind, line: part.line, column: part.column, code: part.kind === 'text' ? '' : part.code };
}

function programOf(
  parts: readonly TemplatePart[],
  bound: readonly string[],
  traced: boolean,
  source: TemplateSource,
): Program {
  const names = [...new Set(bound)].join(',');
  let text = `(function(__b){"use strict";const {__w,__s,__t,${names}}=__b;return function({${CALL_PARAMETERS.join(',')}}){let __o="";`;
  let line = 1;
  const codes: { at: number; part: TemplatePart & { readonly code: string } }[] = [];
  parts.forEach((part, tag) => {
    text += '\n'.repeat(Math.max(0, part.line - line));
    line = Math.max(line, part.line);
    const [before, code, after] = statement(part, tag, traced);
    if (part.kind !== 'text') codes.push({ at: text.length + before.length, part });
    text += before + code + after;
    line += newlines(code + after);
  });
  return { text: `${text}\nreturn __o;};})\n//# sourceURL=template:${encodeURIComponent(source.name)}`, codes };
}

type Statement = readonly [before: string, code: string, after: string];

function statement(part: TemplatePart, tag: number, traced: boolean): Statement {
  if (part.kind === 'text')
    return traced ? [`__o+=__t(${tag},`, literal(part.text), ');'] : ['__o+=', literal(part.text), ';'];
  // A line break, only where a comment at the end of the code would swallow what follows: the lines are counted.
  const end = /\/\/[^\n]*$/.test(part.code) ? '\n' : '';
  if (part.kind === 'code') return ['', part.code, `${end};`];
  const write = part.kind === 'word' ? '__w' : '__s';
  return traced
    ? [`__o+=__t(${tag},${write}((`, part.code, `${end}),${tag}));`]
    : [`__o+=${write}((`, part.code, `${end}),${tag});`];
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
function refuseForbidden(source: TemplateSource, program: Program): void {
  visit(parsed(source, program), (node) => {
    const { async, generator, start } = node as Node & { async?: boolean; generator?: boolean };
    const what =
      FORBIDDEN[node.type] ?? (async === true ? 'an async function' : generator === true ? 'a generator' : undefined);
    if (what === undefined) return;
    throw errorAt(source, program, start, `${what} is not allowed in a template: render code is synchronous and pure`);
  });
}

function parsed(source: TemplateSource, program: Program): Node {
  try {
    return parse(program.text, { ecmaVersion: 2022, sourceType: 'script' });
  } catch (error) {
    const { pos = 0, message } = error as SyntaxError & { pos?: number };
    throw errorAt(source, program, pos, message.replace(/ \(\d+:\d+\)$/, ''));
  }
}

/** What SES takes for an HTML comment or an import expression, even in a string of the template's code. */
const MARKS = /<!--|-->|(?:^|[^.]|\.\.\.)\bimport\s*(?:\(|\/[/*])/;

function refuseMarks(source: TemplateSource, program: Program): void {
  const found = MARKS.exec(program.text);
  if (found === null) return;
  const mark = found[0].includes('import') ? 'import(' : found[0];
  const reason = `code can't hold "${mark}", not even in a string: part it by a blank, or join the string of two`;
  throw errorAt(source, program, found.index + Math.max(0, found[0].indexOf('import')), reason);
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

/** The error at a place of the program, told as the place of the template that it comes from. */
function errorAt(source: TemplateSource, program: Program, offset: number, reason: string): TemplateCompileError {
  const { at, part } = program.codes.findLast((code) => code.at <= offset) ?? { at: 0, part: NO_CODE };
  const code = part.code.slice(0, Math.max(0, offset - at));
  const line = part.line + newlines(code);
  const column = code.length - (code.lastIndexOf('\n') + 1) + (code.includes('\n') ? 1 : part.column);
  const place = { template: source.name, file: source.file, line: line + source.firstLine - 1, column };
  const beyond = offset > at + part.code.length && offset >= program.text.lastIndexOf('\nreturn __o;');
  const hint = beyond ? ' (at the end of the template: is a block left open?)' : '';
  return new TemplateCompileError(place, reason + hint, excerptOf(source.text, line, source.firstLine));
}

const NO_CODE = { code: '', line: 1, column: 1 } as const;
