import { chmodSync, mkdirSync, mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';

export interface Scratch {
  readonly path: string;
  /** Makes a folder below (mode 0755 unless told) and gives its path. */
  folder(name: string, mode?: number): string;
  remove(): void;
}

/**
 * A temporary directory that other users may enter: a checker runs as somebody else where the tests run as root. The
 * name is short, because Unix socket paths below it end after 107 bytes.
 */
export function makeScratch(prefix = 'rg-'): Scratch {
  const path = mkdtempSync(join(tmpdir(), prefix));
  chmodSync(path, 0o755);
  return {
    path,
    folder: (name, mode = 0o755) => makeFolder(join(path, name), mode),
    remove: () => rmSync(path, { recursive: true, force: true, maxRetries: 5 }),
  };
}

function makeFolder(path: string, mode: number): string {
  mkdirSync(path, { recursive: true });
  chmodSync(path, mode);
  return path;
}
