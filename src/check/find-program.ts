import { accessSync, constants, statSync, type Stats } from 'node:fs';
import { delimiter, join, resolve } from 'node:path';

/** What became of a search; `problem` completes "the checker cannot run: ". */
export type FoundProgram =
  { readonly kind: 'found'; readonly path: string } | { readonly kind: 'missing'; readonly problem: string };

/** Where system programs live: Debian leaves them out of an ordinary user's PATH. */
const SYSTEM_FOLDERS = ['/usr/local/sbin', '/usr/sbin', '/sbin'];

/**
 * Resolves a program as a shell would. Done here and once, because the checker's environment is empty: spawn itself
 * would search an unset PATH and find nothing.
 */
export function findProgram(name: string, path: string | undefined): FoundProgram {
  if (name === '') return { kind: 'missing', problem: 'check.command is empty' };
  const places = name.includes('/') ? [resolve(name)] : searchPath(path).map((folder) => join(folder, name));
  const files = places.filter(isFile);
  const program = files.find(isExecutable);
  if (program !== undefined) return { kind: 'found', path: program };
  const problem = files[0] === undefined ? `${name} was not found` : `${files[0]} is not executable`;
  return { kind: 'missing', problem };
}

function searchPath(path: string | undefined): readonly string[] {
  const folders = (path ?? '').split(delimiter).filter((folder) => folder !== '');
  return [...folders, ...SYSTEM_FOLDERS];
}

/** Size and time of a file, which tell it from what replaces it; undefined where it cannot be seen. */
export function stampOf(path: string): string | undefined {
  const file = seen(path);
  return file === undefined ? undefined : `${file.size} bytes of ${file.mtimeMs}`;
}

function isFile(path: string): boolean {
  return seen(path)?.isFile() ?? false;
}

function seen(path: string): Stats | undefined {
  try {
    return statSync(path, { throwIfNoEntry: false });
  } catch {
    // A folder of PATH that this user cannot enter.
    return undefined;
  }
}

function isExecutable(path: string): boolean {
  try {
    accessSync(path, constants.X_OK);
    return true;
  } catch {
    return false;
  }
}
