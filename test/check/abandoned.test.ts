import { spawnSync } from 'node:child_process';
import { existsSync, mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';

import { afterEach, beforeEach, expect, it } from '@jest/globals';

import { removeAbandoned } from '../../src/check/private-directory.js';

let folder: string;
beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), 'rg-'));
});
afterEach(() => rmSync(folder, { recursive: true, force: true }));

function leave(name: string): string {
  const path = join(folder, name);
  mkdirSync(join(path, 'certs'), { recursive: true });
  writeFileSync(join(path, 'certs/key.pem'), 'secret', { mode: 0o600 });
  return path;
}

/** The number of a process that has ended. */
function deadPid(): number {
  return spawnSync('true').pid;
}

it('what a killed process left is removed, what a living one has is not', async () => {
  const dead = leave(`rendergate-check-${deadPid()}-aaaaaa`);
  const living = leave(`rendergate-check-${process.ppid}-bbbbbb`);
  const other = leave('rendergate-server-cccccc');
  await removeAbandoned(folder, true);
  expect([dead, living, other].map((path) => existsSync(path))).toEqual([false, true, true]);
});

it('a directory under our own number is somebody else’s only before we have made one', async () => {
  const own = leave(`rendergate-check-${process.pid}-dddddd`);
  await removeAbandoned(folder, true);
  expect(existsSync(own)).toBe(true);
  await removeAbandoned(folder, false);
  expect(existsSync(own)).toBe(false);
});

it('a folder that is not there is no trouble', async () => {
  await expect(removeAbandoned(join(folder, 'none'), false)).resolves.toBeUndefined();
});
