import { describe, expect, it } from '@jest/globals';
import fc from 'fast-check';

import { Contribution } from '../../src/render/contribution.js';
import {
  type ContributionIndex,
  type Contributions,
  contenders,
  contributionsOver,
  emptyIndex,
  type WinnerChange,
} from '../../src/render/contribution-index.js';

const CELLS = ['hosts', 'hosts2', '__proto__'];
const KEYS = ['a', 'a.b', 'b', 'constructor'];
const OWNERS = ['x', 'x-1', 'y'];

interface Written {
  readonly cell: string;
  readonly key: string;
  readonly rank: string;
  readonly value: string;
}

function owned(owner: string, list: readonly Written[]): readonly Contribution[] {
  return list.map(({ cell, key, rank, value }, call) => new Contribution(owner, call, cell, key, rank, value));
}

const contribution: fc.Arbitrary<Written> = fc.record({
  cell: fc.constantFrom(...CELLS),
  key: fc.constantFrom(...KEYS),
  rank: fc.constantFrom('', '', '1', '10', '2'),
  value: fc.constantFrom('one', 'two'),
});

const replacements = fc.array(
  fc.record({
    owner: fc.constantFrom(...OWNERS),
    after: fc.array(contribution, { maxLength: 4 }),
    /** What becomes of the session: it is committed, or dropped with all since the last commit. */
    end: fc.constantFrom('none', 'none', 'commit', 'drop'),
  }),
  { minLength: 4, maxLength: 40, size: 'max' },
);

type Model = ReadonlyMap<string, readonly Contribution[]>;

/** Owners in their order; of equal rank the first call of the first owner wins, and any rank beats none. */
function ranked(model: Model, cell: string, key: string): readonly Contribution[] {
  const all = [...model]
    .sort(([a], [b]) => (a < b ? -1 : 1))
    .flatMap(([, list]) => list)
    .filter((entry) => entry.cell === cell && entry.key === key);
  const ranks = [...new Set(all.map(({ rank }) => rank))].sort();
  return [...ranks.filter((rank) => rank !== ''), ''].flatMap((rank) => all.filter((entry) => entry.rank === rank));
}

function winner(model: Model, cell: string, key: string): Contribution | undefined {
  return ranked(model, cell, key)[0];
}

/** Everything that can be asked, as the index and as the model answer it. */
function expectSame(draft: Contributions, model: Model): void {
  const got: unknown[] = [];
  const expected: unknown[] = [];
  for (const cell of [...CELLS, 'host']) {
    const winners = KEYS.flatMap((key) => winner(model, cell, key) ?? []);
    got.push(
      draft.winners(cell),
      draft.count(cell),
      KEYS.map((key) => draft.winner(cell, key)),
    );
    expected.push(
      winners,
      winners.length,
      KEYS.map((key) => winner(model, cell, key)),
    );
  }
  expect(got).toEqual(expected);
}

/** Each key whose winner is another one now, or has another text. */
function expectChanges(changes: readonly WinnerChange[], before: Model, after: Model): void {
  const expected = CELLS.flatMap((cell) =>
    KEYS.flatMap((key) => {
      const [old, now] = [winner(before, cell, key), winner(after, cell, key)];
      return old?.owner === now?.owner && old?.text === now?.text ? [] : [{ cell, key, before: old, after: now }];
    }),
  );
  const place = ({ cell, key }: WinnerChange): string => `${cell} ${key}`;
  expect([...changes].sort((a, b) => (place(a) < place(b) ? -1 : 1))).toEqual(
    expected.sort((a, b) => (place(a) < place(b) ? -1 : 1)),
  );
}

describe('an index of contributions', () => {
  it('knows the winners, their counts and every change of them, and a dropped draft leaves it as it was', () => {
    fc.assert(
      fc.property(replacements, (history) => {
        let committed: { readonly index: ContributionIndex; readonly model: Model } = {
          index: emptyIndex(),
          model: new Map(),
        };
        let { model } = committed;
        let draft = contributionsOver(committed.index);
        for (const { owner, after: written, end } of history) {
          const after = owned(owner, written);
          const next = new Map(model).set(owner, after);
          expectChanges(draft.replace(model.get(owner) ?? [], after), model, next);
          model = next;
          expectSame(draft, model);
          if (end === 'commit') committed = { index: draft.toIndex(), model };
          if (end === 'none') continue;
          ({ model } = committed);
          draft = contributionsOver(committed.index);
          expectSame(draft, model);
        }
        for (const key of KEYS) {
          expect(contenders(committed.index.entries, 'hosts', key)).toEqual(ranked(committed.model, 'hosts', key));
        }
      }),
      { numRuns: 100 },
    );
  });
});
