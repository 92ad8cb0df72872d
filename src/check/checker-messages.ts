/** Splits what a checker printed into messages. Nothing in here is safe to show yet: see message-filter.ts. */

export interface CheckerMessage {
  readonly severity: 'alert' | 'warning';
  /** One line of valid text without control characters, without HAProxy's head (`[ALERT] (7) : config : `). */
  readonly text: string;
}

/**
 * `[ALERT]    (7) : config : ...` since 2.4, `[ALERT] 201/123456 (7) : ...` before, and without a process number.
 * Short of memory HAProxy prints `(null)` where a prefix should be.
 */
const HEAD = /^(?:\(null\))*\[([A-Z]+)\]\s*(?:\d+\/\d+\s*)?(?:\(\d+\)\s*)?:\s*(?:\(null\))*(?:config\s*:\s*)?(.*)$/;

const SEVERITIES: ReadonlyMap<string, CheckerMessage['severity']> = new Map([
  ['EMERG', 'alert'],
  ['ALERT', 'alert'],
  ['CRIT', 'alert'],
  ['WARNING', 'warning'],
]);

/** Twice what HAProxy can quote at once (its buffer of 16 KiB); bounds the work on one message. */
const LONGEST_MESSAGE = 32 * 1024;

/** The mark below an echoed line: the echo and the mark are of no use on one line. */
const CARET = /^\s*\^\s*$/;

const ESCAPE_SEQUENCE = /\u001b(?:\[[0-?]*[ -/]*[@-~]|\][^\u0007\u001b\n]*(?:\u0007|\u001b\\)?|[ -~])/g;

/** Control characters, line and paragraph separators, and marks that are invisible or turn the direction of writing. */
const UNPRINTABLE =
  /[\u0000-\u0008\u000b-\u001f\u007f-\u009f\u00ad\u200b-\u200f\u2028-\u202e\u2060-\u206f\ufeff\ufff9-\ufffc]/g;

export function splitMessages(output: Buffer): readonly CheckerMessage[] {
  const messages: { severity: CheckerMessage['severity'] | undefined; lines: string[] }[] = [];
  for (const line of printableLines(output)) {
    const head = HEAD.exec(line);
    if (head !== null) messages.push({ severity: SEVERITIES.get(head[1] ?? ''), lines: [head[2] ?? ''] });
    else continueMessage(messages.at(-1)?.lines, line);
  }
  return messages.flatMap(({ severity, lines }) => (severity === undefined ? [] : [{ severity, text: join(lines) }]));
}

/** Every word that a checker printed, for questions about all of it. */
export function printableText(output: Buffer): string {
  return printableLines(output).join('\n');
}

function printableLines(output: Buffer): string[] {
  const text = new TextDecoder('utf-8').decode(output).replace(ESCAPE_SEQUENCE, '');
  return text.split('\n').map((line) => line.replace(UNPRINTABLE, ' ').replaceAll('\t', ' '));
}

function continueMessage(lines: string[] | undefined, line: string): void {
  if (lines === undefined || line.trim() === '') return;
  if (!CARET.test(line)) lines.push(line.replace(/^\s*\|/, ''));
  else if (lines.length > 1) lines.pop();
}

function join(lines: readonly string[]): string {
  return lines.join(' ').slice(0, LONGEST_MESSAGE).replace(/\s+/g, ' ').trim();
}
