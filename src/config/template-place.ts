import type { Scalar } from 'yaml';

/** Part of a template's text that stands in the file as it is. */
interface Piece {
  readonly textAt: number;
  readonly fileAt: number;
  readonly length: number;
}

/**
 * Offset in the file of a place (line and column from 1) of an inline template. Exact for block scalars, folded ones too,
 * and for scalars that stand on one line without escapes; else the scalar's beginning.
 */
export function offsetInFile(scalar: Scalar, file: string, line: number, column: number): number {
  const [start = 0, end = start] = scalar.range ?? [];
  const text = String(scalar.value);
  const isBlock = scalar.type === 'BLOCK_LITERAL' || scalar.type === 'BLOCK_FOLDED';
  const raw = file.slice(start, end);
  const pieces = isBlock ? blockPieces(raw, start, text) : plainPieces(raw, start, text);
  const at = offsetOfLine(text, line) + column - 1;
  const piece = pieces.findLast(({ textAt }) => textAt <= at);
  return piece === undefined ? (pieces[0]?.fileAt ?? start) : piece.fileAt + Math.min(at - piece.textAt, piece.length);
}

function plainPieces(raw: string, start: number, text: string): readonly Piece[] {
  const at = raw.indexOf(text);
  return at === -1 || text.includes('\n') ? [] : [{ textAt: 0, fileAt: start + at, length: text.length }];
}

/** Each line below the mark stands in the text without its indentation; between them are blanks and newlines only. */
function blockPieces(raw: string, start: number, text: string): readonly Piece[] {
  const pieces: Piece[] = [];
  let textAt = 0;
  let fileAt = start;
  raw.split('\n').forEach((line, number) => {
    const content = line.replace(/\r$/, '');
    const found = number === 0 || content.trim() === '' ? undefined : findLine(text, textAt, content);
    if (found !== undefined) {
      const length = content.length - found.indent;
      pieces.push({ textAt: found.at, fileAt: fileAt + found.indent, length });
      textAt = found.at + length;
    }
    fileAt += line.length + 1;
  });
  return pieces;
}

function findLine(text: string, from: number, line: string): { at: number; indent: number } | undefined {
  const blanks = line.search(/[^ ]/);
  for (let at = from; at < text.length; at++) {
    for (let indent = 0; indent <= blanks; indent++) {
      if (text.startsWith(line.slice(indent), at)) return { at, indent };
    }
    if (!/\s/.test(text[at] ?? '')) return undefined;
  }
  return undefined;
}

function offsetOfLine(text: string, line: number): number {
  let offset = 0;
  for (let left = line - 1; left > 0; left--) {
    const next = text.indexOf('\n', offset);
    if (next === -1) break;
    offset = next + 1;
  }
  return offset;
}
