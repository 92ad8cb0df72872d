import { Lexer, LineCounter, parseAllDocuments, type Document, type YAMLParseError } from 'yaml';

/** Characters: an object ends at 1.5 MiB in etcd, and the parser takes 4 s for the worst MiB known. */
const MAX_CHARACTERS = 1024 * 1024;

/** Of brackets in brackets, and of anything once read: above what a RenderConfig may have, far below what ends a stack. */
export const MAX_YAML_DEPTH = 100;

/** The first errors tell; what follows mostly comes from them. */
const MAX_SYNTAX_ERRORS = 10;

export interface SyntaxMistake {
  readonly offset: number;
  readonly message: string;
}

export type YamlText =
  | { readonly kind: 'document'; readonly document: Document; readonly lines: LineCounter }
  | { readonly kind: 'broken'; readonly mistakes: readonly SyntaxMistake[]; readonly lines: LineCounter };

/** Parses the one document of a text; empty ones beside it are passed over. Keys that stand twice are left to the reader. */
export function parseYamlText(text: string): YamlText {
  const lines = linesOf(text);
  const broken = (...mistakes: readonly SyntaxMistake[]): YamlText => ({ kind: 'broken', mistakes, lines });
  if (text.length > MAX_CHARACTERS)
    return broken({ offset: 0, message: `is larger than ${MAX_CHARACTERS} characters` });
  const deep = findDeepNesting(text);
  if (deep !== undefined) return broken({ offset: deep, message: `nests deeper than ${MAX_YAML_DEPTH} levels` });
  const parsed = parseAllDocuments(text, { uniqueKeys: false, prettyErrors: false });
  // An empty stream is an array too, of no document.
  const documents: readonly Document.Parsed[] = 'empty' in parsed ? [] : parsed;
  const errors = documents.flatMap((document) => document.errors);
  if (errors.length > 0) return broken(...oneEachLine(errors, lines));
  const [document, second] = documents.filter(
    ({ contents }) => contents !== null && contents.range[0] < contents.range[1],
  );
  if (document === undefined)
    return broken({ offset: 0, message: 'the file is empty; a RenderConfig document is expected' });
  if (second === undefined) return { kind: 'document', document, lines };
  return broken({ offset: second.range[0], message: 'a second document; a RenderConfig stands alone in its file' });
}

/** Counted here, since the parser passes over some line breaks where the text is no YAML. */
function linesOf(text: string): LineCounter {
  const lines = new LineCounter();
  for (let at = 0; at !== -1; at = text.indexOf('\n', at) + 1 || -1) lines.addNewLine(at);
  return lines;
}

/**
 * Offset of what nests too deeply, found without any recursion: the parser takes 20 s for a MiB of `[`, and `- - - ...`
 * ends the process. Block levels need a longer indentation each, so lines alone can't nest far.
 */
function findDeepNesting(text: string): number | undefined {
  let offset = 0;
  let flow = 0;
  let inLine = 0;
  for (const token of new Lexer().lex(text)) {
    if (token === '[' || token === '{') flow++;
    else if (token === ']' || token === '}') flow = Math.max(0, flow - 1);
    else if (token === '-' || token === '?' || token === ':') inLine++;
    else if (token.startsWith('\n') || token.startsWith('\r')) inLine = 0;
    if (flow > MAX_YAML_DEPTH || (flow === 0 && inLine > MAX_YAML_DEPTH)) return offset;
    if (!MARKS.has(token)) offset += token.length;
  }
  return undefined;
}

/** Tokens of the lexer that are not in the text: begin of a document, end of a flow collection, begin of a scalar. */
const MARKS: ReadonlySet<string> = new Set(['\x02', '\x18', '\x1f']);

function oneEachLine(errors: readonly YAMLParseError[], lines: LineCounter): readonly SyntaxMistake[] {
  const byLine = new Map<number, SyntaxMistake>();
  for (const { code, message, pos } of errors) {
    const { line } = lines.linePos(pos[0]);
    if (!byLine.has(line)) byLine.set(line, { offset: pos[0], message: `is no valid YAML: ${HINTS[code] ?? message}` });
  }
  return [...byLine.values()].slice(0, MAX_SYNTAX_ERRORS);
}

/** Where the parser's own words say what its grammar calls it, and not what to do. */
const HINTS: { readonly [Code in YAMLParseError['code']]?: string } = {
  BLOCK_AS_IMPLICIT_KEY: 'a second ": " in the line; put a value that holds one in quotes',
  TAB_AS_INDENT: 'a tab at the beginning of the line; indent with blanks',
  MULTILINE_IMPLICIT_KEY: 'a name without ":" behind it, or a value that is not indented below its name',
  RESOURCE_EXHAUSTION: 'it nests too deeply',
};
