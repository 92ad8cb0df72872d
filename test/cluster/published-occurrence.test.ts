import { randomBytes } from 'node:crypto';
import { describe, expect, it } from '@jest/globals';
import {
  indexText,
  packOccurrence,
  PART_BYTES,
  parseIndex,
  partName,
  unpackOccurrence,
} from '../../src/cluster/published-occurrence.js';

/** Text that does not compress to less than one part. */
const LARGE = randomBytes(2 * PART_BYTES).toString('base64');
const FILES = [
  { name: 'haproxy.cfg', text: LARGE, sensitive: false },
  { name: 'certs/shop.pem', text: 'ä secret\n', sensitive: true },
];

describe('an occurrence', () => {
  it('comes out as it went in, in parts that fit into Secrets', async () => {
    const { index, parts } = await packOccurrence(FILES, '1-abc');
    expect(parts.length).toBeGreaterThan(1);
    expect(index.parts).toBe(parts.length);
    expect(Math.max(...parts.map((part) => part.length))).toBeLessThanOrEqual(PART_BYTES);
    expect(await unpackOccurrence(index, parts)).toEqual(FILES);
  });

  it('has the same parts under the same names whenever its files are the same', async () => {
    const [one, other] = [await packOccurrence(FILES, 'one'), await packOccurrence(FILES, 'other')];
    expect(partName('published', one.index, 0)).toBe(partName('published', other.index, 0));
    expect(one.parts).toEqual(other.parts);
  });

  it.each([
    ['a missing part', (parts: readonly Buffer[]) => parts.slice(1)],
    ['parts in another order', (parts: readonly Buffer[]) => [...parts].reverse()],
    ['a changed byte', (parts: readonly Buffer[]) => parts.map((part) => Buffer.concat([part, Buffer.from('x')]))],
  ])('is refused with %s', async (_, damaged) => {
    const { index, parts } = await packOccurrence(FILES, '1-abc');
    await expect(unpackOccurrence(index, damaged(parts))).rejects.toThrow('are not those of its index');
  });

  it('that is empty is one too', async () => {
    const { index, parts } = await packOccurrence([], 'none');
    expect(await unpackOccurrence(index, parts)).toEqual([]);
  });
});

describe('an index', () => {
  it('is read as it was written', async () => {
    const { index } = await packOccurrence(FILES, '1-abc');
    expect(parseIndex(indexText(index))).toEqual(index);
  });

  it.each(['', '{}', '{"occurrence":"a","digest":"../../x","parts":1}', '{"occurrence":"a","digest":"","parts":1e9}'])(
    'is refused as %j',
    (text) => {
      expect(() => parseIndex(text)).toThrow();
    },
  );
});
