import { describe, expect, it } from '@jest/globals';
import fc from 'fast-check';

import { groupCircles, type GroupUse } from '../../src/config/group-circles.js';

/** `a: b c?` is a component of the group a that consumes b, and c if it is there. */
function uses(...lines: readonly string[]): Record<string, GroupUse> {
  return Object.fromEntries(
    lines.map((line, at): [string, GroupUse] => {
      const [group = '', others = ''] = line.split(':');
      const names = others.split(' ').filter((name) => name !== '');
      const optional = names.filter((name) => name.endsWith('?')).map((name) => name.slice(0, -1));
      return [
        `component${at}`,
        { group, consumes: names.filter((name) => !name.endsWith('?')), optionalConsumes: optional },
      ];
    }),
  );
}

const circles = (...lines: readonly string[]): string[] =>
  groupCircles(uses(...lines)).map(
    ({ groups, component, field, index }) => `${groups.join(' ')}: ${component}.${field}[${index}]`,
  );

describe('groupCircles', () => {
  it('finds none where producers come before consumers', () => {
    expect(circles('a:', 'b: a', 'c: a b', 'd: b c? a')).toEqual([]);
    expect(circles('a: a', 'b: gone')).toEqual([]);
  });

  it('names the groups in order, and the field of the first component', () => {
    expect(circles('a: c', 'b: a', 'c: x b', 'x:')).toEqual(['a c b a: component0.consumes[0]']);
    expect(circles('a:', 'a: c b?', 'b: a')).toEqual(['a b a: component1.optionalConsumes[0]']);
  });

  it('finds each of several circles', () => {
    expect(circles('a: b', 'b: a', 'c: d', 'd: c')).toHaveLength(2);
    expect(circles('a: b c', 'b: a', 'c: a')).toHaveLength(2);
  });

  it('finds one whenever no order of the groups is possible', () => {
    const names = ['a', 'b', 'c', 'd', 'e'];
    const line = fc.record({ group: fc.constantFrom(...names), consumes: fc.subarray(names, { maxLength: 2 }) });
    fc.assert(
      fc.property(fc.array(line, { maxLength: 7 }), (components) => {
        const found = circles(...components.map(({ group, consumes }) => `${group}: ${consumes.join(' ')}`));
        expect(found.length > 0).toBe(!hasOrder(components));
      }),
    );
  });

  it('walks a long chain', () => {
    const chain = Array.from({ length: 3_000 }, (_, at) => `g${at}: g${at + 1}`);
    expect(circles(...chain)).toEqual([]);
    expect(circles(...chain, 'g3000: g0')).toHaveLength(1);
  });
});

/** Takes away groups that wait for none of the others, until nothing changes. */
function hasOrder(components: readonly { readonly group: string; readonly consumes: readonly string[] }[]): boolean {
  const left = new Set(components.map(({ group }) => group));
  for (let before = -1; before !== left.size;) {
    before = left.size;
    const waits = components.filter((one) => one.consumes.some((other) => other !== one.group && left.has(other)));
    const waiting = new Set(waits.map(({ group }) => group));
    for (const group of left) if (!waiting.has(group)) left.delete(group);
  }
  return left.size === 0;
}
