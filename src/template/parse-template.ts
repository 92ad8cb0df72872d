import { Eta } from 'eta';
import type { TemplateSource } from '../config/render-config.js';
import { excerptOf, TemplateCompileError } from './faults.js';

/** A stretch of a template. `line` and `column` (from 1) are where it begins in the template's own text. */
export type TemplatePart =
  | { readonly kind: 'text'; readonly text: string; readonly line: number; readonly column: number }
  | {
      /** `code` runs, `word` is interpolated safely, `raw` takes SafeText. */
      readonly kind: 'code' | 'word' | 'raw';
      readonly code: string;
      /** Line on which the code itself begins. */
      readonly line: number;
      readonly column: number;
    };

const KINDS = { e: 'code', i: 'word', r: 'raw' } as const;

/**
 * Eta's parser finds the tags (it knows strings and comments of JavaScript); their places and the text between them are
 * taken from the source, because its result has neither. A code tag that stands alone on its line takes the
 * line with it, an interpolation keeps the newline behind it (Eta would trim it: DESIGN 6).
 */
export function parseTemplate(source: TemplateSource): readonly TemplatePart[] {
  const { text } = source;
  const parts: TemplatePart[] = [];
  let at = 0;
  let trimNext = false;
  for (const tag of tagsOf(source)) {
    const open = text.indexOf('<%', at);
    const codeAt = text.indexOf(tag.code, open + 2);
    const close = text.indexOf('%>', codeAt + tag.code.length);
    pushText(parts, text, trimNext ? skipNewline(text, at) : at, open);
    const [line, column] = placeOf(text, codeAt);
    parts.push({ kind: tag.kind, code: tag.code, line, column });
    trimNext = text[close - 1] === '-' || text[close - 1] === '_';
    at = close + 2;
  }
  pushText(parts, text, trimNext ? skipNewline(text, at) : at, text.length);
  return withoutStandaloneLines(parts);
}

function tagsOf(source: TemplateSource): { kind: 'code' | 'word' | 'raw'; code: string }[] {
  try {
    const found = new Eta({ autoTrim: false }).parse(source.text);
    return found.flatMap((part) =>
      typeof part === 'string' ? [] : [{ kind: KINDS[part.t as keyof typeof KINDS] ?? 'code', code: part.val }],
    );
  } catch (error) {
    throw parseError(source, error);
  }
}

/** Eta's errors end in "at line 3 col 7:" and an excerpt. */
function parseError(source: TemplateSource, error: unknown): TemplateCompileError {
  const message = error instanceof Error ? error.message : String(error);
  const [, lineText, columnText] = /at line (\d+) col (\d+)/.exec(message) ?? [];
  const line = Number(lineText ?? 1);
  const place = {
    template: source.name,
    file: source.file,
    line: line + source.firstLine - 1,
    column: Number(columnText ?? 1),
  };
  const reason = (message.split('\n')[0] ?? message).replace(/ at line \d+ col \d+:?/, '');
  return new TemplateCompileError(place, reason, excerptOf(source.text, line, source.firstLine));
}

function pushText(parts: TemplatePart[], source: string, from: number, to: number): void {
  if (to <= from) return;
  const [line, column] = placeOf(source, from);
  parts.push({ kind: 'text', text: source.slice(from, to), line, column });
}

function skipNewline(text: string, at: number): number {
  if (text[at] === '\n') return at + 1;
  return text.startsWith('\r\n', at) ? at + 2 : at;
}

function placeOf(text: string, at: number): [line: number, column: number] {
  let line = 1;
  let start = 0;
  for (let next = text.indexOf('\n'); next !== -1 && next < at; next = text.indexOf('\n', next + 1)) {
    line++;
    start = next + 1;
  }
  return [line, at - start + 1];
}

function withoutStandaloneLines(parts: readonly TemplatePart[]): readonly TemplatePart[] {
  const result = [...parts];
  result.forEach((part, i) => {
    if (part.kind !== 'code') return;
    const before = result[i - 1];
    const after = result[i + 1];
    const opensLine =
      before === undefined
        ? true
        : before.kind === 'text' && /(^|\n)[ \t]*$/.test(before.text) && startsLine(result, i - 1);
    const endsLine =
      after === undefined
        ? true
        : after.kind === 'text' && /^[ \t]*(\r?\n|$)/.test(after.text) && closesLine(result, i + 1);
    if (!opensLine || !endsLine) return;
    if (before?.kind === 'text') result[i - 1] = { ...before, text: before.text.replace(/[ \t]*$/, '') };
    if (after?.kind === 'text') result[i + 1] = cutFirstLine(after);
  });
  return result.filter((part) => part.kind !== 'text' || part.text !== '');
}

/** Text without any newline begins a line only where the template itself, or a removed line, begins. */
function startsLine(parts: readonly TemplatePart[], at: number): boolean {
  const part = parts[at];
  return part?.kind === 'text' && (part.text.includes('\n') || part.column === 1);
}

function closesLine(parts: readonly TemplatePart[], at: number): boolean {
  const part = parts[at];
  return part?.kind === 'text' && (part.text.includes('\n') || at === parts.length - 1);
}

function cutFirstLine(part: TemplatePart & { kind: 'text' }): TemplatePart {
  const end = part.text.indexOf('\n');
  if (end === -1) return { ...part, text: '' };
  return { kind: 'text', text: part.text.slice(end + 1), line: part.line + 1, column: 1 };
}
