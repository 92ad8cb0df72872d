import type { QuarantineEntry, TracedFault } from '../render/protocol.js';
import type { RenderProgress } from '../render/progress.js';
import type { ReviewedChange } from './reviewed-change.js';

/** The API server passes warnings of this length on without cutting them (protocol line R5). */
const MAX_WARNING = 120;
/** 4,096 characters of warnings a request are shown in all. */
const MAX_WARNINGS = 20;
/** One screen of a terminal. */
const MAX_MESSAGE = 1_800;

/** One line, printable, at most 120 characters. */
export function warningLine(text: string): string {
  const line = clean(text).replace(/\s+/g, ' ').trim();
  return line.length > MAX_WARNING ? `${line.slice(0, MAX_WARNING - 1).replace(/[\ud800-\udbff]$/, '')}…` : line;
}

export function warningLines(texts: readonly string[]): readonly string[] {
  const lines = [...new Set(texts.map(warningLine))].filter((line) => line !== '');
  if (lines.length <= MAX_WARNINGS) return lines;
  return [...lines.slice(0, MAX_WARNINGS - 1), `and ${lines.length - MAX_WARNINGS + 1} more warnings of this kind`];
}

/** Control characters and half surrogates go; line breaks stay. */
function clean(text: string): string {
  return text.toWellFormed().replace(/[\u0000-\u0009\u000b-\u001f\u007f-\u009f\u2028\u2029\ufffd]/g, ' ');
}

function message(lines: readonly (string | undefined)[]): string {
  const text = clean(lines.filter((line) => line !== undefined && line !== '').join('\n'));
  return text.length > MAX_MESSAGE ? `${text.slice(0, MAX_MESSAGE - 1).replace(/[\ud800-\udbff]$/, '')}…` : text;
}

const EFFECT =
  'effect: with this change the load balancer could not take its configuration, so it was not admitted; what is served stays as it is';

/** Object and field, cause, effect, fix: all a person needs, on one screen (DESIGN 8). */
export function denyMessage(reviewed: ReviewedChange, faults: readonly TracedFault[]): string {
  const [first] = faults;
  if (first === undefined) return message([`${reviewed.label}: the checker refuses the configuration`, EFFECT]);
  const elsewhere = first.object !== undefined && titleOf(first) !== reviewed.title;
  const subject = first.field === undefined ? '' : ` ${first.field}:`;
  return message([
    `${reviewed.label}:${elsewhere ? ` breaks ${titleOf(first)}:` : ''}${subject} ${causeOf(first)}`,
    first.rendered === undefined ? undefined : `line:   ${first.rendered.slice(0, 160)}`,
    first.template === undefined
      ? undefined
      : `from:   template ${first.template.name}, ${first.template.file}:${first.template.line}`,
    first.excerpt,
    ...others(faults.slice(1)),
    EFFECT,
    `fix:    ${fixOf(reviewed, first)}`,
  ]);
}

function titleOf(fault: TracedFault): string {
  const { namespace = '', name = '' } = fault.object ?? {};
  return namespace === '' ? name : `${namespace}/${name}`;
}

function causeOf(fault: TracedFault): string {
  return fault.text === ''
    ? 'the checker refuses it (its text is withheld, since it may show data of a Secret)'
    : fault.text;
}

function others(faults: readonly TracedFault[]): string[] {
  const lines = [
    ...new Set(
      faults.map((fault) =>
        `also:   ${titleOf(fault)} ${fault.field ?? ''} ${causeOf(fault)}`.replace(/ +/g, ' ').slice(0, 200),
      ),
    ),
  ];
  return lines.length > 3 ? [...lines.slice(0, 3), `and ${lines.length - 3} more`] : lines;
}

function fixOf(reviewed: ReviewedChange, fault: TracedFault): string {
  if (fault.field !== undefined) return `correct ${fault.field} and apply it again`;
  if (fault.object === undefined)
    return 'the fault is in the template, not in the object: show this to whoever runs rendergate';
  return titleOf(fault) === reviewed.title
    ? 'correct the object and apply it again'
    : `correct ${titleOf(fault)} first, or leave this change out`;
}

/** Decision 0029, 3: what is wrong, the effect, the fix; with progress and an estimate. */
export function coldMessage(progress: RenderProgress, coldForMs: number): string {
  const { done, known, stage } = progress;
  const share = known > 0 && done < known ? `${done} of ${known} instances${estimate(done, known, coldForMs)}` : stage;
  // Rendered, and still no root: its check has not ended, or does not pass.
  const state = stage === 'idle' ? 'has not passed its check yet' : `is still running (${share})`;
  return message([
    `not judged: the first full render ${state}`,
    'effect: until then no change can be validated, so this one was not admitted',
    'fix:    retry, kubectl does so by itself; if it persists, raise memory and CPU of rendergate and look at its log',
    WAY_OUT,
  ]);
}

/** A 503 also says how to get out (DESIGN 8). */
const WAY_OUT = 'way out for operators: kubectl delete validatingwebhookconfiguration rendergate';

/** Too little done says nothing about the rest. */
function estimate(done: number, known: number, elapsedMs: number): string {
  if (done * 10 < known) return '';
  return `, about ${Math.max(1, Math.ceil((elapsedMs * (known - done)) / done / 1000))} s left`;
}

export function unjudgedMessage(cause: string, fix: string): string {
  return message([
    `not judged: ${cause}`,
    'effect: an unchecked change is never admitted; what is served stays as it is',
    `fix:    ${fix}`,
    WAY_OUT,
  ]);
}

/** Warnings about objects that are held back at the moment. */
export function standingWarning(entry: QuarantineEntry): string {
  const title = entry.namespace === '' ? entry.name : `${entry.namespace}/${entry.name}`;
  return `${title} is ${entry.servedOld ? 'served at its last good revision' : 'not served'}: ${entry.reason}`;
}

export function stillNotServed(reviewed: ReviewedChange, reason: string): string {
  return `${reviewed.title} is still not served: ${reason}`;
}
