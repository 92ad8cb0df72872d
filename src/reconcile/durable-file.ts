import type { Stats } from 'node:fs';
import { open } from 'node:fs/promises';

export interface NewFileOptions {
  readonly mode: number;
  /** Wait until the content is on the disk, so that a name given to it later never stands for less after a power loss. */
  readonly durable: boolean;
}

/** Writes a file that must not exist yet; nobody but us can read it before it has its mode, whatever the umask. */
export async function writeNewFile(path: string, text: string, { mode, durable }: NewFileOptions): Promise<Stats> {
  const handle = await open(path, 'wx', 0o600);
  try {
    await handle.writeFile(text, 'utf8');
    await handle.chmod(mode);
    if (durable) await handle.sync();
    return await handle.stat();
  } finally {
    await handle.close();
  }
}

/** Makes the names in a directory (created, renamed, removed) survive a power loss. */
export async function syncDirectory(path: string): Promise<void> {
  const handle = await open(path, 'r');
  try {
    await handle.sync();
  } finally {
    await handle.close();
  }
}
