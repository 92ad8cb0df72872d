import { shown } from './faults.js';
import { MAX_WORDS, splitWords } from './haproxy-words.js';
import { haproxyWord } from './interpolate.js';
import type { RawLine } from './raw-conditions.js';
import { DIRECTIVES } from './raw-directives.js';

export type RawLinesResult =
  /** The lines to write: each word quoted anew, so that HAProxy sees exactly what was judged. */
  | { readonly ok: true; readonly lines: readonly string[] }
  /** Names the word at fault, and the line when there are several. */
  | { readonly ok: false; readonly reason: string };

const CONTROL = /[\u0000-\u0008\u000b-\u001f\u007f-\u009f\u2028\u2029]/;

/**
 * Judges raw configuration lines for a backend by an allow-list (DESIGN 8): `haproxy -c` executes `lua-load` and prints
 * the contents of files that `-f` or `map()` name, so nothing may reach it that could. Comments and empty lines are left out.
 */
export function checkRawLines(text: string): RawLinesResult {
  if (!text.isWellFormed()) return { ok: false, reason: 'it holds half a surrogate pair' };
  const lines: string[] = [];
  const given = text.split('\n');
  for (const [at, line] of given.entries()) {
    const judged = judgeLine(line.replace(/\r$/, ''));
    if (!judged.ok)
      return { ok: false, reason: given.length === 1 ? judged.reason : `line ${at + 1}: ${judged.reason}` };
    if (judged.words.length > 0) lines.push(judged.words.map(haproxyWord).join(' '));
  }
  return { ok: true, lines };
}

type Judged =
  { readonly ok: true; readonly words: readonly string[] } | { readonly ok: false; readonly reason: string };

function judgeLine(text: string): Judged {
  if (CONTROL.test(text)) return { ok: false, reason: `${shown(text)} holds a control character` };
  const split = splitWords(text);
  if (!split.ok) return { ok: false, reason: `${shown(text.trim())}: ${split.reason}` };
  if (split.words.length === 0) return split;
  const reason = refuseWords(split.words);
  if (reason !== undefined) return { ok: false, reason };
  return judgeDirective(split.words);
}

function refuseWords(words: readonly string[]): string | undefined {
  // A control character can still come out of an escape such as \n.
  const bad = words.find((word) => word === '' || CONTROL.test(word) || word.includes('\t') || word.includes('\n'));
  if (bad !== undefined)
    return bad === ''
      ? 'an empty word, which ends the line for HAProxy'
      : `the word ${shown(bad)} holds a control character`;
  return words.length > MAX_WORDS ? `more than ${MAX_WORDS} words on a line` : undefined;
}

function judgeDirective(words: readonly string[]): Judged {
  const [name = ''] = words;
  const checker = DIRECTIVES.get(name);
  if (checker === undefined) {
    return {
      ok: false,
      reason: `the directive ${shown(name)} is not allowed (allowed are ${[...DIRECTIVES.keys()].join(', ')})`,
    };
  }
  const line: RawLine = { words, at: 1, out: [name] };
  const reason = checker(line);
  if (reason !== undefined) return { ok: false, reason: `${name}: ${reason}` };
  return line.out.length > MAX_WORDS
    ? { ok: false, reason: `${name}: more than ${MAX_WORDS} words on a line` }
    : { ok: true, words: line.out };
}
