import type { FieldPath } from './manifest-place.js';

/** Kubernetes' own objects stay below 20 levels; a deeper one only serves to exhaust a stack. The stores have the same bound. */
export const MAX_DEPTH = 64;

/** Values of a file with aliases written out: 9,000 usual objects are half a million. */
export const MAX_NODES = 1_000_000;

/** Characters with aliases written out. Without aliases a text never yields more than its own 32 MiB. */
export const MAX_CHARACTERS = 32 * 1024 * 1024;

/** What is left of the bounds of one file; counted down. */
export interface Budget {
  nodes: number;
  characters: number;
}

export interface Defect {
  readonly path: FieldPath;
  readonly message: string;
}

/**
 * The first reason why a parsed value cannot be taken as JSON, or undefined. Aliases are shared references after
 * parsing, so the walk meets them as often as JSON would write them: a bomb or a cycle ends at a bound.
 */
export function findDefect(value: unknown, budget: Budget, depth = 1): Defect | undefined {
  if (--budget.nodes < 0) return here(`has more than ${MAX_NODES} values, aliases written out: split the file`);
  if (typeof value === 'string') return countCharacters(value, budget);
  if (typeof value === 'number') return Number.isFinite(value) ? undefined : here('is a number that JSON cannot hold');
  if (typeof value !== 'object' || value === null) return undefined;
  if (depth > MAX_DEPTH) return here(`nests deeper than ${MAX_DEPTH} levels`);
  return findDefectBelow(value, budget, depth);
}

function findDefectBelow(value: object, budget: Budget, depth: number): Defect | undefined {
  for (const [key, member] of Object.entries(value)) {
    const defect = countCharacters(key, budget) ?? findDefect(member, budget, depth + 1);
    if (defect === undefined) continue;
    return { message: defect.message, path: [Array.isArray(value) ? Number(key) : key, ...defect.path] };
  }
  return undefined;
}

function countCharacters(text: string, budget: Budget): Defect | undefined {
  budget.characters -= text.length;
  return budget.characters < 0 ? here(`has more than ${MAX_CHARACTERS} characters, aliases written out`) : undefined;
}

function here(message: string): Defect {
  return { path: [], message };
}
