import { shown } from './faults.js';
import { refuseExpression } from './raw-expressions.js';

/**
 * A line that is being judged: `words` as HAProxy sees them, `at` the next one, `out` the words that will be written.
 * Checkers move words over, may add harmless ones, and return the reason of a refusal or undefined.
 */
export interface RawLine {
  readonly words: readonly string[];
  at: number;
  readonly out: string[];
}

export type Checker = (line: RawLine) => string | undefined;

/** Moves one word; '' when there is none. */
export function take(line: RawLine): string {
  const word = line.words[line.at];
  if (word === undefined) return '';
  line.out.push(word);
  line.at++;
  return word;
}

export function atEnd(line: RawLine): boolean {
  return line.at >= line.words.length;
}

/** `if` or `unless` with its condition, or nothing: the end of most rules. */
export function condition(line: RawLine): string | undefined {
  if (atEnd(line)) return undefined;
  const word = line.words[line.at] ?? '';
  if (word !== 'if' && word !== 'unless') return `the word ${shown(word)} is not allowed here`;
  take(line);
  if (atEnd(line)) return `no condition follows ${shown(word)}`;
  while (!atEnd(line)) {
    const refusal = term(line);
    if (refusal !== undefined) return refusal;
  }
  return undefined;
}

function term(line: RawLine): string | undefined {
  const word = take(line).replace(/^!+/, '');
  if (word === '' || word === '||' || word === 'or') return undefined;
  if (word === '{') return anonymousAcl(line);
  return /^[A-Za-z0-9_.:-]+$/.test(word) ? undefined : `${shown(word)} is no name of an ACL`;
}

function anonymousAcl(line: RawLine): string | undefined {
  const end = line.words.indexOf('}', line.at);
  if (end === -1) return 'a "{" is not closed by a "}"';
  const refusal = aclBody(line, end);
  if (refusal !== undefined) return refusal;
  take(line);
  return undefined;
}

const MATCH_METHODS: ReadonlySet<string> = new Set([
  'found',
  'bool',
  'int',
  'ip',
  'bin',
  'len',
  'str',
  'beg',
  'sub',
  'reg',
  'dir',
  'dom',
  'end',
]);

/**
 * `expression [flags] [values]` up to word number `end`. `-n` is added so that no name among the values is looked up in
 * DNS, and `--` so that no value is taken for a flag, nor for a converter: HAProxy reads `var(txn.x) map(/etc/passwd)`
 * as one expression and opens the file.
 */
export function aclBody(line: RawLine, end: number): string | undefined {
  if (line.at >= end) return 'an ACL needs an expression';
  const refusal = refuseExpression(take(line)) ?? aclFlags(line, end);
  if (refusal !== undefined) return refusal;
  while (line.at < end) take(line);
  return undefined;
}

function aclFlags(line: RawLine, end: number): string | undefined {
  if (line.words[line.at] !== '-n') line.out.push('-n');
  while (line.at < end && line.words[line.at]?.startsWith('-') === true) {
    const flag = take(line);
    if (flag === '--') return undefined;
    if (flag === '-m') {
      const method = line.at < end ? take(line) : '';
      if (!MATCH_METHODS.has(method)) return `${shown(method)} is no allowed way of matching`;
    } else if (flag !== '-i' && flag !== '-n') {
      return `the flag ${shown(flag)} is not allowed`;
    }
  }
  if (line.at < end) line.out.push('--');
  return undefined;
}
