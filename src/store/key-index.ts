import { valuesAt, type Path } from './json-path.js';
import type { StoredObject } from './canonical.js';

/** Key vectors of an object under the declared index: one for each combination of values that its paths select. */
export function indexVectors(object: StoredObject, paths: readonly Path[]): readonly (readonly string[])[] {
  let vectors: string[][] = [[]];
  for (const path of paths) {
    const values = new Set(valuesAt(object, path).filter(isKey).map(String));
    vectors = vectors.flatMap((vector) => [...values].map((value) => [...vector, value]));
  }
  return paths.length === 0 ? [] : vectors;
}

function isKey(value: unknown): boolean {
  return (
    (typeof value === 'string' && !value.includes('\0')) || typeof value === 'number' || typeof value === 'boolean'
  );
}
