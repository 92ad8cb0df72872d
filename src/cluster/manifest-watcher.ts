import { basename, dirname } from 'node:path';
import { setImmediate } from 'node:timers/promises';
import type { Logger } from 'pino';
import { ManifestBook } from './manifest-book.js';
import { comparePaths, exists, isLink, isManifestName, type WalkEntry } from './manifest-files.js';
import { logNews, logNotice, noticeOfConflict, noticeOfEntry } from './manifest-notice.js';
import type { Accepts, ObjectChange } from './manifest-set.js';
import { TreeWatch } from './tree-watch.js';

/** Milliseconds. */
export interface WatchTimes {
  /** Quiet time after an event before files are read: one save is several events. */
  readonly debounceMs: number;
  /** A file has to be away this long to count as removed: editors move the old one away before they write the new. */
  readonly goneMs: number;
  /** After this time files are read although events still come. */
  readonly longestWaitMs: number;
  /** The whole tree is looked through (not read) this often, since systems drop events, and network drives send none. */
  readonly rescanMs: number;
}

export interface WatcherOptions extends WatchTimes {
  onChanges(batch: readonly ObjectChange[]): void;
  onReady(): void;
  readonly log: Logger;
  readonly accepts: Accepts;
}

/** Longest piece of work on the main thread before others get their turn; a health check must not wait. */
const SLICE_MS = 8;

/** While the directory is away: how often to look for it. */
const LOST_POLL_MS = 500;

/**
 * Reads what events name, and tells the differences in one batch for each quiet moment. Events only say where to look:
 * what counts is what is there when it is read, so lost, doubled and late events do no harm.
 */
export class ManifestWatcher {
  readonly #book: ManifestBook;
  readonly #tree: TreeWatch;
  /** Files to read, directories to look through. */
  readonly #files = new Set<string>();
  readonly #directories = new Set<string>();
  /** Missing files and since when. */
  readonly #missing = new Map<string, number>();
  /** Manifest files that are links. */
  readonly #links = new Set<string>();
  readonly #told = new Set<string>();
  #firstEvent: number | undefined;
  #timer: NodeJS.Timeout | undefined;
  #rescan: NodeJS.Timeout | undefined;
  #work: Promise<void> = Promise.resolve();
  #working = true;
  #lost = false;
  #closed = false;

  constructor(
    private readonly root: string,
    private readonly options: WatcherOptions,
  ) {
    this.#book = new ManifestBook(root, options.accepts, (news) => logNews(options.log, news));
    this.#tree = new TreeWatch(root, {
      onEntry: (path) => this.#onEntry(path),
      onHidden: (directory) => this.#onHidden(directory),
      onDirectory: (path) => this.#look(path),
      onDoubt: () => this.#look(''),
      onUnwatched: (path, reason) => this.#onUnwatched(path, reason),
    });
  }

  /** Resolves when the first batch and `onReady` have been told. */
  async start(): Promise<void> {
    this.#directories.add('');
    this.#work = this.#readAll();
    await this.#work;
    this.#working = false;
    this.options.onReady();
    this.#planRescan();
  }

  async close(): Promise<void> {
    this.#closed = true;
    clearTimeout(this.#timer);
    clearTimeout(this.#rescan);
    this.#tree.close();
    await this.#work;
  }

  #onEntry(path: string): void {
    if (!isManifestName(basename(path))) return;
    this.#files.add(path);
    this.#plan(this.options.debounceMs);
  }

  /** A mounted ConfigMap is replaced by moving one hidden link, into which the visible ones point. */
  #onHidden(directory: string): void {
    for (const link of this.#links) if (dirname(link) === (directory || '.')) this.#onEntry(link);
  }

  #look(directory: string): void {
    this.#directories.add(directory);
    this.#plan(this.options.debounceMs);
  }

  #onUnwatched(path: string, reason: string): void {
    const effect = `changes in it are seen only every ${this.options.rescanMs / 1000} s`;
    this.options.log.warn({ directory: path || '.', reason, effect }, 'Manifest directory cannot be watched');
  }

  /** Sets the timer anew, unless others have waited for too long already. */
  #plan(delay: number): void {
    if (this.#closed) return;
    const now = performance.now();
    this.#firstEvent ??= now;
    if (this.#timer !== undefined && now - this.#firstEvent > this.options.longestWaitMs) return;
    clearTimeout(this.#timer);
    this.#timer = setTimeout(() => this.#onQuiet(), delay);
  }

  #planRescan(): void {
    if (this.#closed) return;
    const delay = this.#lost ? Math.min(LOST_POLL_MS, this.options.rescanMs) : this.options.rescanMs;
    this.#rescan = setTimeout(() => {
      this.#look('');
      this.#planRescan();
    }, delay).unref();
  }

  #onQuiet(): void {
    this.#timer = undefined;
    if (this.#working) return this.#plan(this.options.debounceMs);
    this.#working = true;
    this.#work = this.#readAll()
      .catch((err: unknown) => this.options.log.error({ err }, 'A batch of manifest changes was not taken'))
      .finally(() => {
        this.#working = false;
      });
  }

  async #readAll(): Promise<void> {
    if (!this.#rootIsThere()) return;
    const slice = new Slice();
    for (const directory of take(this.#directories)) await this.#lookThrough(directory, slice);
    const wait = this.#waitForReturn();
    if (wait > 0) return this.#plan(wait);
    this.#firstEvent = undefined;
    for (const file of take(this.#files).sort(comparePaths)) {
      if (this.#closed) return;
      this.#read(file);
      await slice.yieldWhenOver();
    }
    if (!this.#closed) this.#settle();
  }

  /** Finds what is new or changed below a directory, by inode, size and times, and what is not there any more. */
  async #lookThrough(directory: string, slice: Slice): Promise<void> {
    const seen = new Set<string>();
    for (const entry of this.#tree.addTree(directory)) {
      if (this.#closed) return this.#tree.close();
      if (entry.kind === 'file' || entry.kind === 'link') seen.add(entry.path);
      else this.#tellOnce(entry);
      if (seen.has(entry.path) && this.#book.isStale(entry.path)) this.#files.add(entry.path);
      await slice.yieldWhenOver();
    }
    const below = directory === '' ? '' : `${directory}/`;
    for (const path of this.#book.paths()) if (path.startsWith(below) && !seen.has(path)) this.#files.add(path);
  }

  #tellOnce(entry: WalkEntry): void {
    if (entry.kind === 'directory' || this.#told.has(entry.path)) return;
    this.#told.add(entry.path);
    logNotice(this.options.log, noticeOfEntry(entry));
  }

  /** How long to wait because a file that was there is missing; the whole batch waits, so that a rename stays one change. */
  #waitForReturn(): number {
    const now = performance.now();
    let wait = 0;
    for (const file of this.#files) {
      if (!this.#book.knows(file) || exists(this.root, file)) {
        this.#missing.delete(file);
        continue;
      }
      const since = this.#missing.get(file) ?? now;
      this.#missing.set(file, since);
      wait = Math.max(wait, since + this.options.goneMs - now);
    }
    const waited = now - (this.#firstEvent ?? now);
    return waited > this.options.longestWaitMs ? 0 : wait;
  }

  #read(file: string): void {
    this.#missing.delete(file);
    if (isLink(this.root, file)) this.#links.add(file);
    else this.#links.delete(file);
    this.#book.read(file);
  }

  #settle(): void {
    const { changes, conflicts } = this.#book.settle();
    for (const conflict of conflicts) logNotice(this.options.log, noticeOfConflict(conflict));
    if (changes.length > 0) this.options.onChanges(changes);
  }

  /** Without the directory nothing is known, which is not the same as nothing being there: all objects stay. */
  #rootIsThere(): boolean {
    if (this.#tree.rootIsWatched()) return true;
    this.#tree.close();
    if (!exists(this.root, '')) return this.#tellLost();
    if (this.#lost) this.options.log.info({ directory: this.root }, 'Manifest directory is back');
    this.#lost = false;
    this.#directories.add('');
    return true;
  }

  #tellLost(): false {
    const effect = 'all objects stay as they were until it is back';
    if (!this.#lost) this.options.log.warn({ directory: this.root, effect }, 'Manifest directory is gone');
    this.#lost = true;
    clearTimeout(this.#rescan);
    this.#planRescan();
    return false;
  }
}

function take<T>(set: Set<T>): T[] {
  const members = [...set];
  set.clear();
  return members;
}

class Slice {
  #end = performance.now() + SLICE_MS;

  async yieldWhenOver(): Promise<void> {
    if (performance.now() < this.#end) return;
    await setImmediate();
    this.#end = performance.now() + SLICE_MS;
  }
}
