import { readFileSync, realpathSync, statSync } from 'node:fs';
import { dirname, isAbsolute, join, relative, sep } from 'node:path';
import { type CheckTemplate, parseConfig, type ReadTemplate } from './parse-config.js';
import { ConfigError, type RenderConfig } from './render-config.js';

export const CONFIG_FILE = 'rendergate.yaml';

/** Far above any document or template; a path that was mistyped may be a disk image. */
const MAX_BYTES = 16 * 1024 * 1024;

/**
 * Reads a RenderConfig from a file, or from `rendergate.yaml` in a folder, with the template files beside it. Throws
 * ConfigError with every mistake, unreadable files and what `checkTemplate` finds included.
 */
export function loadConfig(path: string, checkTemplate?: CheckTemplate): RenderConfig {
  const file = configFileOf(path);
  return parseConfig(readOrThrow(file), file, templateReader(dirname(file)), checkTemplate);
}

/** The file that a `--config` stands for. */
export function configFileOf(path: string): string {
  return statSync(path, { throwIfNoEntry: false })?.isDirectory() === true ? join(path, CONFIG_FILE) : path;
}

function readOrThrow(file: string): string {
  const found = readBounded(file);
  if ('text' in found) return found.text;
  const message = `the RenderConfig ${found.problem}; --config takes a file, or a folder with ${CONFIG_FILE}`;
  throw new ConfigError([{ file, line: 1, column: 1, field: '', message }]);
}

/** Template files lie in the document's folder or below; links that lead out of it are not followed. */
function templateReader(folder: string): ReadTemplate {
  return (name) => {
    const path = join(folder, name);
    if (isAbsolute(name) || isOutside(folder, path))
      return { problem: 'lies outside of the folder of the configuration' };
    const found = readBounded(path);
    if ('text' in found && isOutside(realpathSync(folder), realpathSync(path))) {
      return { problem: 'is a link that leads out of the folder of the configuration' };
    }
    return found;
  };
}

function isOutside(folder: string, path: string): boolean {
  const way = relative(folder, path);
  return way === '..' || way.startsWith(`..${sep}`) || isAbsolute(way);
}

function readBounded(path: string): { text: string } | { problem: string } {
  try {
    const stats = statSync(path);
    if (!stats.isFile()) return { problem: 'is no file' };
    if (stats.size > MAX_BYTES) return { problem: `is larger than ${MAX_BYTES} bytes` };
    return { text: readFileSync(path, 'utf8') };
  } catch (error) {
    return { problem: REASONS[(error as NodeJS.ErrnoException).code ?? ''] ?? "can't be read" };
  }
}

const REASONS: Readonly<Record<string, string>> = {
  ENOENT: 'is not there',
  EACCES: 'may not be read by this user',
  ELOOP: 'is a link that leads to itself',
  ENOTDIR: 'has a file in its path where a folder should be',
};
