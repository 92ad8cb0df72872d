import { spawn } from 'node:child_process';
import { mkdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { text } from 'node:stream/consumers';

import { CLI } from '../support/project.js';

export interface CliResult {
  readonly code: number | null;
  readonly stdout: string;
  readonly stderr: string;
}

export interface CliOptions {
  readonly input?: string;
  readonly env?: Readonly<Record<string, string>>;
  readonly cwd?: string;
}

/** Runs the built command line program to its end. */
export async function rendergate(args: readonly string[], options: CliOptions = {}): Promise<CliResult> {
  const { input = '', env = {}, cwd } = options;
  const child = spawn(process.execPath, [CLI, ...args], {
    env: { ...process.env, NODE_OPTIONS: '', NO_COLOR: '1', ...env },
    ...(cwd === undefined ? {} : { cwd }),
  });
  // It may end without having read its input.
  child.stdin.on('error', () => undefined);
  child.stdin.end(input);
  const code = new Promise<number | null>((resolve) => child.once('close', resolve));
  const [stdout, stderr] = await Promise.all([text(child.stdout), text(child.stderr)]);
  return { code: await code, stdout, stderr };
}

/**
 * Environment of a process that finds no haproxy: system folders are searched besides PATH, so that taking it out of PATH
 * hides nothing where Debian's package is installed.
 */
export function withoutHaproxy(): Readonly<Record<string, string>> {
  const hide = `import fs from 'node:fs';
import { syncBuiltinESMExports } from 'node:module';
const { statSync } = fs;
fs.statSync = (path, ...rest) => (/bin\\/haproxy$/.test(path) ? undefined : statSync(path, ...rest));
syncBuiltinESMExports();`;
  return { NODE_OPTIONS: `--import data:text/javascript,${encodeURIComponent(hide)}` };
}

/** Writes objects as manifests of a folder, a file each, and gives its path. */
export function manifests(folder: string, objects: readonly object[]): string {
  mkdirSync(folder, { recursive: true });
  objects.forEach((object, at) => writeFileSync(join(folder, `${at}.json`), JSON.stringify(object)));
  return folder;
}

/** Several objects as one text of YAML documents. */
export function documents(objects: readonly object[]): string {
  return objects.map((object) => `---\n${JSON.stringify(object)}\n`).join('');
}
