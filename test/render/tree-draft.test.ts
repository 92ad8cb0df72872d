import { describe, expect, it } from '@jest/globals';
import { type ChunkTree, collectText, withChunk } from '../../src/render/chunk-tree.js';
import { TreeDraft } from '../../src/render/tree-draft.js';

function textOf(tree: ChunkTree): string {
  const texts: string[] = [];
  collectText(tree, texts);
  return texts.join('');
}

const chunk = (text: string): { text: string; owner: string } => ({ text: `${text}\n`, owner: text });

describe('chunks that a session writes', () => {
  it('make the same text and totals whether the tree is built at once or chunk by chunk', () => {
    const names = Array.from({ length: 500 }, (_, at) => `c${(at * 7919) % 500}`);
    const draft = new TreeDraft(undefined);
    let single: ChunkTree;
    for (const name of names) {
      draft.set(name, chunk(name));
      single = withChunk(single, { key: name, ...chunk(name) });
    }
    expect(textOf(draft.tree)).toBe(textOf(single));
    expect([draft.tree?.size, draft.tree?.lines, draft.tree?.length]).toEqual([
      single?.size,
      single?.lines,
      single?.length,
    ]);
  });

  it('leave the tree they began with as it was, and take the last word on a key', () => {
    const base = withChunk(withChunk(undefined, { key: 'a', ...chunk('a') }), { key: 'b', ...chunk('b') });
    const draft = new TreeDraft(base);
    draft.set('b', chunk('changed'));
    draft.set('c', chunk('c'));
    draft.set('b', undefined);
    expect(textOf(draft.tree)).toBe('a\nc\n');
    expect(textOf(base)).toBe('a\nb\n');
  });

  it('that are taken back before anybody looked leave nothing', () => {
    const draft = new TreeDraft(undefined);
    draft.set('a', chunk('a'));
    draft.set('a', undefined);
    expect(draft.tree).toBeUndefined();
  });
});
