import { lstat, mkdir, readdir, readlink, rename, rm, symlink } from 'node:fs/promises';
import { basename, join, resolve } from 'node:path';
import type { Logger } from 'pino';
import { systemErrorCode } from '../cluster/system-error.js';
import { syncDirectory } from './durable-file.js';
import { faultOfNames, writeRelease, type PublishedFile, type Release } from './release-writer.js';

export type { PublishedFile } from './release-writer.js';

export interface PublisherOptions {
  readonly directory: string;
  /** Releases that stay, the current one included. Default 3: a reader of the one before may still be at work. */
  readonly keep?: number;
  /** Wait for the disk, so that a power loss leaves a whole release too. Default true (3 MB: 6 ms instead of 4). */
  readonly durable?: boolean;
  readonly log?: Logger;
}

export interface Publisher {
  /**
   * Makes the files the current release, all at once. Calls are done one after the other. Rejects with PublishError, and
   * then `current` is what it was; so it does when the signal has aborted before the release could take effect.
   */
  publish(
    files: readonly PublishedFile[],
    occurrence: string,
    signal?: AbortSignal,
  ): Promise<{ readonly path: string }>;
  /** Path of the release that `current` stands for; undefined before the first. */
  current(): Promise<string | undefined>;
}

/** Nothing was published; what was published before is still in use. */
export class PublishError extends Error {
  override readonly name = 'PublishError';
  readonly code = 'PUBLISH_FAILED';
}

/**
 * Publishes into a directory (DESIGN 9): `releases/<occurrence>/...`, and the symbolic link `current` to the newest, moved
 * by one rename. Killed at any point, `current` stands for a whole release; what is left half-done has a hidden name and
 * is removed at the next start. One publisher at a time has the directory.
 */
export function createPublisher(options: PublisherOptions): Publisher {
  return new DirectoryPublisher(options);
}

/** Half-written releases, and releases half removed: never whole, so never under a name that anybody would use. */
const STAGED = '.new-';
const REMOVED = '.old-';
const NEXT_LINK = '.current-new';

class DirectoryPublisher implements Publisher {
  readonly #directory: string;
  readonly #releases: string;
  readonly #keep: number;
  readonly #durable: boolean;
  readonly #log: Logger | undefined;
  /** Names of releases, oldest first; undefined until the directory has been prepared. */
  #order: readonly string[] | undefined;
  /** What the current release consists of, if this process wrote it. */
  #written: Release = new Map();
  #queue: Promise<unknown> = Promise.resolve();

  constructor({ directory, keep = 3, durable = true, log }: PublisherOptions) {
    this.#directory = resolve(directory);
    this.#releases = join(this.#directory, 'releases');
    this.#keep = Math.max(1, keep);
    this.#durable = durable;
    this.#log = log;
  }

  publish(
    files: readonly PublishedFile[],
    occurrence: string,
    signal?: AbortSignal,
  ): Promise<{ readonly path: string }> {
    const result = this.#queue.then(() => this.#publishReporting(files, occurrence, signal));
    this.#queue = result.catch(() => undefined);
    return result;
  }

  async current(): Promise<string | undefined> {
    try {
      const path = resolve(this.#directory, await readlink(join(this.#directory, 'current')));
      return (await lstat(path)).isDirectory() ? path : undefined;
    } catch {
      return undefined;
    }
  }

  async #publishReporting(
    files: readonly PublishedFile[],
    occurrence: string,
    signal: AbortSignal | undefined,
  ): Promise<{ readonly path: string }> {
    const fault = faultOfOccurrence(occurrence) ?? faultOfNames(files);
    if (fault !== undefined) throw this.#error(occurrence, fault);
    try {
      return { path: await this.#publish(files, occurrence, signal) };
    } catch (error) {
      throw this.#error(occurrence, explain(error), error);
    }
  }

  async #publish(
    files: readonly PublishedFile[],
    occurrence: string,
    signal: AbortSignal | undefined,
  ): Promise<string> {
    const order = (this.#order ??= await this.#prepare());
    const name = await this.#freeName(occurrence);
    const path = join(this.#releases, name);
    const written = await this.#write(path, files);
    await orRemove(path, () => this.#switchTo(name, signal));
    this.#written = written;
    this.#order = await this.#tidy([...order, name]);
    return path;
  }

  /** The release has its name only when it is whole. */
  async #write(path: string, files: readonly PublishedFile[]): Promise<Release> {
    const staged = join(this.#releases, STAGED + basename(path));
    await rm(staged, { recursive: true, force: true });
    return orRemove(staged, async () => {
      const release = await writeRelease(staged, path, files, this.#written, this.#durable);
      await rename(staged, path);
      return release;
    });
  }

  /** A name is taken when a process before this one counted its occurrences from the same beginning. */
  async #freeName(occurrence: string): Promise<string> {
    let name = occurrence;
    const taken = (): Promise<unknown> => lstat(join(this.#releases, name)).catch(ignoreMissing);
    for (let count = 2; (await taken()) !== undefined; count++) name = `${occurrence}.${count}`;
    return name;
  }

  /** The one moment at which the new release takes effect. */
  async #switchTo(name: string, signal: AbortSignal | undefined): Promise<void> {
    if (this.#durable) await syncDirectory(this.#releases);
    const next = join(this.#directory, NEXT_LINK);
    await rm(next, { force: true });
    await symlink(join('releases', name), next);
    await orRemove(next, () => {
      if (signal?.aborted === true) throw new Withdrawn();
      return rename(next, join(this.#directory, 'current'));
    });
  }

  /** After the switch nothing may fail any more: the release is in use. What could not be done is told and done next time. */
  async #tidy(order: readonly string[]): Promise<readonly string[]> {
    const old = order.slice(0, -this.#keep);
    const kept = order.slice(-this.#keep);
    try {
      if (this.#durable) await syncDirectory(this.#directory);
      for (const name of old) await this.#remove(name);
      return kept;
    } catch (error) {
      this.#log?.warn({ directory: this.#directory, reason: explain(error) }, 'Old releases could not be removed');
      return order;
    }
  }

  /** Out of sight first: a release that lacks files must not look like one. */
  async #remove(name: string): Promise<void> {
    const removed = join(this.#releases, REMOVED + name);
    await rename(join(this.#releases, name), removed).catch(ignoreMissing);
    await rm(removed, { recursive: true, force: true });
  }

  /** Makes the directories, removes what a killed publisher left, and finds the releases that are there. */
  async #prepare(): Promise<readonly string[]> {
    await mkdir(this.#releases, { recursive: true });
    await this.#refuseForeignCurrent();
    await rm(join(this.#directory, NEXT_LINK), { recursive: true, force: true });
    const names = await readdir(this.#releases);
    for (const name of names) {
      if (isLeftOver(name)) await rm(join(this.#releases, name), { recursive: true, force: true });
    }
    return this.#byAge(names.filter((name) => !name.startsWith('.')));
  }

  /** The current one counts as the newest, so that it is never removed before a newer one has taken its place. */
  async #byAge(names: readonly string[]): Promise<readonly string[]> {
    const current = basename((await this.current()) ?? '');
    const aged = await Promise.all(
      names.map(async (name) => ({ name, age: (await lstat(join(this.#releases, name))).mtimeMs })),
    );
    const older = aged.filter(({ name }) => name !== current).sort((a, b) => a.age - b.age);
    return [...older.map(({ name }) => name), ...names.filter((name) => name === current)];
  }

  async #refuseForeignCurrent(): Promise<void> {
    const stats = await lstat(join(this.#directory, 'current')).catch(ignoreMissing);
    if (stats !== undefined && !stats.isSymbolicLink())
      throw new ForeignEntry('current is not a symbolic link of ours: move it away');
  }

  #error(occurrence: string, reason: string, cause?: unknown): PublishError {
    const message = `Cannot publish ${occurrence} to ${this.#directory}: ${reason}. What was published before stays in use.`;
    return new PublishError(message, cause === undefined ? undefined : { cause });
  }
}

class ForeignEntry extends Error {}

/** Whoever had it published may not publish any more. */
class Withdrawn extends Error {
  override readonly message = 'it was withdrawn';
}

function isLeftOver(name: string): boolean {
  return name.startsWith(STAGED) || name.startsWith(REMOVED);
}

function faultOfOccurrence(occurrence: string): string | undefined {
  const fit = /^[A-Za-z0-9][A-Za-z0-9._-]{0,199}$/.test(occurrence);
  return fit ? undefined : 'the name of an occurrence has letters, digits, ".", "_" and "-" only';
}

/** Leaves nothing behind when the work fails. */
async function orRemove<T>(path: string, work: () => Promise<T>): Promise<T> {
  try {
    return await work();
  } catch (error) {
    await rm(path, { recursive: true, force: true }).catch(() => undefined);
    throw error;
  }
}

function ignoreMissing(error: unknown): undefined {
  if (systemErrorCode(error) === 'ENOENT') return undefined;
  throw error;
}

const REASONS: ReadonlyMap<string, string> = new Map([
  ['ENOSPC', 'the disk is full; free some space'],
  ['EDQUOT', 'the disk quota is used up; free some space'],
  ['EROFS', 'the file system is read-only; give a directory that can be written'],
  ['EACCES', 'it may not be written; give this user the right to'],
  ['EPERM', 'it may not be written; give this user the right to'],
  ['ENOTDIR', 'there is a file where a directory has to be; move it away'],
  ['EEXIST', 'there is a file where a directory has to be; move it away'],
  ['ENAMETOOLONG', 'a file name is longer than the file system allows'],
]);

function explain(error: unknown): string {
  if (error instanceof ForeignEntry || error instanceof Withdrawn) return error.message;
  const code = systemErrorCode(error);
  const reason = REASONS.get(code);
  return reason === undefined ? code : `${reason} (${code})`;
}
