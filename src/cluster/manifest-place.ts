import { isAlias, isMap, isNode, isScalar, isSeq, LineCounter, parseDocument, type Document, type Node } from 'yaml';
import type { DocumentText } from './manifest-text.js';

/** Keys and indexes from the document down to a field. */
export type FieldPath = readonly (string | number)[];

/** This parser takes 0.8 ms for 1.7 kB (120 ms for this much); above it a problem is placed at its document's beginning. */
const MAX_PLACED_CHARACTERS = 256 * 1024;

/**
 * Answers on which line, counted from 1, a field stands, or else the nearest one above it that exists. The document is
 * parsed for positions at the first question, and once.
 */
export function lineFinder(document: DocumentText): (path: FieldPath) => number {
  const beginning = document.firstLine + firstContentLine(document.text) - 1;
  let positions: Positions | undefined;
  return (path) => {
    if (path.length === 0 || document.text.length > MAX_PLACED_CHARACTERS) return beginning;
    positions ??= readPositions(document.text);
    const offset = positions.document === undefined ? undefined : offsetOf(positions.document, path);
    return offset === undefined ? beginning : document.firstLine + positions.lines.linePos(offset).line - 1;
  };
}

interface Positions {
  readonly lines: LineCounter;
  readonly document: Document | undefined;
}

function readPositions(text: string): Positions {
  const lines = new LineCounter();
  const options = { lineCounter: lines, prettyErrors: false, uniqueKeys: false, logLevel: 'silent' } as const;
  try {
    return { lines, document: parseDocument(text, options) };
  } catch {
    // A text this parser cannot hold (too deep, say) still has a beginning.
    return { lines, document: undefined };
  }
}

function offsetOf(document: Document, path: FieldPath): number | undefined {
  let node: Node | null | undefined = document.contents;
  let offset: number | undefined;
  for (const step of path) {
    const found: Found | undefined = child(isAlias(node) ? node.resolve(document) : node, step);
    if (found === undefined) break;
    offset = found.offset ?? offset;
    node = found.node;
  }
  return offset;
}

interface Found {
  readonly offset: number | undefined;
  readonly node: Node | undefined;
}

function child(node: Node | null | undefined, step: string | number): Found | undefined {
  if (isSeq(node)) return nodeFound(node.items[Number(step)]);
  if (!isMap(node)) return undefined;
  const pair = node.items.find(({ key }) => (isScalar(key) ? String(key.value) : undefined) === step);
  if (pair === undefined) return undefined;
  return { offset: nodeFound(pair.key)?.offset, node: isNode(pair.value) ? pair.value : undefined };
}

function nodeFound(node: unknown): Found | undefined {
  return isNode(node) ? { offset: node.range?.[0], node } : undefined;
}

/** The first line that is neither blank, nor a comment, nor a bare document mark; 1 when there is none. */
function firstContentLine(text: string): number {
  let line = 1;
  for (let start = 0; start < text.length; line++) {
    const end = text.indexOf('\n', start);
    const content = text.slice(start, Math.min(end === -1 ? text.length : end, start + 200)).trim();
    if (content !== '' && content !== '---' && !content.startsWith('#') && !content.startsWith('%')) return line;
    if (end === -1) break;
    start = end + 1;
  }
  return 1;
}
