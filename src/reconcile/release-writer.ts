import { chmod, link, lstat, mkdir } from 'node:fs/promises';
import { dirname, join } from 'node:path';
import { syncDirectory, writeNewFile } from './durable-file.js';

/** One rendered file. */
export interface PublishedFile {
  /** Relative, with `/`: `certs/shop.pem`. */
  readonly name: string;
  readonly text: string;
  /** Readable for our own user only. */
  readonly sensitive: boolean;
}

/** A file as it was written, to know it again in the next release. */
interface WrittenFile {
  readonly path: string;
  readonly text: string;
  readonly sensitive: boolean;
  readonly print: string;
}

/** What a release consists of, by name. */
export type Release = ReadonlyMap<string, WrittenFile>;

/** Files in work at once: Node has four threads for them, and waiting for the disk costs none of ours. */
const PARALLEL = 8;

/**
 * Writes a release into a directory that must not exist. A file with the text it had in the release before becomes
 * another name (hard link) of that one, unless somebody touched it: no bytes written, nothing to wait for.
 * Returns what was written, with the paths it will have once the directory is called `finalPath`.
 */
export async function writeRelease(
  directory: string,
  finalPath: string,
  files: readonly PublishedFile[],
  before: Release,
  durable: boolean,
): Promise<Release> {
  const directories = directoriesOf(files);
  for (const [path, mode] of directories) await makeDirectory(join(directory, path), mode);
  const release = new Map<string, WrittenFile>();
  await inParallel(files, async (file) => {
    const print = await writeOrLink(join(directory, file.name), file, before.get(file.name), durable);
    release.set(file.name, { ...file, path: join(finalPath, file.name), print });
  });
  if (durable) for (const path of directories.keys()) await syncDirectory(join(directory, path));
  return release;
}

/** Every directory of the release with its mode, parents first; '' is the release itself. 0700 where all below is sensitive. */
function directoriesOf(files: readonly PublishedFile[]): ReadonlyMap<string, number> {
  const modes = new Map<string, number>([
    ['', files.length > 0 && files.every((file) => file.sensitive) ? 0o700 : 0o755],
  ]);
  for (const { name, sensitive } of files) {
    for (const path of parentsOf(name)) modes.set(path, sensitive ? (modes.get(path) ?? 0o700) : 0o755);
  }
  return modes;
}

/** `a/b/c.pem` -> `a`, `a/b`. */
function parentsOf(name: string): readonly string[] {
  const parent = dirname(name);
  return parent === '.' ? [] : [...parentsOf(parent), parent];
}

async function makeDirectory(path: string, mode: number): Promise<void> {
  await mkdir(path, { mode });
  await chmod(path, mode);
}

async function writeOrLink(
  path: string,
  file: PublishedFile,
  before: WrittenFile | undefined,
  durable: boolean,
): Promise<string> {
  const same = before?.text === file.text && before.sensitive === file.sensitive;
  if (same && (await linked(before, path))) return before.print;
  return printOf(await writeNewFile(path, file.text, { mode: file.sensitive ? 0o600 : 0o644, durable }));
}

/** False where it is not to be had: somebody touched the file, or the file system has no links. */
async function linked(before: WrittenFile, path: string): Promise<boolean> {
  try {
    if (printOf(await lstat(before.path)) !== before.print) return false;
    await link(before.path, path);
    return true;
  } catch {
    return false;
  }
}

/** Not the ctime: it changes with every further name. */
function printOf(stats: { ino: number; size: number; mtimeMs: number; mode: number }): string {
  return `${stats.ino} ${stats.size} ${stats.mtimeMs} ${stats.mode}`;
}

/** Rejects with the first failure, and only when nothing is in work any more. */
async function inParallel<T>(items: readonly T[], work: (item: T) => Promise<void>): Promise<void> {
  const queue = items.values();
  const failures: unknown[] = [];
  const worker = async (): Promise<void> => {
    for (let next = queue.next(); !next.done && failures.length === 0; next = queue.next()) {
      await work(next.value).catch((error: unknown) => failures.push(error));
    }
  };
  await Promise.all(Array.from({ length: PARALLEL }, worker));
  if (failures.length > 0) throw failures[0];
}

const UNFIT = /[\u0000-\u001f\u007f\\]|\p{Surrogate}/u;

/**
 * Why the files cannot make up a release, or undefined: names have to be relative and inside, and each its own. They may
 * come from objects of the cluster, a certificate's name for one.
 */
export function faultOfNames(files: readonly PublishedFile[]): string | undefined {
  const names = new Set<string>();
  for (const { name } of files) {
    const parts = name.split('/');
    const outside = parts.some((part) => part === '' || part === '.' || part === '..');
    if (outside || UNFIT.test(name))
      return `the file name ${JSON.stringify(name)} is not a relative path inside the output`;
    if (names.has(name)) return `the file ${name} is there twice`;
    names.add(name);
  }
  const both = files.flatMap(({ name }) => parentsOf(name)).find((parent) => names.has(parent));
  return both === undefined ? undefined : `${both} is a file and a directory`;
}
