import { execFile } from 'node:child_process';
import { promisify } from 'node:util';

import { fields, show } from './answer.js';
import type { Answer } from './answer.js';
import type { KubernetesObject } from './case-schema.js';

/** What holds for every case, whatever it expects (data/README.md, "Always"). */

const WARNING_LIMIT = 120;

/** A frame of a stack trace of V8. */
const STACK_FRAME = /\n\s+at .+(?:\(|\/).+:\d+:\d+/;

/** Form and wording of one answer. */
export function judgeAnswerForm(answer: Answer): string[] {
  const warnings = answer.warnings.flatMap((warning) => warningFaults(warning));
  const texts = [answer.message, ...answer.warnings];
  return [...answer.faults, ...warnings, ...texts.flatMap((text) => clumsyWords('the answer', text))];
}

function warningFaults(warning: string): string[] {
  const length = [...warning].length;
  const faults: string[] = [];
  if (/[\p{Cc}\u2028\u2029]/u.test(warning))
    faults.push(`a warning has a line break or control character: ${show(warning)}`);
  if (length > WARNING_LIMIT)
    faults.push(`a warning has ${length} characters, at most ${WARNING_LIMIT} are shown: ${show(warning)}`);
  if (/^warning:/i.test(warning)) faults.push(`a warning begins with "Warning:": ${show(warning)}`);
  if (warning === '') faults.push('a warning is empty');
  return faults;
}

/** Signs of a value that nobody caught: they mean nothing to whoever reads them. */
export function clumsyWords(where: string, text: string): string[] {
  const found = ['undefined', '[object Object]', 'NaN'].filter((word) =>
    new RegExp(`(?<!\\w)${escape(word)}(?!\\w)`).test(text),
  );
  const trace = STACK_FRAME.exec(text)?.[0];
  return [
    ...found.map((word) => `${where} says ${show(word)}: ${show(around(text, word))}`),
    ...(trace === undefined ? [] : [`${where} shows a stack trace: ${show(trace.trim())}`]),
  ];
}

/** Texts that must not be met anywhere outside: parts of all Secrets' data, and what the canary files hold. */
export function forbiddenTexts(objects: readonly KubernetesObject[], canaries: readonly string[]): readonly string[] {
  const secrets = objects.filter((object) => object['kind'] === 'Secret');
  const values = secrets.flatMap((secret) => [...dataOf(secret['data']), ...dataOf(secret['stringData'])]);
  return [...new Set([...values.flatMap(partsOf), ...canaries])];
}

function dataOf(data: unknown): string[] {
  return Object.values(fields(data)).filter((value) => typeof value === 'string');
}

/** Shorter parts could occur by chance; of a large value the beginning is enough. */
const PART_CHARACTERS = 24;
const PARTS_OF_A_VALUE = 64;

function partsOf(value: string): string[] {
  const decoded = Buffer.from(value, 'base64').toString('latin1');
  const lines = decoded.split('\n').filter((line) => line.length >= PART_CHARACTERS && !line.startsWith('-----'));
  const blocks = value.slice(0, PART_CHARACTERS * PARTS_OF_A_VALUE).match(/.{24}/g) ?? [];
  return [...(blocks.length === 0 && value.length >= 8 ? [value] : blocks), ...lines.slice(0, PARTS_OF_A_VALUE)];
}

export function judgeLeaks(where: string, text: string, forbidden: readonly string[]): string[] {
  const leaks = forbidden.filter((part) => text.includes(part));
  return leaks
    .slice(0, 1)
    .map((part) => `${where} carries something of a Secret or a canary: ${show(around(text, part))}`);
}

/** Undefined when `haproxy -c` accepts the directory, else what it says. */
export async function haproxyRefuses(haproxy: string, directory: string): Promise<string | undefined> {
  try {
    await promisify(execFile)(haproxy, ['-c', '-C', directory, '-f', 'haproxy.cfg'], { maxBuffer: 16 * 1024 * 1024 });
    return undefined;
  } catch (error) {
    const said = fields(error);
    return `haproxy -c does not accept the rendered files: ${show(said['stderr'] || said['message'])}`;
  }
}

function around(text: string, word: string): string {
  const at = text.indexOf(word);
  return text.slice(Math.max(0, at - 80), at + word.length + 80);
}

function escape(word: string): string {
  return word.replace(/[[\]]/g, '\\$&');
}
