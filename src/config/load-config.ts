import { readdirSync, readFileSync, realpathSync, statSync } from 'node:fs';
import { basename, dirname, isAbsolute, join, relative } from 'node:path';
import { hintFor } from './diagnostics.js';
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

/** The document itself, where a folder was given. */
export function configFileOf(path: string): string {
  try {
    return statSync(path).isDirectory() ? join(path, CONFIG_FILE) : path;
  } catch {
    // What is wrong with it is found again, and told, when it is read.
    return path;
  }
}

function readOrThrow(file: string): string {
  const found = readBounded(file);
  if ('text' in found) return found.text;
  const hint = found.problem === REASONS['ENOENT'] ? hintFor(basename(file), filesIn(dirname(file), YAML_FILE)) : '';
  const message = `the RenderConfig ${found.problem}${hint}; --config takes a file, or a folder with ${CONFIG_FILE}`;
  throw new ConfigError([{ file, line: 1, column: 1, field: '', message }]);
}

const YAML_FILE = /\.ya?ml$/;

/** Template files lie in the document's folder or below; links that lead out of it are not followed. */
function templateReader(folder: string): ReadTemplate {
  return (name) => {
    if (!isInside(name)) return { problem: 'is no path below the folder of the configuration' };
    const found = readBounded(join(folder, name), folder);
    if ('text' in found || found.problem !== REASONS['ENOENT']) return found;
    return { ...found, files: filesIn(folder, /./, dirname(name)) };
  };
}

function isInside(name: string): boolean {
  return name !== '' && !isAbsolute(name) && !name.split(/[\\/]/).includes('..');
}

/** Names, relative to the folder, of the files of one folder below it: for "did you mean". */
function filesIn(folder: string, wanted: RegExp, below = ''): readonly string[] {
  try {
    return readdirSync(join(folder, below), { withFileTypes: true })
      .filter((entry) => entry.isFile() && wanted.test(entry.name))
      .map((entry) => join(below, entry.name));
  } catch {
    return [];
  }
}

/** The text of a file; with `folder`, only if that is where it really lies. Never waits: a pipe is no file. */
function readBounded(path: string, folder?: string): { text: string } | { problem: string } {
  try {
    const real = realpathSync(path);
    if (folder !== undefined && !isInside(relative(realpathSync(folder), real))) {
      return { problem: 'is a link that leads out of the folder of the configuration' };
    }
    const stats = statSync(real);
    if (!stats.isFile()) return { problem: 'is no file' };
    if (stats.size > MAX_BYTES) return { problem: `is larger than ${MAX_BYTES} bytes` };
    return { text: new TextDecoder('utf-8', { fatal: true }).decode(readFileSync(real)) };
  } catch (error) {
    return { problem: REASONS[(error as NodeJS.ErrnoException).code ?? ''] ?? "can't be read" };
  }
}

const REASONS: Readonly<Record<string, string>> = {
  ERR_ENCODING_INVALID_ENCODED_DATA: 'is no UTF-8 text',
  ENAMETOOLONG: 'has a name that is too long',
  ENOENT: 'is not there',
  EACCES: 'may not be read by this user',
  ELOOP: 'is a link that leads to itself',
  ENOTDIR: 'has a file in its path where a folder should be',
};
