import { isCheckerWord } from './vocabulary.js';

/** What a message may show besides HAProxy's own words. */
export interface Showable {
  /** Lines of checked files that the finding is placed on, with their section's header. Never of a sensitive file. */
  readonly lines: readonly string[];
  /** The checked file that a path means. */
  readonly fileNamed: (path: string) => string | undefined;
  /** The finding is on, or names, a sensitive file. */
  readonly sensitive: boolean;
  /** The finding is about a file that was not checked. */
  readonly foreign: boolean;
}

const WITHHELD = '…';

/** One screen line and a half: more is cut, since a warning shows 120 and a deny has several findings. */
const LONGEST_TEXT = 300;

/** What is filtered of a message, and compared of a line: bounds the work, and far beyond what can be shown. */
const LONGEST_INPUT = 4_096;
const LONGEST_LINE = 16_384;

/** `'...'` or `"..."` as a word of its own, so that the apostrophe of `can't` opens nothing. */
const QUOTED = /(?<![A-Za-z0-9])(?:'([^']*)'|"([^"]*)")(?![A-Za-z0-9])/g;

/** `'bind :443' in section 'frontend' : 'crt-list' : ` with everything quoted gone: says nothing any more. */
const WITHHELD_CONTEXT = /^(?:'…'(?: in section '…')? ?: ?)+/;

/** `-----BEGIN PRIVATE KEY-----` and every other run of dashes with what stands between two of them. */
const PEM_MARK = /-{3,}(?:[^-]*-{3,})?/g;

const LEADING_MARKS = /^[('"`<[{,;:.!?-]*/;
const TRAILING_MARKS = /(?<![)'"`>\]},;:.!?-])[)'"`>\]},;:.!?-]*$/;

/** Longer than any word of HAProxy; what is longer and made of base64 characters is a key or a token. */
const LONGEST_WORD = 24;

/**
 * Makes a message safe to show to whoever sent the change. A checker can print contents of files, variables, anything
 * (a pattern file's first line stands in its error), and whoever writes that content can imitate quotes and prose. So
 * nothing is let through because of how it looks, only because of what it is:
 *
 * 1. A quoted token survives whole or becomes `'…'`. It survives if it names a checked file, if it occurs in the line
 *    that the finding is placed on (or in the header of that line's section), or if each of its parts does or is a
 *    word of HAProxy's own (vocabulary.ts) or a number of at most three digits.
 * 2. Every other word survives by the same rule or becomes `…`; `http-request` and `a/b` are judged by their parts.
 * 3. If the finding is on or names a sensitive file, a quoted token survives only as the name of a checked file, and a
 *    number only if it stands in the line.
 * 4. If it is about a file that was not checked, a quoted token survives only if it stands in the line.
 * 5. Marks of PEM blocks, and runs of base64 longer than any word, go unless the line has them; marks go always.
 *
 * "Occurs" means between word boundaries, with quotes and backslashes left out on both sides, as HAProxy reads them.
 * The result is one line of at most 300 characters; empty if nothing of HAProxy's own was left.
 */
export function filterMessage(text: string, showable: Showable): string {
  const lines = showable.lines.map((line) => normalise(line.slice(0, LONGEST_LINE)));
  const judge = new Judge(lines, showable);
  const marked = text.slice(0, LONGEST_INPUT).replace(PEM_MARK, ` ${WITHHELD} `);
  let shown = '';
  let from = 0;
  for (const quoted of marked.matchAll(QUOTED)) {
    shown += judge.prose(marked.slice(from, quoted.index)) + judge.quoted(quoted[0]);
    from = quoted.index + quoted[0].length;
  }
  return tidy(shown + judge.prose(marked.slice(from)));
}

class Judge {
  /** A message can repeat one word a thousand times, and each search may read the whole line. */
  private readonly found = new Map<string, boolean>();

  constructor(
    private readonly lines: readonly string[],
    private readonly showable: Showable,
  ) {}

  quoted(token: string): string {
    const mark = token.charAt(0);
    const inner = token.slice(1, -1);
    const file = this.fileName(inner);
    if (file !== undefined) return `${mark}${file}${mark}`;
    return this.mayQuote(inner) ? `${mark}${inner}${mark}` : `${mark}${WITHHELD}${mark}`;
  }

  prose(text: string): string {
    return text.replace(/\S+/g, (word) => this.word(word));
  }

  private word(word: string): string {
    const before = LEADING_MARKS.exec(word)?.[0] ?? '';
    const after = before === word ? '' : (TRAILING_MARKS.exec(word)?.[0] ?? '');
    const core = word.slice(before.length, word.length - after.length);
    if (core === '') return word.length <= 3 ? word : WITHHELD;
    const shown = this.fileName(core) ?? (this.mayShow(core) ? core : WITHHELD);
    return before.slice(-2) + shown + after.slice(0, 3);
  }

  private mayQuote(inner: string): boolean {
    if (this.showable.sensitive) return false;
    if (this.inLines(inner)) return true;
    return !this.showable.foreign && inner.split(/\s+/).every((word) => this.mayShow(word));
  }

  private mayShow(word: string): boolean {
    if (this.inLines(word)) return true;
    if (/^[A-Za-z0-9+/=_-]+$/.test(word) && word.length > LONGEST_WORD && !isCompound(word)) return false;
    return word.split(/[/=,:()<>|[\]{}%]/).every((part) => part === '' || this.mayShowPart(part));
  }

  private mayShowPart(part: string): boolean {
    return this.isPlain(part) || this.inLines(part) || part.split(/[-_.']/).every((piece) => this.isPlain(piece));
  }

  private isPlain(word: string): boolean {
    if (/^\d{1,3}$/.test(word)) return !this.showable.sensitive && !this.showable.foreign;
    return isCheckerWord(word);
  }

  private fileName(path: string): string | undefined {
    const [, bare = path, line = ''] = /^(.+?)(:\d{1,9})?$/.exec(path) ?? [];
    const file = this.showable.fileNamed(bare);
    // `x.pem.key` is shown as it is: that HAProxy looked for a companion is the point of the message.
    return file === undefined ? undefined : (bare.startsWith(file) ? bare : file) + line;
  }

  private inLines(token: string): boolean {
    const known = this.found.get(token);
    if (known !== undefined) return known;
    const wanted = normalise(token);
    // U+FFFD stands for bytes that are no text: not what is in the line, whatever the line has.
    const isThere = wanted !== '' && !wanted.includes('\ufffd') && this.lines.some((line) => occurs(line, wanted));
    this.found.set(token, isThere);
    return isThere;
  }
}

/** Words of HAProxy tied together (`tcp-response-inspect-delay`), not a run of base64. */
function isCompound(word: string): boolean {
  return word.split(/[-_]/).every(isCheckerWord);
}

function normalise(text: string): string {
  return text
    .replace(/['"\\]/g, '')
    .replace(/\s+/g, ' ')
    .trim();
}

function occurs(line: string, wanted: string): boolean {
  for (let at = line.indexOf(wanted); at >= 0; at = line.indexOf(wanted, at + 1)) {
    const joinsBefore = isWordCharacter(line.charAt(at - 1)) && isWordCharacter(wanted.charAt(0));
    const joinsAfter = isWordCharacter(line.charAt(at + wanted.length)) && isWordCharacter(wanted.slice(-1));
    if (!joinsBefore && !joinsAfter) return true;
  }
  return false;
}

function isWordCharacter(character: string): boolean {
  // Most lines are ASCII, and the other expression costs ten times as much.
  if (character < '\u0080') return /^\w$/.test(character);
  return /^[\p{L}\p{N}_]$/u.test(character);
}

function tidy(text: string): string {
  const line = text
    .replace(/\s+/g, ' ')
    .replace(/…(?:[\s…]*…)+/g, WITHHELD)
    .replace(WITHHELD_CONTEXT, '')
    .replace(/[\s:]+$/, '')
    .trim();
  if (!/[A-Za-z]/.test(line)) return '';
  const characters = Array.from(line);
  return characters.length <= LONGEST_TEXT ? line : `${characters.slice(0, LONGEST_TEXT - 1).join('')}${WITHHELD}`;
}
