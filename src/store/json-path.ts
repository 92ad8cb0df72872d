/** `[*]`: every element of an array. */
export const ANY: unique symbol = Symbol('any');

/** The part of RFC 9535 that DESIGN 4 allows: names and `[*]`. */
export type Path = readonly (string | typeof ANY)[];

/** A text that is no such path; `position` counts from 0. */
export class JsonPathError extends SyntaxError {
  override readonly name = 'JsonPathError';

  constructor(
    readonly position: number,
    message: string,
  ) {
    super(message);
  }
}

const STEP =
  /\.([A-Za-z_\u0080-\uffff][A-Za-z0-9_\u0080-\uffff]*)|\[\*\]|\['((?:[^'\\]|\\['\\])*)'\]|\["((?:[^"\\]|\\["\\])*)"\]/y;

/** Compiles `$.a.b['c/d'].e[*]`. Throws JsonPathError. */
export function parsePath(text: string): Path {
  if (!text.startsWith('$')) throw new JsonPathError(0, `the path ${text} has to begin with $, as in $.metadata.name`);
  const path: (string | typeof ANY)[] = [];
  STEP.lastIndex = 1;
  while (STEP.lastIndex < text.length) {
    const at = STEP.lastIndex;
    const match = STEP.exec(text);
    if (match === null)
      throw new JsonPathError(at, `the path ${text} has something else than a name or [*] at character ${at + 1}`);
    path.push(match[0] === '[*]' ? ANY : (match[1] ?? (match[2] ?? match[3] ?? '').replace(/\\(.)/g, '$1')));
  }
  return path;
}

/** All values that the path selects; own properties only. */
export function valuesAt(root: unknown, path: Path): unknown[] {
  let values: unknown[] = [root];
  for (const step of path) values = values.flatMap((value) => stepInto(value, step));
  return values;
}

export function pathExists(root: unknown, path: Path, from = 0): boolean {
  const step = path[from];
  if (step === undefined) return true;
  if (typeof root !== 'object' || root === null) return false;
  if (step === ANY) return Array.isArray(root) && root.some((value) => pathExists(value, path, from + 1));
  return (
    !Array.isArray(root) &&
    Object.hasOwn(root, step) &&
    pathExists((root as Record<string, unknown>)[step], path, from + 1)
  );
}

function stepInto(value: unknown, step: string | typeof ANY): unknown[] {
  if (typeof value !== 'object' || value === null) return [];
  if (step === ANY) return Array.isArray(value) ? (value as unknown[]) : [];
  return !Array.isArray(value) && Object.hasOwn(value, step) ? [(value as Record<string, unknown>)[step]] : [];
}
