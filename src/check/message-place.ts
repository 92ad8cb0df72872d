import type { CheckLines, Section } from './check-lines.js';

/** Where a message says the fault is. */
export interface Place {
  readonly file: string;
  /** From 1. */
  readonly line: number;
}

export interface PlacedMessage {
  /** The most precise place: the map's line rather than the line of haproxy.cfg that loads the map. */
  readonly place: Place | undefined;
  /** The less precise one, if there are two. */
  readonly loadedAt: Place | undefined;
  /** The message without either. */
  readonly text: string;
  /** It is about a file that is none of ours, so its words may come from anywhere. */
  readonly foreign: boolean;
}

/** `parsing [haproxy.cfg:12] : `, `[haproxy.cfg:8] : `: at the beginning it is HAProxy's own word. */
const LEADING = /^(?:parsing\s+)?\[([^[\]]{1,512}):(\d{1,9})\]\s*:?\s*/i;

/**
 * `... at line 3 of file 'maps/paths.map'.`, without the full stops behind it: an expression that takes them in as well
 * needs the square of the message's length.
 */
const TRAILING = /\s*\b(?:at )?line (\d{1,9}) of file ['"<]?([^'"<>]{1,512}?)['">]?$/;

/** `'bind :8443' in section 'frontend' : 'crt-list' : parsing [certs.list:3]: ...` */
const CRT_LIST = /'crt-list'\s*:\s*parsing\s+\[([^[\]]{1,512}):(\d{1,9})\]\s*:?\s*/i;

/** `Proxy 'web': no SSL certificate specified for bind ':443' at [haproxy.cfg:71] (use 'crt').` */
const INSIDE = /\bat \[([^[\]]{1,512}):(\d{1,9})\]/;

/** Messages that come after the parsing name a section instead of a line: `Proxy 'web': unable to find ...`. */
const SECTION_NAME =
  /\b(?:proxy|frontend|backend|listen|userlist|peers|resolvers|mailers|cache|ring|program)\s*:?\s+['"]([^'"]{1,512})['"]/i;

export function placeMessage(text: string, lines: CheckLines): PlacedMessage {
  const leading = LEADING.exec(text);
  if (leading === null) return { place: placeInside(text, lines), loadedAt: undefined, text, foreign: false };
  const rest = text.slice(leading[0].length);
  const place = placeOf(leading[1], leading[2], lines);
  if (place === undefined) return { place, loadedAt: undefined, text: rest, foreign: true };
  return refine(place, rest, lines);
}

function refine(place: Place, text: string, lines: CheckLines): PlacedMessage {
  const said = withoutEnd(text);
  const trailing = TRAILING.exec(said);
  const inner = trailing === null ? CRT_LIST.exec(text) : trailing;
  if (inner === null || isQuotation(inner[0], place, lines))
    return { place, loadedAt: undefined, text, foreign: false };
  const [file, line] = trailing === null ? [inner[1], inner[2]] : [inner[2], inner[1]];
  const precise = placeOf(file, line, lines);
  // A file that is not ours stays in the text: its name can only be shown where it stands in our line anyway.
  if (precise === undefined) return { place, loadedAt: undefined, text, foreign: true };
  return { place: precise, loadedAt: place, text: without(trailing === null ? text : said, inner), foreign: false };
}

function withoutEnd(text: string): string {
  let end = text.length;
  while (end > 0 && ' .'.includes(text.charAt(end - 1))) end -= 1;
  return text.slice(0, end);
}

/** A value that imitates HAProxy's wording must not move the blame to somebody else's line: HAProxy's words stand in no line of ours. */
function isQuotation(phrase: string, place: Place, lines: CheckLines): boolean {
  const line = lines.line(place.file, place.line);
  return line !== undefined && bare(line).includes(bare(phrase));
}

function bare(text: string): string {
  return text.replace(/[\s'"\\.]+/g, '');
}

function without(text: string, found: RegExpExecArray): string {
  return text.slice(0, found.index) + text.slice(found.index + found[0].length);
}

function placeOf(path: string | undefined, line: string | undefined, lines: CheckLines): Place | undefined {
  const file = lines.named(path ?? '');
  return file === undefined || Number(line) < 1 ? undefined : { file, line: Number(line) };
}

/**
 * The line named in the middle of a message, if it lies in the section that the message begins with (a value may
 * imitate the one, and then stands behind the other); or else the line of that section that holds the last name of the
 * message; or else the section's first line.
 */
function placeInside(text: string, lines: CheckLines): Place | undefined {
  const inside = INSIDE.exec(text);
  const place = placeOf(inside?.[1], inside?.[2], lines);
  const name = SECTION_NAME.exec(text)?.[1];
  const found = name === undefined ? undefined : sectionNamed(name, lines);
  if (found === undefined) return place;
  const { file, section } = found;
  const fits = place?.file === file && section.first <= place.line && place.line < section.end;
  return fits ? place : { file, line: lineInSection(text, file, section, lines) };
}

function sectionNamed(
  name: string,
  lines: CheckLines,
): { readonly file: string; readonly section: Section } | undefined {
  for (const file of lines.configurations()) {
    const section = lines.section(file, name);
    if (section !== undefined) return { file, section };
  }
  return undefined;
}

function lineInSection(text: string, file: string, section: Section, lines: CheckLines): number {
  const last = /['"]([^'"]+)['"][^'"]*$/.exec(text)?.[1];
  for (let line = section.first + 1; line < section.end; line += 1) {
    if (last !== undefined && (lines.line(file, line) ?? '').split(/\s+/).includes(last)) return line;
  }
  return section.first;
}
