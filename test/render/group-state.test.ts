import { describe, expect, it } from '@jest/globals';

import { type ChunkTree, collectText } from '../../src/render/chunk-tree.js';
import { Contribution } from '../../src/render/contribution.js';
import { EMPTY_GROUP, GroupDraft, type GroupState } from '../../src/render/group-state.js';
import type { InstanceResult } from '../../src/render/instance-result.js';

const NOTHING: InstanceResult = { text: '', uniques: [], publications: [], events: [] };

function entry(owner: string, key: string, value: string, rank = '', call = 0): Contribution {
  return new Contribution(owner, call, 'c', key, rank, value);
}

function textOf(tree: ChunkTree): string {
  const texts: string[] = [];
  collectText(tree, texts);
  return texts.join('');
}

function install(
  base: GroupState,
  owner: string,
  before: Partial<InstanceResult>,
  after: Partial<InstanceResult>,
): GroupState {
  const draft = new GroupDraft(base);
  draft.install(owner, { ...NOTHING, ...before }, { ...NOTHING, ...after });
  return draft.toState();
}

describe('a group', () => {
  it('keeps the texts of its instances in the order of their owners, and drops one that writes nothing any more', () => {
    const two = install(install(EMPTY_GROUP, 'b', {}, { text: 'b\n' }), 'a', {}, { text: 'a\n' });
    expect(textOf(two.texts)).toBe('a\nb\n');
    expect(textOf(install(two, 'a', { text: 'a\n' }, {}).texts)).toBe('b\n');
  });

  it('writes the first owner of a unique key, and the next one when that has gone', () => {
    const uniques = (owner: string): Partial<InstanceResult> => ({ uniques: [entry(owner, 'k', `of ${owner}\n`)] });
    const one = install(EMPTY_GROUP, 'b', {}, uniques('b'));
    const two = install(one, 'a', {}, uniques('a'));
    expect(textOf(two.uniqueTexts)).toBe('of a\n');
    expect(textOf(install(two, 'a', uniques('a'), {}).uniqueTexts)).toBe('of b\n');
    expect(textOf(install(one, 'b', uniques('b'), {}).uniqueTexts)).toBe('');
  });

  it('orders unique lines by cell, then key', () => {
    const lines = ['d 1', 'c 2', 'c 10'].map((line, call) => {
      const [cell = '', key = ''] = line.split(' ');
      return new Contribution('a', call, cell, key, '', `${line}\n`);
    });
    const state = install(EMPTY_GROUP, 'a', {}, { uniques: lines });
    expect(textOf(state.uniqueTexts)).toBe('c 10\nc 2\nd 1\n');
  });

  it('tells which publications have another winner', () => {
    const draft = new GroupDraft(EMPTY_GROUP);
    const first = { ...NOTHING, publications: [entry('b', 'k', '1'), entry('b', 'l', '2', '', 1)] };
    expect(draft.install('b', NOTHING, first).map(({ key }) => key)).toEqual(['k', 'l']);
    const rival = { ...NOTHING, publications: [entry('c', 'k', '3'), entry('c', 'l', '4', 'z', 1)] };
    expect(draft.install('c', NOTHING, rival)).toEqual([
      {
        cell: 'c',
        key: 'l',
        before: first.publications[1],
        after: rival.publications[1],
      },
    ]);
    expect(draft.install('b', first, NOTHING).map(({ key, after }) => [key, after?.owner])).toEqual([['k', 'c']]);
  });

  it('is left as it was by a draft, whatever the draft does', () => {
    const result = { text: 'a\n', uniques: [], publications: [entry('a', 'k', '1')] };
    const base = install(EMPTY_GROUP, 'a', {}, result);
    const draft = new GroupDraft(base);
    draft.install('a', { ...NOTHING, ...result }, NOTHING);
    draft.install('b', NOTHING, { ...NOTHING, publications: [entry('b', 'q', '2')] });
    expect(textOf(base.texts)).toBe('a\n');
    expect(base.publications.entries.toArray()).toHaveLength(1);
    expect([...base.publications.counts]).toEqual([['c', 1]]);
  });

  it('shares what a draft did not touch', () => {
    const base = install(EMPTY_GROUP, 'a', {}, { publications: [entry('a', 'k', '1')] });
    const state = install(base, 'b', {}, { text: 'b\n' });
    expect(state.publications).toBe(base.publications);
  });
});
