import { hash } from 'node:crypto';

/** Subtrees of so many chunks are hashed as one: calling the hash costs more than a few hundred bytes for it. */
const HASHED_TOGETHER = 8;

/**
 * A persistent ordered tree of text chunks (DESIGN 7): AVL by key, each node with the totals of its subtree. Replacing one
 * chunk copies the path to it and shares the rest, so an unchanged output is known by the identity of its root and a line
 * is found without touching the text of others. Our own because only here subtrees carry totals (DESIGN 11).
 */
export class ChunkNode {
  readonly height: number;
  /** Characters in the subtree. */
  readonly length: number;
  /** Line breaks in the subtree; every chunk ends with one. */
  readonly lines: number;
  readonly size: number;
  #digest: string | undefined;
  #text: string | undefined;

  constructor(
    readonly key: string,
    readonly text: string,
    /** Instance that wrote it. */
    readonly owner: string,
    readonly ownLines: number,
    readonly left: ChunkTree,
    readonly right: ChunkTree,
  ) {
    this.height = Math.max(left?.height ?? 0, right?.height ?? 0) + 1;
    this.length = text.length + (left?.length ?? 0) + (right?.length ?? 0);
    this.lines = ownLines + (left?.lines ?? 0) + (right?.lines ?? 0);
    this.size = 1 + (left?.size ?? 0) + (right?.size ?? 0);
  }

  /** SHA-256 over keys and texts of the subtree, lengths first; large subtrees of it stand in there by their own digests. */
  get digest(): string {
    return (this.#digest ??= hash('sha256', this.#digestSource()));
  }

  #digestSource(): string {
    const { key, text } = this;
    return `${digestPart(this.left)} ${key.length} ${text.length} ${key}${text} ${digestPart(this.right)}`;
  }

  /** What stands for this subtree in the source of its parent's digest. */
  get digestPart(): string {
    return this.size > HASHED_TOGETHER ? this.digest : `(${this.#digestSource()})`;
  }

  /** Text of the whole subtree; it is kept. */
  get flatText(): string {
    return (this.#text ??= joined(this));
  }
}

export type ChunkTree = ChunkNode | undefined;

export interface Chunk {
  readonly key: string;
  readonly text: string;
  readonly owner: string;
}

export function withChunk(tree: ChunkTree, chunk: Chunk): ChunkNode {
  if (tree === undefined) return node(chunk, countLines(chunk.text), undefined, undefined);
  if (chunk.key === tree.key) {
    if (chunk.text === tree.text && chunk.owner === tree.owner) return tree;
    return node(chunk, countLines(chunk.text), tree.left, tree.right);
  }
  if (chunk.key < tree.key) {
    const left = withChunk(tree.left, chunk);
    return left === tree.left ? tree : balanced(tree, tree.ownLines, left, tree.right);
  }
  const right = withChunk(tree.right, chunk);
  return right === tree.right ? tree : balanced(tree, tree.ownLines, tree.left, right);
}

/** A tree of these chunks, which are in the order of their keys: each node is made once, and none is moved. */
export function treeOf(chunks: readonly Chunk[], from = 0, to = chunks.length): ChunkTree {
  const middle = (from + to) >> 1;
  const chunk = chunks[middle];
  if (from >= to || chunk === undefined) return undefined;
  return node(chunk, countLines(chunk.text), treeOf(chunks, from, middle), treeOf(chunks, middle + 1, to));
}

export function withoutChunk(tree: ChunkTree, key: string): ChunkTree {
  if (tree === undefined) return undefined;
  if (key < tree.key) {
    const left = withoutChunk(tree.left, key);
    return left === tree.left ? tree : balanced(tree, tree.ownLines, left, tree.right);
  }
  if (key > tree.key) {
    const right = withoutChunk(tree.right, key);
    return right === tree.right ? tree : balanced(tree, tree.ownLines, tree.left, right);
  }
  if (tree.left === undefined) return tree.right;
  if (tree.right === undefined) return tree.left;
  const next = leftmost(tree.right);
  return balanced(next, next.ownLines, tree.left, withoutChunk(tree.right, next.key));
}

function leftmost(tree: ChunkNode): ChunkNode {
  let found = tree;
  while (found.left !== undefined) found = found.left;
  return found;
}

function node(chunk: Chunk, ownLines: number, left: ChunkTree, right: ChunkTree): ChunkNode {
  return new ChunkNode(chunk.key, chunk.text, chunk.owner, ownLines, left, right);
}

function balanced(chunk: Chunk, ownLines: number, left: ChunkTree, right: ChunkTree): ChunkNode {
  const tilt = (left?.height ?? 0) - (right?.height ?? 0);
  if (tilt > 1 && left !== undefined) {
    if ((left.left?.height ?? 0) >= (left.right?.height ?? 0)) {
      return node(left, left.ownLines, left.left, node(chunk, ownLines, left.right, right));
    }
    const middle = left.right as ChunkNode;
    const outer = node(left, left.ownLines, left.left, middle.left);
    return node(middle, middle.ownLines, outer, node(chunk, ownLines, middle.right, right));
  }
  if (tilt < -1 && right !== undefined) {
    if ((right.right?.height ?? 0) >= (right.left?.height ?? 0)) {
      return node(right, right.ownLines, node(chunk, ownLines, left, right.left), right.right);
    }
    const middle = right.left as ChunkNode;
    const outer = node(right, right.ownLines, middle.right, right.right);
    return node(middle, middle.ownLines, node(chunk, ownLines, left, middle.left), outer);
  }
  return node(chunk, ownLines, left, right);
}

function countLines(text: string): number {
  let lines = 0;
  for (let at = text.indexOf('\n'); at !== -1; at = text.indexOf('\n', at + 1)) lines++;
  return lines;
}

/**
 * Largest subtree whose flat text is kept. The text of each chunk is held once more for it, and after one change flat
 * text is made of one new block and some hundred old ones instead of thousands of chunks.
 */
const BLOCK_SIZE = 64;

/** Appends the texts in key order, in pieces of any size. */
export function collectText(tree: ChunkTree, into: string[]): void {
  if (tree === undefined) return;
  if (tree.size <= BLOCK_SIZE) {
    into.push(tree.flatText);
    return;
  }
  collectText(tree.left, into);
  into.push(tree.text);
  collectText(tree.right, into);
}

function joined(tree: ChunkNode): string {
  const texts: string[] = [];
  collectEach(tree, texts);
  return texts.join('');
}

function collectEach(tree: ChunkTree, into: string[]): void {
  if (tree === undefined) return;
  collectEach(tree.left, into);
  into.push(tree.text);
  collectEach(tree.right, into);
}

/** The chunk that holds line `line` (from 0) of the tree's text, and the number of that line inside it (from 0). */
export function chunkAtLine(
  tree: ChunkTree,
  line: number,
): { readonly chunk: ChunkNode; readonly line: number } | undefined {
  let current = tree;
  let rest = line;
  while (current !== undefined) {
    const before = current.left?.lines ?? 0;
    if (rest < before) current = current.left;
    else if (rest < before + current.ownLines) return { chunk: current, line: rest - before };
    else {
      rest -= before + current.ownLines;
      current = current.right;
    }
  }
  return undefined;
}

/** Lines before the chunk of this key, and its own; undefined when there is none. */
export function linesBefore(
  tree: ChunkTree,
  key: string,
): { readonly before: number; readonly own: number } | undefined {
  let current = tree;
  let before = 0;
  while (current !== undefined) {
    const left = current.left?.lines ?? 0;
    if (key === current.key) return { before: before + left, own: current.ownLines };
    if (key > current.key) before += left + current.ownLines;
    current = key < current.key ? current.left : current.right;
  }
  return undefined;
}

/**
 * Equal digests mean equal keys and text; the same in a tree of another shape has another digest, which costs a repeated
 * check and never a wrong one.
 */
function digestPart(tree: ChunkTree): string {
  return tree?.digestPart ?? '-';
}

export function treeDigest(tree: ChunkTree): string {
  return tree?.digest ?? '-';
}
