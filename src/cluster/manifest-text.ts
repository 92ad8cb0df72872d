import { CORE_SCHEMA, load, Type, YAMLException, type LoadOptions } from 'js-yaml';
import { MAX_DEPTH } from './manifest-defect.js';
import type { ManifestProblem } from './manifest.js';

/** One YAML document of a text, its `---` included. */
export interface DocumentText {
  readonly text: string;
  /** Line of the whole text, counted from 1, on which line 1 of the document stands. */
  readonly firstLine: number;
}

/** A mark counts at the beginning of a line only; there it ends a document even inside a quoted or literal text. */
const DOCUMENT_MARK = /(?:^|\n)(---|\.\.\.)(?=[ \t\r\n]|$)/g;

/** Cuts a YAML text into its documents, empty ones too. */
export function splitDocuments(text: string): readonly DocumentText[] {
  const documents: DocumentText[] = [];
  let start = 0;
  let firstLine = 1;
  const cut = (end: number, next: number): void => {
    documents.push({ text: text.slice(start, end), firstLine });
    firstLine += countLines(text, start, next);
    start = next;
  };
  for (const match of text.matchAll(DOCUMENT_MARK)) {
    const mark = match.index + match[0].length - 3;
    if (match[1] === '...') cut(mark, mark + 3);
    else if (mark > start && !isDirectives(text.slice(start, mark))) cut(mark, mark);
  }
  cut(text.length, text.length);
  return documents;
}

/** `%YAML 1.2` and the like belong to the document that follows. */
function isDirectives(head: string): boolean {
  return /^%/m.test(head) && head.split('\n').every((line) => /^(?:%|\s*#|\s*$)/.test(line));
}

function countLines(text: string, from: number, to: number): number {
  let lines = 0;
  for (let at = text.indexOf('\n', from); at !== -1 && at < to; at = text.indexOf('\n', at + 1)) lines++;
  return lines;
}

/** `<<` merges, as people write it in manifests; the core schema alone has no dates, which would not be JSON. */
const SCHEMA = CORE_SCHEMA.extend({
  implicit: [new Type('tag:yaml.org,2002:merge', { kind: 'scalar', resolve: (data) => data === '<<' })],
});

/** One level more than allowed, so that the walk over the result says so for YAML as for JSON. */
const LOAD_OPTIONS: LoadOptions & { readonly maxDepth: number } = { schema: SCHEMA, maxDepth: MAX_DEPTH + 2 };

export type Loaded =
  { readonly ok: true; readonly value: unknown } | { readonly ok: false; readonly problem: ManifestProblem };

/** Parses one document. Fast, without positions: 0.1 ms for a usual object. */
export function loadYaml(document: DocumentText, file: string): Loaded {
  try {
    return { ok: true, value: load(document.text, { ...LOAD_OPTIONS, filename: file }) };
  } catch (error) {
    return { ok: false, problem: yamlProblem(error, document) };
  }
}

function yamlProblem(error: unknown, document: DocumentText): ManifestProblem {
  if (error instanceof RangeError)
    return { line: document.firstLine, message: `nests deeper than ${MAX_DEPTH} levels` };
  if (!(error instanceof YAMLException)) return { line: document.firstLine, message: 'is not YAML' };
  const mark = error.mark as typeof error.mark | undefined;
  return { line: document.firstLine + (mark?.line ?? 0), message: safeReason(error.reason) };
}

/** The parser's reasons quote the text in some cases, which may be a password that begins with `*` or `!`. */
function safeReason(reason: string): string {
  if (reason.startsWith('unidentified alias')) return 'an alias without an anchor: quote a value that begins with *';
  if (/\btag\b|suffix/.test(reason)) return 'an unknown or malformed tag: quote a value that begins with !';
  if (reason.startsWith('nesting exceeded')) return `nests deeper than ${MAX_DEPTH} levels`;
  if (reason.startsWith('duplicated mapping key')) return 'the same key twice in one mapping';
  return reason;
}

/**
 * The value of a JSON text, 20 x as fast as through the YAML parser; undefined when it is no JSON, nests too deeply or
 * has a key twice: then the YAML parser, which reads JSON too, finds what is wrong and where.
 */
export function loadJson(text: string): { readonly value: unknown } | undefined {
  if (!/^\s*\{/.test(text) || !isPlainJson(text)) return undefined;
  try {
    return { value: JSON.parse(text) as unknown };
  } catch {
    return undefined;
  }
}

/** Before parsing: at most 64 levels, and no key twice in an object. Says nothing of a text that is no JSON. */
function isPlainJson(text: string): boolean {
  /** Keys met in each open object; undefined for an open array. */
  const open: (Set<string> | undefined)[] = [];
  let atKey = false;
  for (let i = 0; i < text.length; i++) {
    const code = text.charCodeAt(i);
    if (code === 34) {
      const end = endOfString(text, i);
      if (atKey && !addKey(open.at(-1), text.slice(i, end))) return false;
      atKey = false;
      i = end - 1;
    } else if (code === 123 || code === 91) {
      if (open.push(code === 123 ? new Set() : undefined) > MAX_DEPTH) return false;
      atKey = code === 123;
    } else if (code === 125 || code === 93) {
      open.pop();
      atKey = false;
    } else if (code === 44) atKey = open.at(-1) !== undefined;
  }
  return true;
}

/** Index after the closing quote of the string that opens at `start`. */
function endOfString(text: string, start: number): number {
  let at = start + 1;
  while (at < text.length && text.charCodeAt(at) !== 34) at += text.charCodeAt(at) === 92 ? 2 : 1;
  return at + 1;
}

/** False when the key was there already, or is no JSON string. */
function addKey(keys: Set<string> | undefined, quoted: string): boolean {
  if (keys === undefined) return false;
  const before = keys.size;
  try {
    keys.add(quoted.includes('\\') ? (JSON.parse(quoted) as string) : quoted.slice(1, -1));
  } catch {
    return false;
  }
  return keys.size > before;
}
