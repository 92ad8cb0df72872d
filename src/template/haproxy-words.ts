/**
 * Splits a line of configuration into words exactly as HAProxy 2.6 and newer do (parse_line in its tools.c), so that
 * what is judged is what HAProxy sees: `"lua-load"` and `lua\x2dload` are the word lua-load, `'glo'bal` is global.
 */

export type WordsResult =
  { readonly ok: true; readonly words: readonly string[] } | { readonly ok: false; readonly reason: string };

/** HAProxy's MAX_LINE_ARGS: it refuses a line with more words. */
export const MAX_WORDS = 64;

interface Scanner {
  readonly line: string;
  at: number;
  quote: '' | '"' | "'";
  word: string;
  /** A word has begun, if only with an empty pair of quotes. */
  open: boolean;
  readonly words: string[];
}

/** Escapes that stand for another character, in double quotes and outside of quotes alike. */
const ESCAPES: ReadonlyMap<string, string> = new Map([
  [' ', ' '],
  ['\\', '\\'],
  ['#', '#'],
  ["'", "'"],
  ['"', '"'],
  ['t', '\t'],
  ['n', '\n'],
  ['r', '\r'],
]);

/**
 * Words of one line; a comment ends it. Refused are an environment variable (HAProxy expands `$` in double quotes), a
 * quote that is not closed and an incomplete `\x` escape. The line must not hold a line break.
 */
export function splitWords(line: string): WordsResult {
  const scanner: Scanner = { line, at: 0, quote: '', word: '', open: false, words: [] };
  while (scanner.at < line.length) {
    if (scanner.quote === '' && line[scanner.at] === '#') break;
    const refusal = step(scanner, line[scanner.at] ?? '');
    if (refusal !== undefined) return { ok: false, reason: refusal };
  }
  if (scanner.quote !== '') return { ok: false, reason: 'a quote is not closed' };
  endWord(scanner);
  return { ok: true, words: scanner.words };
}

function step(scanner: Scanner, character: string): string | undefined {
  if (character === "'" || character === '"') return quoteMark(scanner, character);
  if (character === '\\' && scanner.quote !== "'") return escape(scanner);
  if (character === '$' && scanner.quote === '"')
    return '"$" in double quotes stands for a variable of the environment';
  if (isBlank(character) && scanner.quote === '') return endWord(scanner);
  emit(scanner, character, 1);
  return undefined;
}

function quoteMark(scanner: Scanner, mark: '"' | "'"): undefined {
  if (scanner.quote !== '' && scanner.quote !== mark) return emit(scanner, mark, 1);
  scanner.quote = scanner.quote === '' ? mark : '';
  return emit(scanner, '', 1);
}

function escape(scanner: Scanner): string | undefined {
  const next = scanner.line[scanner.at + 1] ?? '';
  if (next === 'x') return hexEscape(scanner);
  const meant = next === '$' && scanner.quote === '"' ? '$' : ESCAPES.get(next);
  // Before any other character the backslash is an ordinary one.
  if (meant === undefined) emit(scanner, '\\', 1);
  else emit(scanner, meant, 2);
  return undefined;
}

/** Only printable ASCII: other bytes could not be written back as text. */
function hexEscape(scanner: Scanner): string | undefined {
  const digits = scanner.line.slice(scanner.at + 2, scanner.at + 4);
  const code = /^[0-9a-fA-F]{2}$/.test(digits) ? Number.parseInt(digits, 16) : -1;
  if (code < 0x20 || code > 0x7e) return `the escape "\\x${digits.replace(/[^ -~]/g, '?')}" is no printable character`;
  emit(scanner, String.fromCharCode(code), 4);
  return undefined;
}

function emit(scanner: Scanner, text: string, consumed: number): undefined {
  scanner.word += text;
  scanner.open = true;
  scanner.at += consumed;
}

function endWord(scanner: Scanner): undefined {
  if (scanner.open) scanner.words.push(scanner.word);
  scanner.word = '';
  scanner.open = false;
  scanner.at++;
}

/** C's isspace, without the line break. */
function isBlank(character: string): boolean {
  return character === ' ' || character === '\t' || character === '\v' || character === '\f' || character === '\r';
}
