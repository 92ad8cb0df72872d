import { createHash } from 'node:crypto';
import type { RenderConfig } from '../config/render-config.js';
import { type ConfigFile, type InstallOptions, type Manifest, metadata, NAME } from './manifest.js';

const CONFIG_MAP = `${NAME}-config`;

/** Where the files stand inside the Pod. */
export const CONFIG_FOLDER = '/etc/rendergate';

/** What the API server lets the values of one ConfigMap take together, bytes. */
const MAX_BYTES = 1024 * 1024;

/** The files together are more than a ConfigMap holds. */
export class ConfigTooLargeError extends Error {
  override readonly name = 'ConfigTooLargeError';
  readonly code = 'CONFIG_TOO_LARGE';
}

/** The ConfigMap with the RenderConfig and its template files. Throws ConfigTooLargeError. */
export function configMap(_config: RenderConfig, { namespace, files }: InstallOptions): Manifest[] {
  requireSize(files);
  const data = Object.fromEntries(files.map(({ path, text }) => [keyOf(path), text]));
  return [{ apiVersion: 'v1', kind: 'ConfigMap', metadata: metadata(CONFIG_MAP, namespace, 'server'), data }];
}

/** The volume that puts each key back at the path that `templateFile` says. */
export function configVolume(name: string, files: readonly ConfigFile[]): object {
  const items = files.map(({ path }) => ({ key: keyOf(path), path }));
  return { name, configMap: { name: CONFIG_MAP, items } };
}

/** SHA-256 over paths and texts: on the Pod template, so that a changed configuration rolls the replicas. */
export function configDigest(files: readonly ConfigFile[]): string {
  return createHash('sha256')
    .update(JSON.stringify(files.map(({ path, text }) => [path, text])))
    .digest('hex');
}

/**
 * A key can't hold "/": it becomes "__", and any other byte that a key can't hold, "_" too, "_" and its number. So no two
 * paths share a key.
 */
export function keyOf(path: string): string {
  const escaped = (byte: number): string => {
    const char = String.fromCharCode(byte);
    if (/[A-Za-z0-9.-]/.test(char)) return char;
    return char === '/' ? '__' : `_${byte.toString(16).padStart(2, '0')}`;
  };
  return [...Buffer.from(path)].map(escaped).join('');
}

function requireSize(files: readonly ConfigFile[]): void {
  const sized = files.map(({ path, text }) => ({ path, bytes: Buffer.byteLength(text) }));
  const total = sized.reduce((sum, { bytes }) => sum + bytes, 0);
  if (total <= MAX_BYTES) return;
  const largest = sized.sort((a, b) => b.bytes - a.bytes).slice(0, 3);
  const list = largest.map(({ path, bytes }) => `${path} (${bytes})`).join(', ');
  throw new ConfigTooLargeError(
    `the configuration takes ${total} bytes, and a ConfigMap holds ${MAX_BYTES}, so the API server would refuse it; ` +
      `shorten its largest files: ${list}`,
  );
}
