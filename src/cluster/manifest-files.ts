import {
  closeSync,
  constants,
  fstatSync,
  lstatSync,
  openSync,
  readdirSync,
  readSync,
  realpathSync,
  statSync,
} from 'node:fs';
import { join, relative, sep } from 'node:path';
import { MAX_FILE_BYTES } from './manifest.js';
import { systemErrorCode } from './system-error.js';

/** Paths here are relative to the directory, with `/`, so that path order is the same everywhere. */

/** What stands under a path at one moment. */
export type FileReading =
  | { readonly kind: 'text'; readonly text: string }
  /** Nothing there, or nothing that counts as a manifest file. */
  | { readonly kind: 'gone' }
  | { readonly kind: 'unreadable'; readonly message: string };

/** Something to read, or to tell about, met on a walk. */
export interface WalkEntry {
  readonly kind: 'directory' | 'file' | 'link' | 'linked-directory' | 'unreadable-directory';
  /** '' for the directory itself. */
  readonly path: string;
}

/** Hidden entries are editors' and version control's own: `.shop.yaml.swp`, `.#shop.yaml`, `.git`. */
export function isHidden(name: string): boolean {
  return name.startsWith('.');
}

export function isManifestName(name: string): boolean {
  return !isHidden(name) && /\.(?:yaml|yml|json)$/.test(name);
}

/**
 * Entries of one directory in code unit order; links to directories are not entered. A directory is yielded before it
 * is read, so that who watches it then loses nothing.
 */
export function* walk(root: string, path = ''): Generator<WalkEntry> {
  yield { kind: 'directory', path };
  let entries;
  try {
    entries = readdirSync(join(root, path), { withFileTypes: true });
  } catch (error) {
    // A directory that vanished meanwhile is no news; its parent's next reading shows it.
    if (systemErrorCode(error) !== 'ENOENT') yield { kind: 'unreadable-directory', path };
    return;
  }
  for (const entry of entries.sort((a, b) => comparePaths(a.name, b.name))) {
    if (isHidden(entry.name)) continue;
    const below = path === '' ? entry.name : `${path}/${entry.name}`;
    if (entry.isDirectory()) yield* walk(root, below);
    else if (entry.isSymbolicLink() && isDirectoryLink(join(root, below)))
      yield { kind: 'linked-directory', path: below };
    else if (isManifestName(entry.name)) yield { kind: entry.isSymbolicLink() ? 'link' : 'file', path: below };
  }
}

function isDirectoryLink(path: string): boolean {
  try {
    return statSync(path).isDirectory();
  } catch {
    return false;
  }
}

/** Code unit order, which does not depend on a locale. */
export function comparePaths(a: string, b: string): number {
  return a < b ? -1 : a > b ? 1 : 0;
}

/**
 * Changes whenever the file's content may have changed: inode, size, times of the file a link points to.
 * '' when there is nothing.
 */
export function fingerprint(root: string, path: string): string {
  try {
    const { dev, ino, size, mtimeMs, ctimeMs } = statSync(join(root, path));
    return `${dev} ${ino} ${size} ${mtimeMs} ${ctimeMs}`;
  } catch {
    return '';
  }
}

/** False only where surely nothing is: what stands in a directory that may not be entered is not gone. */
export function exists(root: string, path: string): boolean {
  try {
    return lstatSync(join(root, path), { throwIfNoEntry: false }) !== undefined;
  } catch {
    return true;
  }
}

export function isLink(root: string, path: string): boolean {
  try {
    return lstatSync(join(root, path)).isSymbolicLink();
  } catch {
    return false;
  }
}

/** Reads one manifest file below `root`. Never throws, never waits for a pipe, never follows a link out. */
export function readManifestFile(root: string, path: string): FileReading {
  try {
    const link = lstatSync(join(root, path)).isSymbolicLink();
    return link ? readLinked(root, path) : readText(join(root, path));
  } catch (error) {
    return failure(error);
  }
}

/**
 * A link counts when its target lies in the directory and does not count by itself, as in a mounted ConfigMap, where
 * `shop.yaml` points into a hidden directory.
 */
function readLinked(root: string, path: string): FileReading {
  let target: string;
  try {
    target = realpathSync(join(root, path));
  } catch {
    return { kind: 'unreadable', message: 'is a symbolic link to nothing' };
  }
  const inside = relative(realpathSync(root), target).split(sep);
  if (inside[0] === '..') return { kind: 'unreadable', message: 'is a symbolic link out of the directory' };
  const countsByItself = isManifestName(inside.at(-1) ?? '') && !inside.some(isHidden);
  return countsByItself ? { kind: 'gone' } : readText(target);
}

/** Opens without waiting, since a pipe may stand there, and judges what was opened and not what the name meant before. */
export function readText(file: string): FileReading {
  const descriptor = openSync(file, constants.O_RDONLY | constants.O_NONBLOCK);
  try {
    const { size, ...stats } = describeOpened(descriptor);
    if (!stats.isFile) return { kind: 'gone' };
    if (size > MAX_FILE_BYTES) return tooLarge();
    return decode(readUpTo(descriptor, size));
  } finally {
    closeSync(descriptor);
  }
}

function describeOpened(descriptor: number): { readonly isFile: boolean; readonly size: number } {
  const stats = fstatSync(descriptor);
  return { isFile: stats.isFile(), size: stats.size };
}

function tooLarge(): FileReading {
  return { kind: 'unreadable', message: `is larger than ${MAX_FILE_BYTES / 1024 / 1024} MiB: split the file` };
}

/** A file that grows meanwhile is read to the size it had; the change is met again. */
function readUpTo(descriptor: number, size: number): Buffer {
  const bytes = Buffer.allocUnsafe(size);
  let filled = 0;
  while (filled < size) {
    const count = readSync(descriptor, bytes, filled, size - filled, filled);
    if (count === 0) break;
    filled += count;
  }
  return bytes.subarray(0, filled);
}

/** A half-written file may end inside a character; taking a replacement for it would change an object. */
function decode(bytes: Buffer): FileReading {
  try {
    return { kind: 'text', text: new TextDecoder('utf-8', { fatal: true }).decode(bytes) };
  } catch {
    return { kind: 'unreadable', message: 'is not UTF-8 text' };
  }
}

function failure(error: unknown): FileReading {
  const code = systemErrorCode(error);
  if (code === 'ENOENT' || code === 'ENOTDIR') return { kind: 'gone' };
  // ENXIO is what a socket says.
  if (code === 'ENXIO') return { kind: 'gone' };
  return { kind: 'unreadable', message: `cannot be read (${code})` };
}
