import { shown } from './faults.js';
import { refuseExpression, refuseFormat, refuseVariable } from './raw-expressions.js';
import { aclBody, atEnd, condition, take, type Checker, type RawLine } from './raw-conditions.js';

/** The directives that raw lines of a backend may use. None of them names a file, a program, a server or a section. */
export const DIRECTIVES: ReadonlyMap<string, Checker> = new Map<string, Checker>([
  ['acl', acl],
  ['balance', each(/^([a-z_-]+|hdr\([A-Za-z0-9_-]+\)|random\(\d+\)|\d+)$/)],
  ['cookie', cookie],
  ['dynamic-cookie-key', each(/^[\w.-]+$/)],
  ['hash-type', each(/^[a-z0-9-]+$/)],
  ['http-request', (line) => rule(line, REQUEST_ACTIONS)],
  ['http-response', (line) => rule(line, RESPONSE_ACTIONS)],
  ['http-after-response', (line) => rule(line, AFTER_RESPONSE_ACTIONS)],
  ['option', option],
  ['retries', each(/^\d+$/)],
  ['retry-on', each(/^[a-z0-9-]+$/)],
  ['timeout', timeout],
]);

/** Parts of a rule, in order: a plain word, a header's name, a word with log-format, a sample expression. */
type Part = 'word' | 'name' | 'format' | 'expression';

type Action = readonly Part[] | Checker;

const HEADER_ACTIONS: readonly (readonly [string, Action])[] = [
  ['set-header', ['name', 'format']],
  ['add-header', ['name', 'format']],
  ['del-header', delHeader],
  ['replace-header', ['name', 'word', 'format']],
  ['replace-value', ['name', 'word', 'format']],
];

const ANSWER_OPTIONS: ReadonlyMap<string, readonly Part[]> = new Map<string, readonly Part[]>([
  ['deny_status', ['word']],
  ['status', ['word']],
  ['content-type', ['word']],
  ['string', ['word']],
  ['lf-string', ['format']],
  ['hdr', ['name', 'format']],
]);

const REDIRECT_OPTIONS: ReadonlyMap<string, readonly Part[]> = new Map<string, readonly Part[]>([
  ['location', ['format']],
  ['prefix', ['format']],
  ['scheme', ['format']],
  ['code', ['word']],
  ['set-cookie', ['name']],
  ['clear-cookie', ['name']],
  ['drop-query', []],
  ['append-slash', []],
  ['ignore-empty', []],
]);

const REQUEST_ACTIONS: ReadonlyMap<string, Action> = new Map<string, Action>([
  ...HEADER_ACTIONS,
  ['allow', []],
  ['deny', (line) => options(line, ANSWER_OPTIONS)],
  ['return', (line) => options(line, ANSWER_OPTIONS)],
  ['redirect', (line) => options(line, REDIRECT_OPTIONS)],
  ...['set-path', 'set-pathq', 'set-query', 'set-uri', 'set-method'].map((name): [string, Action] => [
    name,
    ['format'],
  ]),
  ...['replace-path', 'replace-pathq', 'replace-uri'].map((name): [string, Action] => [name, ['word', 'format']]),
]);

const RESPONSE_ACTIONS: ReadonlyMap<string, Action> = new Map<string, Action>([
  ...HEADER_ACTIONS,
  ['allow', []],
  ['deny', (line) => options(line, ANSWER_OPTIONS)],
  ['return', (line) => options(line, ANSWER_OPTIONS)],
  ['redirect', (line) => options(line, REDIRECT_OPTIONS)],
  ['set-status', setStatus],
]);

const AFTER_RESPONSE_ACTIONS: ReadonlyMap<string, Action> = new Map<string, Action>([
  ...HEADER_ACTIONS,
  ['allow', []],
  ['set-status', setStatus],
]);

function rule(line: RawLine, actions: ReadonlyMap<string, Action>): string | undefined {
  const word = take(line);
  const action = actions.get(word);
  const refusal =
    action === undefined
      ? variableAction(line, word)
      : typeof action === 'function'
        ? action(line)
        : parts(line, action);
  return refusal ?? condition(line);
}

/** `set-var(txn.x) expression`, `set-var-fmt(txn.x) format`, `unset-var(txn.x)`. */
function variableAction(line: RawLine, word: string): string | undefined {
  const [, action, name = ''] = /^(set-var|set-var-fmt|unset-var)\(([^()]*)\)$/.exec(word) ?? [];
  if (action === undefined) return `the action ${shown(word)} is not allowed`;
  const refusal = refuseVariable(name);
  if (refusal !== undefined || action === 'unset-var') return refusal;
  return parts(line, [action === 'set-var' ? 'expression' : 'format']);
}

function parts(line: RawLine, expected: readonly Part[]): string | undefined {
  for (const part of expected) {
    if (atEnd(line)) return 'a word is missing at the end';
    const refusal = PARTS[part](take(line));
    if (refusal !== undefined) return refusal;
  }
  return undefined;
}

const PARTS: Readonly<Record<Part, (word: string) => string | undefined>> = {
  word: () => undefined,
  name: (word) => (/^[A-Za-z0-9_.=-]+$/.test(word) ? undefined : `${shown(word)} is no plain name`),
  format: refuseFormat,
  expression: refuseExpression,
};

function options(line: RawLine, allowed: ReadonlyMap<string, readonly Part[]>): string | undefined {
  while (!atEnd(line)) {
    const word = line.words[line.at] ?? '';
    if (word === 'if' || word === 'unless') return undefined;
    const expected = allowed.get(take(line));
    const refusal = expected === undefined ? `the word ${shown(word)} is not allowed here` : parts(line, expected);
    if (refusal !== undefined) return refusal;
  }
  return undefined;
}

function delHeader(line: RawLine): string | undefined {
  const refusal = parts(line, ['name']);
  if (refusal !== undefined || line.words[line.at] !== '-m') return refusal;
  take(line);
  const method = take(line);
  return /^(str|beg|end|sub|reg)$/.test(method) ? undefined : `${shown(method)} is no allowed way of matching`;
}

function setStatus(line: RawLine): string | undefined {
  const refusal = parts(line, ['word']);
  if (refusal !== undefined || line.words[line.at] !== 'reason') return refusal;
  take(line);
  return parts(line, ['word']);
}

function acl(line: RawLine): string | undefined {
  return parts(line, ['name']) ?? aclBody(line, line.words.length);
}

const TIMEOUTS: ReadonlySet<string> = new Set([
  'server',
  'connect',
  'queue',
  'tunnel',
  'server-fin',
  'http-keep-alive',
  'http-request',
  'tarpit',
]);

function timeout(line: RawLine): string | undefined {
  const word = take(line);
  if (!TIMEOUTS.has(word)) return `the timeout ${shown(word)} is not allowed`;
  return parts(line, ['word']) ?? nothingMore(line);
}

const OPTIONS: ReadonlySet<string> = new Set([
  ...['abortonclose', 'allbackups', 'forwardfor', 'http-buffer-request', 'http-keep-alive', 'http-no-delay'],
  ...['http-server-close', 'httpclose', 'prefer-last-server', 'redispatch', 'srvtcpka'],
]);

function option(line: RawLine): string | undefined {
  const word = take(line);
  if (!OPTIONS.has(word)) return `the option ${shown(word)} is not allowed`;
  // Not `except` or `header`: without X-Forwarded-For a request looks as if it had not come through HAProxy, and the
  // status page, which a Service can point at, is closed by that header alone.
  return each(/^(if-none|-?\d+)$/)(line);
}

const COOKIE_FLAGS: ReadonlySet<string> = new Set([
  ...['rewrite', 'insert', 'prefix', 'indirect', 'nocache', 'postonly', 'preserve', 'httponly', 'secure', 'dynamic'],
]);
const COOKIE_VALUES: ReadonlySet<string> = new Set(['domain', 'maxidle', 'maxlife', 'attr']);

function cookie(line: RawLine): string | undefined {
  const refusal = parts(line, ['name']);
  if (refusal !== undefined) return refusal;
  while (!atEnd(line)) {
    const word = take(line);
    if (COOKIE_VALUES.has(word)) take(line);
    else if (!COOKIE_FLAGS.has(word)) return `the word ${shown(word)} is not allowed here`;
  }
  return undefined;
}

/** Every further word is of one plain form. */
function each(form: RegExp): Checker {
  return (line) => {
    while (!atEnd(line)) {
      const word = take(line);
      if (!form.test(word)) return `the word ${shown(word)} is not allowed here`;
    }
    return undefined;
  };
}

function nothingMore(line: RawLine): string | undefined {
  return atEnd(line) ? undefined : `the word ${shown(line.words[line.at] ?? '')} is not allowed here`;
}
