import { CheckLines } from './check-lines.js';
import type { CheckFile, CheckFinding } from './checker.js';
import { splitMessages, type CheckerMessage } from './checker-messages.js';
import { filterMessage } from './message-filter.js';
import { placeMessage, type PlacedMessage } from './message-place.js';

/** Findings kept of one run: far more than a person reads or a blame needs, and a bound on the work of filtering. */
const MOST_FINDINGS = 200;

/** HAProxy's closing lines, which say only that something was said before. */
const SUMMARY = /^(?:Error\(s\) found in configuration file|Fatal errors found in configuration)/;

/** Paths in a message: quoted, or words of their own. */
const PATH = /'([^']+)'|"([^"]+)"|<([^<>]+)>|([^\s'"<>]+)/g;

/**
 * Marks behind a path. Looked for from their beginning only: with a search from each of them a long run of full stops
 * takes the square of its length.
 */
const MARKS_BEHIND = /(?<![.,;:)\]])[.,;:)\]]+$/;

/** Ways of naming a file that tell its content may be in the message. */
const FILE_PHRASE = /\bfile(?:name)?\s*:?\s+['"<]([^'"<>]+)['">]/gi;

/**
 * What a checker printed, made safe to show and placed on the checked files (DESIGN 8). A finding's place is the most
 * precise that the message names; `mentions` are the other checked files in it, the one that loads the blamed map
 * included. Summaries are left out beside findings of their own. What `text` may hold is in message-filter.ts.
 */
export function parseFindings(output: Buffer, files: readonly CheckFile[]): CheckFinding[] {
  const lines = new CheckLines(files);
  const messages = splitMessages(output);
  const own = messages.filter((message) => !SUMMARY.test(message.text));
  const told = own.some((message) => message.severity === 'alert') ? own : [...own, ...summaries(messages)];
  return told.slice(0, MOST_FINDINGS).map((message) => toFinding(message, lines));
}

/** One summary is enough where nothing else was said. */
function summaries(messages: readonly CheckerMessage[]): readonly CheckerMessage[] {
  return messages.filter((message) => SUMMARY.test(message.text)).slice(0, 1);
}

function toFinding(message: CheckerMessage, lines: CheckLines): CheckFinding {
  const placed = placeMessage(message.text, lines);
  const mentions = mentionsOf(placed, lines);
  const named = [placed.place?.file, ...mentions];
  const text = filterMessage(placed.text, {
    lines: shownLines(placed, lines),
    fileNamed: (path) => lines.named(path),
    sensitive: named.some((name) => name !== undefined && lines.isSensitive(name)),
    foreign: placed.foreign || namesForeignFile(placed.text, lines),
  });
  return { severity: message.severity, ...(placed.place ?? {}), mentions, text };
}

function shownLines(placed: PlacedMessage, lines: CheckLines): readonly string[] {
  return [placed.place, placed.loadedAt].flatMap((place) => {
    if (place === undefined) return [];
    return [lines.line(place.file, place.line), lines.header(place.file, place.line)].filter(
      (line) => line !== undefined,
    );
  });
}

function mentionsOf(placed: PlacedMessage, lines: CheckLines): readonly string[] {
  const names = new Set<string>(placed.loadedAt === undefined ? [] : [placed.loadedAt.file]);
  for (const found of placed.text.matchAll(PATH)) {
    const path = (found[1] ?? found[2] ?? found[3] ?? found[4] ?? '').replace(MARKS_BEHIND, '').replace(/:\d+$/, '');
    const name = lines.named(path);
    if (name !== undefined) names.add(name);
  }
  if (placed.place !== undefined) names.delete(placed.place.file);
  return [...names];
}

function namesForeignFile(text: string, lines: CheckLines): boolean {
  const paths = [...text.matchAll(FILE_PHRASE)].map((found) => found[1] ?? '');
  const absolute = text.match(/(?<![\w.])\/[\w.][^\s'"<>]*/g) ?? [];
  return [...paths, ...absolute].some(
    (path) => lines.named(path.replace(/(?<![.,;:])[.,;:]+$|:\d+.*$/g, '')) === undefined,
  );
}
