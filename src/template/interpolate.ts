import type { OutputKind } from '../config/render-config.js';
import { shown, TemplateFault } from './faults.js';

const CONTROL = /[\u0000-\u001f\u007f-\u009f\u2028\u2029]/;
/** Characters that HAProxy's parser gives no meaning to, at any place of a word. */
const PLAIN_HAPROXY = /^[A-Za-z0-9_./:@,+=*~^!<>?&;|()[\]{}-]+$/;

/**
 * Safe interpolation (DESIGN 6): the value as exactly one word of the output's kind, because one newline or blank that a
 * tenant wrote can otherwise begin a directive or a section of its own. Throws TemplateFault naming the value.
 */
export function interpolate(value: unknown, kind: OutputKind, tag?: number): string {
  const text = scalarText(value, tag);
  if (CONTROL.test(text)) throw refusal('holds a control character or a line break', text, tag);
  if (!text.isWellFormed()) throw refusal('holds half a surrogate pair', text, tag);
  return WORDS[kind](text, tag);
}

function scalarText(value: unknown, tag: number | undefined): string {
  if (typeof value === 'string') return value;
  if (typeof value === 'number' || typeof value === 'boolean' || typeof value === 'bigint') return String(value);
  const what =
    value === null
      ? 'null'
      : value === undefined
        ? 'undefined'
        : Array.isArray(value)
          ? 'a list'
          : `of type ${typeof value}`;
  throw new TemplateFault(`the value is ${what}, but a string, number or boolean is needed`, undefined, undefined, tag);
}

function refusal(reason: string, text: string, tag: number | undefined): TemplateFault {
  return new TemplateFault(`the value ${shown(text)} ${reason}`, undefined, text, tag);
}

const WORDS: Readonly<Record<OutputKind, (text: string, tag: number | undefined) => string>> = {
  haproxy(text, tag) {
    if (text.includes('%')) {
      throw refusal('holds a percent sign, which HAProxy may evaluate; the template has to use fmt() here', text, tag);
    }
    return haproxyWord(text);
  },
  map: fileWord,
  crtList(text, tag) {
    if (/[[\]]/.test(text)) throw refusal('holds a bracket, which a certificate list gives a meaning', text, tag);
    return fileWord(text, tag);
  },
  text: (text) => text,
};

/** Strong quotes take everything literally but their own kind. */
export function haproxyWord(text: string): string {
  if (PLAIN_HAPROXY.test(text)) return text;
  return `'${text.replaceAll("'", String.raw`'\''`)}'`;
}

/** Map files and certificate lists have no quoting: what can't stand there as it is can't stand there. */
function fileWord(text: string, tag: number | undefined): string {
  if (/\s/.test(text)) throw refusal('holds a blank, which would end the word', text, tag);
  if (text.startsWith('#')) throw refusal('begins with #, which would make a comment of the line', text, tag);
  if (text === '') throw refusal('is empty', text, tag);
  return text;
}

/** One word for a place where HAProxy evaluates log-format: a doubled percent sign is a plain one there. */
export function formatWord(value: unknown): string {
  const text = scalarText(value, undefined);
  if (CONTROL.test(text)) throw refusal('holds a control character or a line break', text, undefined);
  if (!text.isWellFormed()) throw refusal('holds half a surrogate pair', text, undefined);
  return haproxyWord(text.replaceAll('%', '%%'));
}
