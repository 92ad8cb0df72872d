import { describe, expect, it } from '@jest/globals';
import fc from 'fast-check';

import {
  type Chunk,
  chunkAtLine,
  type ChunkTree,
  collectText,
  treeDigest,
  withChunk,
  withoutChunk,
} from '../../src/render/chunk-tree.js';

type Step = Chunk & { readonly do: 'put' | 'remove' | 'pin' };

const steps: fc.Arbitrary<readonly Step[]> = fc.array(
  fc.record({
    do: fc.constantFrom('put', 'put', 'put', 'remove', 'pin'),
    key: fc.integer({ min: 0, max: 60 }).map((number) => `k${number}`),
    text: fc.constantFrom('one\n', 'one\ntwo\n', '\n', 'é\n\nthree\n'),
    owner: fc.constantFrom('x', 'y'),
  }),
  { minLength: 10, maxLength: 250, size: 'max' },
);

type Model = readonly Chunk[];

function put(model: Model, { key, text, owner }: Chunk): Model {
  return [...remove(model, key), { key, text, owner }].sort((a, b) => (a.key < b.key ? -1 : 1));
}

function remove(model: Model, key: string): Model {
  return model.filter((chunk) => chunk.key !== key);
}

function chunksOf(tree: ChunkTree): Model {
  if (tree === undefined) return [];
  const { key, text, owner } = tree;
  return [...chunksOf(tree.left), { key, text, owner }, ...chunksOf(tree.right)];
}

function textOf(tree: ChunkTree): string {
  const texts: string[] = [];
  collectText(tree, texts);
  return texts.join('');
}

/** Every total of every subtree is what it says, and no side is deeper than the other by more than one. */
function expectSound(tree: ChunkTree): void {
  if (tree === undefined) return;
  const text = textOf(tree);
  expect(tree).toMatchObject({
    length: text.length,
    lines: text.split('\n').length - 1,
    size: chunksOf(tree).length,
    height: Math.max(tree.left?.height ?? 0, tree.right?.height ?? 0) + 1,
  });
  expect(Math.abs((tree.left?.height ?? 0) - (tree.right?.height ?? 0))).toBeLessThan(2);
  expectSound(tree.left);
  expectSound(tree.right);
}

function expectSame(tree: ChunkTree, model: Model): void {
  expect(chunksOf(tree)).toEqual(model);
  const owners = model.flatMap((chunk) =>
    chunk.text
      .split('\n')
      .slice(0, -1)
      .map((_, line) => ({ key: chunk.key, line })),
  );
  const found = owners.map((_, line) => {
    const at = chunkAtLine(tree, line);
    return { key: at?.chunk.key, line: at?.line };
  });
  expect(found).toEqual(owners);
  expect(chunkAtLine(tree, owners.length)).toBeUndefined();
}

describe('a chunk tree', () => {
  it('equals a sorted list, finds the chunk of every line and leaves older trees as they were', () => {
    fc.assert(
      fc.property(steps, (history) => {
        let tree: ChunkTree;
        let model: Model = [];
        const pinned: [ChunkTree, Model][] = [];
        for (const step of history) {
          if (step.do === 'put') [tree, model] = [withChunk(tree, step), put(model, step)];
          else if (step.do === 'remove') [tree, model] = [withoutChunk(tree, step.key), remove(model, step.key)];
          else pinned.push([tree, model]);
        }
        expectSound(tree);
        [...pinned.slice(-5), [tree, model] as const].forEach(([held, expected]) => expectSame(held, expected));
      }),
      { numRuns: 60 },
    );
  });

  it('has the same digest only for the same text, and the same root when nothing changes', () => {
    fc.assert(
      fc.property(steps, (history) => {
        let tree: ChunkTree;
        const texts = new Map<string, string>();
        for (const step of history) {
          const next = step.do === 'remove' ? withoutChunk(tree, step.key) : withChunk(tree, step);
          if (JSON.stringify(chunksOf(next)) === JSON.stringify(chunksOf(tree))) expect(next).toBe(tree);
          tree = next;
          const digest = treeDigest(tree);
          expect(texts.get(digest) ?? textOf(tree)).toBe(textOf(tree));
          texts.set(digest, textOf(tree));
        }
      }),
      { numRuns: 40 },
    );
  });

  it('stays shallow when chunks arrive in order', () => {
    let tree: ChunkTree;
    for (let at = 0; at < 4096; at++)
      tree = withChunk(tree, { key: String(at).padStart(4, '0'), text: '\n', owner: '' });
    expect(tree?.height).toBeLessThan(15);
  });
});
