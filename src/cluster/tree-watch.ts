import { lstatSync, statSync, watch, type FSWatcher } from 'node:fs';
import { basename, join } from 'node:path';
import { isHidden, walk, type WalkEntry } from './manifest-files.js';
import { systemErrorCode } from './system-error.js';

export interface TreeEvents {
  /** Something about this entry (not a directory, not hidden) changed. The path is relative, with `/`. */
  onEntry(path: string): void;
  /** A hidden entry of this directory changed: what links point into may be another one now. */
  onHidden(directory: string): void;
  /** A directory came, went or was replaced: everything below it is to be looked at again. */
  onDirectory(path: string): void;
  /** The directory itself may have been moved, replaced or removed, or events were lost. */
  onDoubt(): void;
  /** A directory that cannot be watched; told once for each. */
  onUnwatched(path: string, reason: string): void;
}

interface Watched {
  readonly watcher: FSWatcher;
  readonly inode: string;
}

/**
 * Watches a directory tree with one handle for each directory. (A handle for each file as well, which chokidar has,
 * costs 70 ms of main thread for each change in a directory of 3,000 files; this 0.7 ms.) Events may be
 * missed where the system drops them, so its user reads the tree again from time to time.
 */
export class TreeWatch {
  readonly #watched = new Map<string, Watched>();
  readonly #unwatched = new Set<string>();

  constructor(
    private readonly root: string,
    private readonly events: TreeEvents,
  ) {}

  /** True when the directory that was watched as the root is still the one under its name. */
  rootIsWatched(): boolean {
    const watched = this.#watched.get('');
    return watched !== undefined && watched.inode === inodeOf(this.root);
  }

  /** Watches a directory found on a walk; harmless when it is watched already. */
  addDirectory(path: string): void {
    const inode = inodeOf(join(this.root, path));
    const known = this.#watched.get(path);
    if (inode === undefined || known?.inode === inode) return;
    known?.watcher.close();
    this.#watched.delete(path);
    this.#watch(path, inode);
  }

  /** Walks a subtree and watches its directories, each before it is read; yields what it meets. */
  *addTree(path: string): Generator<WalkEntry> {
    for (const entry of walk(this.root, path)) {
      if (entry.kind === 'directory') this.addDirectory(entry.path);
      yield entry;
    }
  }

  /** Stops watching the directory and all below it. */
  dropTree(path: string): void {
    for (const [directory, { watcher }] of this.#watched) {
      if (path !== '' && directory !== path && !directory.startsWith(`${path}/`)) continue;
      watcher.close();
      this.#watched.delete(directory);
    }
  }

  close(): void {
    this.dropTree('');
  }

  #watch(path: string, inode: string): void {
    try {
      const watcher = watch(join(this.root, path), (event, name) => this.#onEvent(path, event, name));
      watcher.on('error', (error) => this.events.onUnwatched(path, systemErrorCode(error)));
      this.#watched.set(path, { watcher, inode });
      this.#unwatched.delete(path);
    } catch (error) {
      if (!this.#unwatched.has(path)) this.events.onUnwatched(path, systemErrorCode(error));
      this.#unwatched.add(path);
    }
  }

  #onEvent(directory: string, event: string, name: string | null): void {
    if (name === null) return this.events.onDoubt();
    // The system reports a directory's own removal or move under its own name, in its own handle.
    if (directory === '' && event === 'rename' && name === basename(this.root)) return this.#doubtRoot();
    if (isHidden(name)) return this.events.onHidden(directory);
    const path = directory === '' ? name : `${directory}/${name}`;
    if (event === 'rename' && this.#concernsDirectory(path)) this.#replaceTree(path);
    else this.events.onEntry(path);
  }

  /** A new directory may get the inode of the removed one, so the handles go in any case. */
  #doubtRoot(): void {
    this.dropTree('');
    this.events.onDoubt();
  }

  #concernsDirectory(path: string): boolean {
    return this.#watched.has(path) || isDirectory(join(this.root, path));
  }

  #replaceTree(path: string): void {
    this.dropTree(path);
    this.events.onDirectory(path);
  }
}

/** Of what a link points to: the root may be one, and be moved to another directory. Undefined also where it can't be seen. */
function inodeOf(path: string): string | undefined {
  try {
    const { dev, ino } = statSync(path);
    return `${dev}:${ino}`;
  } catch {
    return undefined;
  }
}

function isDirectory(path: string): boolean {
  try {
    return lstatSync(path).isDirectory();
  } catch {
    return false;
  }
}
