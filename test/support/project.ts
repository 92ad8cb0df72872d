import { existsSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { fileURLToPath } from 'node:url';

/** The repository's root: the same whether this file runs from `test/` (jest) or from `dist/test/` (built). */
export const PROJECT_ROOT = findRoot(dirname(fileURLToPath(import.meta.url)));

/** The built command line program that real processes are started from. */
export const CLI = join(PROJECT_ROOT, 'dist/src/cli/main.js');

/** The configuration that is shipped. */
export const SHIPPED_CONFIG = join(PROJECT_ROOT, 'deploy/haproxy');

function findRoot(folder: string): string {
  if (existsSync(join(folder, 'package.json'))) return folder;
  const parent = dirname(folder);
  if (parent === folder) throw new Error('no package.json above the test support files');
  return findRoot(parent);
}
