import { hash } from 'node:crypto';
import type { OutputSpec } from '../config/render-config.js';
import { chunkAtLine, type ChunkTree, collectText, treeDigest } from './chunk-tree.js';

/** A stretch of an output: text of its own template, with its SHA-256, or a mounted group. */
export type OutputPiece = TextPiece | { readonly kind: 'group'; readonly tree: ChunkTree };

export interface TextPiece {
  readonly kind: 'text';
  readonly text: string;
  readonly digest: string;
}

export function textPiece(text: string): TextPiece {
  return { kind: 'text', text, digest: hash('sha256', text) };
}

/** One rendered output, kept as chunks until somebody needs it flat (DESIGN 7). */
export type OutputTree =
  | { readonly kind: 'file'; readonly spec: OutputSpec; readonly pieces: readonly OutputPiece[] }
  /** Each chunk is a file: its key the name, its text the content. */
  | { readonly kind: 'directory'; readonly spec: OutputSpec; readonly files: ChunkTree };

export type Outputs = ReadonlyMap<string, OutputTree>;

export interface FlatFile {
  readonly name: string;
  readonly text: string;
  readonly sensitive: boolean;
}

/** Whether two outputs are known equal by the identity of their parts, without reading text that did not change. */
export function sameOutputs(left: Outputs, right: Outputs): boolean {
  return left.size === right.size && [...left].every(([name, tree]) => sameTree(tree, right.get(name)));
}

function sameTree(left: OutputTree, right: OutputTree | undefined): boolean {
  if (left.kind === 'directory') return right?.kind === 'directory' && left.files === right.files;
  return (
    right?.kind === 'file' &&
    left.pieces.length === right.pieces.length &&
    left.pieces.every((piece, at) => samePiece(piece, right.pieces[at]))
  );
}

function samePiece(left: OutputPiece, right: OutputPiece | undefined): boolean {
  if (left.kind === 'text') return right?.kind === 'text' && left.digest === right.digest;
  return right?.kind === 'group' && left.tree === right.tree;
}

/** SHA-256 over names and contents of all files: the part of a verdict's key that says what was checked. */
export function outputsDigest(outputs: Outputs): string {
  const parts = [...outputs].map(([name, tree]) => {
    if (tree.kind === 'directory') return `${name} ${treeDigest(tree.files)}`;
    return `${name} ${tree.pieces.map(pieceDigest).join(' ')}`;
  });
  return hash('sha256', JSON.stringify(parts));
}

function pieceDigest(piece: OutputPiece): string {
  return piece.kind === 'group' ? treeDigest(piece.tree) : piece.digest;
}

function eachChunk(tree: ChunkTree, see: (node: NonNullable<ChunkTree>) => void): void {
  if (tree === undefined) return;
  eachChunk(tree.left, see);
  see(tree);
  eachChunk(tree.right, see);
}

/** All files, flat, in the order of the configuration. */
export function flatFiles(outputs: Outputs): readonly FlatFile[] {
  return [...outputs.values()].flatMap((tree) => {
    const { name, sensitive } = tree.spec;
    if (tree.kind === 'file') return [{ name, text: flatText(tree.pieces), sensitive }];
    const files: FlatFile[] = [];
    eachChunk(tree.files, (node) => files.push({ name: name + node.key, text: node.text, sensitive }));
    return files;
  });
}

function flatText(pieces: readonly OutputPiece[]): string {
  const texts: string[] = [];
  for (const piece of pieces) {
    if (piece.kind === 'text') texts.push(piece.text);
    else collectText(piece.tree, texts);
  }
  return texts.join('');
}

/** Who wrote a line: an instance (with the line's number inside its chunk, from 0), or the output's own template. */
export type LineOwner =
  | { readonly kind: 'instance'; readonly owner: string; readonly line: number; readonly text: string }
  /** `line` counts from 0 over the template's own text only, mounted groups left out. */
  | { readonly kind: 'template'; readonly line: number };

/** Finds the writer of line `line` (from 1) of a file output, in O(log n). */
export function lineOwner(tree: OutputTree, line: number): LineOwner | undefined {
  if (tree.kind === 'directory') return undefined;
  let rest = line - 1;
  let own = 0;
  for (const piece of tree.pieces) {
    const lines = piece.kind === 'text' ? piece.text.split('\n').length - 1 : (piece.tree?.lines ?? 0);
    if (rest < lines || (piece.kind === 'text' && piece === tree.pieces.at(-1))) {
      if (piece.kind === 'text') return { kind: 'template', line: own + rest };
      const found = chunkAtLine(piece.tree, rest);
      if (found === undefined) return undefined;
      return {
        kind: 'instance',
        owner: found.chunk.owner,
        line: found.line,
        text: found.chunk.text.split('\n')[found.line] ?? '',
      };
    }
    rest -= lines;
    if (piece.kind === 'text') own += lines;
  }
  return undefined;
}

/** The instance that wrote a file of a directory output. */
export function fileOwner(outputs: Outputs, file: string): string | undefined {
  for (const tree of outputs.values()) {
    if (tree.kind !== 'directory' || !file.startsWith(tree.spec.name)) continue;
    const name = file.slice(tree.spec.name.length);
    let node = tree.files;
    while (node !== undefined && node.key !== name) node = name < node.key ? node.left : node.right;
    if (node !== undefined) return node.owner;
  }
  return undefined;
}
