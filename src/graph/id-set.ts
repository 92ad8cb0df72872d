import { Set as ImmutableSet } from 'immutable';

/**
 * A persistent set of node numbers. Nearly all nodes have a handful of observers, and a frozen array of eight is
 * smaller and faster than any tree; a list that thousands observe must not be copied whole for one more.
 */
export type IdSet = readonly number[] | ImmutableSet<number>;

const LARGEST_ARRAY = 8;

export const EMPTY_IDS: IdSet = Object.freeze([]);

export function withId(ids: IdSet, id: number): IdSet {
  if (ImmutableSet.isSet(ids)) return ids.add(id);
  if (ids.includes(id)) return ids;
  return ids.length < LARGEST_ARRAY ? [...ids, id] : ImmutableSet([...ids, id]);
}

/** A large set that `withId` and `withoutId` change in place until it is settled: for one that many are added to in a row. */
export function unsettled(ids: IdSet): IdSet {
  return ImmutableSet.isSet(ids) ? ids.asMutable() : ids;
}

export function settled(ids: IdSet): IdSet {
  return ImmutableSet.isSet(ids) ? ids.asImmutable() : ids;
}

export function withoutId(ids: IdSet, id: number): IdSet {
  if (!ImmutableSet.isSet(ids)) return ids.includes(id) ? ids.filter((held) => held !== id) : ids;
  const smaller = ids.delete(id);
  return smaller.size < LARGEST_ARRAY / 2 ? [...smaller] : smaller;
}

export function sizeOf(ids: IdSet): number {
  return ImmutableSet.isSet(ids) ? ids.size : ids.length;
}
