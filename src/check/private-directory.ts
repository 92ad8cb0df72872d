import { chown, mkdir, mkdtemp, open, readdir, rm } from 'node:fs/promises';
import { dirname, join, posix } from 'node:path';
import type { CheckFile } from './checker.js';

/** User and group a checker runs as, when this process may choose. */
export interface RunAs {
  readonly uid: number;
  readonly gid: number;
}

/** Files written at once: enough to keep the disk busy, far below the usual limit of 1,024 open files. */
const WRITERS = 32;

/** A name that would leave the directory, or cannot be a file's name at all. */
export class UnsafeNameError extends Error {
  override readonly name = 'UnsafeNameError';
  readonly code = 'CHECK_FILE_NAME';
}

const PREFIX = 'rendergate-check-';

/**
 * Removes what processes left behind that were killed: it may hold private keys. A process with our own number, met
 * before we have made any, was another one; in a container all have the same.
 */
export async function removeAbandoned(parent: string, isOurs: boolean): Promise<void> {
  const names = await readdir(parent).catch(() => []);
  const abandoned = names.filter((name) => {
    const pid = Number(/^rendergate-check-(\d+)-/.exec(name)?.[1]);
    return pid === process.pid ? !isOurs : pid > 0 && !isAlive(pid);
  });
  await Promise.all(abandoned.map((name) => removeDirectory(join(parent, name))));
}

function isAlive(pid: number): boolean {
  try {
    return process.kill(pid, 0);
  } catch (error) {
    return (error as NodeJS.ErrnoException).code === 'EPERM';
  }
}

/** Makes a directory that only its owner can enter. Throws the file system's error. */
export async function makePrivateDirectory(parent: string, owner: RunAs | undefined): Promise<string> {
  // mkdtemp makes it with mode 0700.
  const directory = await mkdtemp(join(parent, `${PREFIX}${process.pid}-`));
  await give(directory, owner);
  return directory;
}

/**
 * Writes the files below the directory, sensitive ones with mode 0600. Throws UnsafeNameError before anything is
 * written, or the file system's error; the caller removes the directory in either case.
 */
export async function writeFiles(
  directory: string,
  files: readonly CheckFile[],
  owner: RunAs | undefined,
): Promise<void> {
  files.forEach((file) => requireSafeName(file.name));
  await makeFolders(directory, files, owner);
  await writeAll(directory, files, owner);
}

/** Removes it with its content; true when nothing is left. */
export async function removeDirectory(directory: string): Promise<boolean> {
  return rm(directory, { recursive: true, force: true, maxRetries: 3 }).then(
    () => true,
    () => false,
  );
}

/** Relative, below the directory, written in the one normal way: no `..`, no empty part, no backslash, no control character. */
function requireSafeName(name: string): void {
  const plain = name !== '' && !/[\u0000-\u001f\u007f\\]/.test(name);
  const inside = !posix.isAbsolute(name) && posix.normalize(name) === name && !/^\.\.?(\/|$)/.test(name);
  if (!plain || !inside || name.endsWith('/')) throw new UnsafeNameError('a file name leaves the directory');
}

async function makeFolders(directory: string, files: readonly CheckFile[], owner: RunAs | undefined): Promise<void> {
  const folders = new Set(files.flatMap((file) => parentsOf(file.name)));
  for (const folder of [...folders].sort()) {
    await mkdir(join(directory, folder), { mode: 0o700 });
    await give(join(directory, folder), owner);
  }
}

function parentsOf(name: string): string[] {
  const parent = dirname(name);
  return parent === '.' ? [] : [...parentsOf(parent), parent];
}

async function writeAll(directory: string, files: readonly CheckFile[], owner: RunAs | undefined): Promise<void> {
  const queue = files.values();
  const writer = async (): Promise<void> => {
    for (const file of queue) await write(directory, file, owner);
  };
  // Every writer is waited for, so that none still writes while the caller removes the directory.
  const ends = await Promise.allSettled(Array.from({ length: Math.min(WRITERS, files.length) }, writer));
  const failed = ends.find((end) => end.status === 'rejected');
  if (failed !== undefined) throw failed.reason;
}

async function write(directory: string, file: CheckFile, owner: RunAs | undefined): Promise<void> {
  // `wx` follows no link and refuses a second file of the same name.
  const handle = await open(join(directory, file.name), 'wx', file.sensitive ? 0o600 : 0o644);
  try {
    await handle.writeFile(file.text);
    if (owner !== undefined) await handle.chown(owner.uid, owner.gid);
  } finally {
    await handle.close();
  }
}

async function give(path: string, owner: RunAs | undefined): Promise<void> {
  if (owner !== undefined) await chown(path, owner.uid, owner.gid);
}
