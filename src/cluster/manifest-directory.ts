import { statSync } from 'node:fs';
import { basename, resolve } from 'node:path';
import type { Logger } from 'pino';
import { ManifestBook, type FileNews } from './manifest-book.js';
import { comparePaths, readText, walk, type FileReading } from './manifest-files.js';
import { noticeOfConflict, noticeOfEntry, noticesOfBroken, type ManifestNotice } from './manifest-notice.js';
import type { Accepts, ObjectChange } from './manifest-set.js';
import { ManifestWatcher, type WatchTimes } from './manifest-watcher.js';
import { systemErrorCode } from './system-error.js';

export type { AcceptedKind, Accepts, ObjectChange } from './manifest-set.js';
export type { ManifestNotice } from './manifest-notice.js';

export interface WatchOptions extends Partial<WatchTimes> {
  /** Called with real changes only, in path order; the first call has all objects that are there. Never empty. */
  onChanges(batch: readonly ObjectChange[]): void;
  /** Called once, after the first batch. */
  onReady(): void;
  readonly log: Logger;
  readonly accepts: Accepts;
}

export interface ManifestWatch {
  /** No call of `onChanges` after it has resolved. */
  close(): Promise<void>;
}

/** The path given for manifests is not there, cannot be read, or is of the wrong kind. */
export class ManifestPathError extends Error {
  override readonly name = 'ManifestPathError';
  readonly code = 'MANIFESTS_UNREADABLE';
}

const DEFAULT_TIMES: WatchTimes = { debounceMs: 20, goneMs: 100, longestWaitMs: 1_000, rescanMs: 10_000 };

/**
 * A directory of manifests as a cluster (DESIGN 10, embedded mode): watches `*.yaml`, `*.yml` and `*.json` in it and
 * below, and tells what changes. Resolves after the first batch and `onReady`. Files that do not parse keep their last
 * good state; of an object in several files the first in path order counts; both are warned of.
 * Throws ManifestPathError when there is no such directory.
 */
export async function watchManifests(directory: string, options: WatchOptions): Promise<ManifestWatch> {
  const root = resolve(directory);
  if (!isDirectory(directory))
    throw new ManifestPathError(`${directory} is not a directory: give the one with the manifests`);
  const watcher = new ManifestWatcher(root, { ...DEFAULT_TIMES, ...options });
  try {
    await watcher.start();
    return watcher;
  } catch (error) {
    // Its handles would keep a process alive that has nothing to do any more.
    await watcher.close().catch(() => undefined);
    throw error;
  }
}

export interface LoadedManifests {
  /** Upserts only, in path order. */
  readonly changes: readonly ObjectChange[];
  readonly problems: readonly ManifestNotice[];
}

/**
 * Reads a directory by the rules of `watchManifests`, or one file, once. A file with a problem gives no object.
 * Throws ManifestPathError when there is nothing under the path.
 */
export function loadManifests(path: string, accepts: Accepts): LoadedManifests {
  const root = resolve(path);
  const problems: ManifestNotice[] = [];
  const book = new ManifestBook(root, accepts, (news: FileNews) => {
    if (news.kind === 'broken') problems.push(...noticesOfBroken(news));
  });
  if (isDirectory(path)) for (const file of filesOf(root, problems)) book.read(file);
  else book.take(basename(path), readSingle(root, path));
  const { changes, conflicts } = book.settle();
  return { changes, problems: [...problems, ...conflicts.map(noticeOfConflict)] };
}

/** Also used by who reads changes from a file: the text of one manifest file, whatever its name. */
function readSingle(root: string, path: string): FileReading {
  const reading = attempt(path, () => readText(root));
  if (reading.kind === 'gone') throw new ManifestPathError(`${path} is neither a file nor a directory`);
  return reading;
}

function filesOf(root: string, problems: ManifestNotice[]): readonly string[] {
  const files: string[] = [];
  for (const entry of walk(root)) {
    if (entry.kind === 'file' || entry.kind === 'link') files.push(entry.path);
    else if (entry.kind !== 'directory') problems.push(noticeOfEntry(entry));
  }
  return files.sort(comparePaths);
}

function isDirectory(path: string): boolean {
  return attempt(path, () => statSync(path).isDirectory());
}

function attempt<T>(path: string, read: () => T): T {
  try {
    return read();
  } catch (error) {
    const code = systemErrorCode(error);
    const reason = code === 'ENOENT' ? 'does not exist' : `cannot be read (${code})`;
    throw new ManifestPathError(`${path} ${reason}: give a directory of manifests, or create it first`, {
      cause: error,
    });
  }
}
