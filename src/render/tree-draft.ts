import { type ChunkTree, treeOf, withChunk, withoutChunk } from './chunk-tree.js';

interface Written {
  readonly text: string;
  readonly owner: string;
}

/** Chunks that a session writes: they wait until the tree is looked at, and a tree that had none before is built at once. */
export class TreeDraft {
  #tree: ChunkTree;
  readonly #waiting = new Map<string, Written | undefined>();

  constructor(base: ChunkTree) {
    this.#tree = base;
  }

  /** Replaces the chunk of this key, or removes it. */
  set(key: string, chunk: Written | undefined): void {
    this.#waiting.set(key, chunk);
  }

  get tree(): ChunkTree {
    if (this.#waiting.size === 0) return this.#tree;
    if (this.#tree === undefined) this.#tree = this.#builtTree();
    else for (const [key, chunk] of this.#waiting) this.#tree = written(this.#tree, key, chunk);
    this.#waiting.clear();
    return this.#tree;
  }

  #builtTree(): ChunkTree {
    const chunks = [...this.#waiting].flatMap(([key, chunk]) =>
      chunk === undefined ? [] : [{ key, text: chunk.text, owner: chunk.owner }],
    );
    return treeOf(chunks.sort((a, b) => (a.key < b.key ? -1 : 1)));
  }
}

function written(tree: ChunkTree, key: string, chunk: Written | undefined): ChunkTree {
  return chunk === undefined ? withoutChunk(tree, key) : withChunk(tree, { key, text: chunk.text, owner: chunk.owner });
}
