import { cpSync, readFileSync, readdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';

import { parseDocument } from 'yaml';

import { SHIPPED_CONFIG } from '../support/project.js';
import { fields } from './answer.js';

/** File of the RenderConfig document in the shipped folder and in every copy. */
export const CONFIG_FILE = 'rendergate.yaml';

export interface ConfigChanges {
  /** `config-backend` sets `extraContext.configBackend: true`. */
  readonly features?: readonly string[];
  /** Program that stands in front of the real checker. */
  readonly checker?: string;
  /** Values by path below `spec`: `['admission', 'budget'], '40s'`. */
  readonly values?: readonly (readonly [path: readonly string[], value: unknown])[];
}

export interface ConfigCopy {
  readonly path: string;
  /** `networking.k8s.io Ingress` for each watched resource. */
  readonly watched: ReadonlySet<string>;
}

const USUAL_CHECK = ['haproxy', '-c', '-C', '{dir}', '-f', 'haproxy.cfg'];

/** Copies the shipped configuration with its templates into `directory` and changes what a test needs changed. */
export function copyConfig(directory: string, changes: ConfigChanges = {}): ConfigCopy {
  cpSync(SHIPPED_CONFIG, directory, { recursive: true });
  const path = join(directory, configFileOf(directory));
  const document = parseDocument(readFileSync(path, 'utf8'));
  for (const feature of changes.features ?? []) document.setIn(['spec', 'extraContext', camelCase(feature)], true);
  if (changes.checker !== undefined) {
    const shipped = fields(fields(fields(document.toJS())['spec'])['check'])['command'];
    const command = Array.isArray(shipped) ? shipped : USUAL_CHECK;
    document.setIn(['spec', 'check', 'command'], [changes.checker, ...command.slice(1)]);
  }
  for (const [place, value] of changes.values ?? []) document.setIn(['spec', ...place], value);
  writeFileSync(path, document.toString());
  return { path, watched: watchedKinds(document.toJS()) };
}

function configFileOf(directory: string): string {
  return readdirSync(directory).includes(CONFIG_FILE) ? CONFIG_FILE : 'renderconfig.yaml';
}

function camelCase(feature: string): string {
  return feature.replace(/-([a-z0-9])/g, (_, letter: string) => letter.toUpperCase());
}

function watchedKinds(document: unknown): ReadonlySet<string> {
  const resources = Object.values(fields(fields(fields(document)['spec'])['watchedResources'])).map(fields);
  return new Set(resources.map(({ apiVersion, kind }) => watchedKey(String(apiVersion), String(kind))));
}

/** Key of a kind in `ConfigCopy.watched`, whatever its version. */
export function watchedKey(apiVersion: string, kind: string): string {
  return `${apiVersion.includes('/') ? apiVersion.slice(0, apiVersion.indexOf('/')) : ''} ${kind}`;
}
