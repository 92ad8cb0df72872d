import { loadConfig } from '../../src/config/load-config.js';
import type { RenderConfig, WatchedResource } from '../../src/config/render-config.js';
import { configFiles } from '../../src/install/config-files.js';
import { installation } from '../../src/install/install.js';
import type { InstallOptions, Manifest } from '../../src/install/manifest.js';
import { SHIPPED_CONFIG } from '../support/project.js';

export const shipped = loadConfig(SHIPPED_CONFIG);

export const options: InstallOptions = {
  namespace: 'gate',
  image: 'example.com/rendergate:9',
  replicas: 3,
  haproxyImage: 'example.com/haproxy:2.6',
  files: configFiles(SHIPPED_CONFIG, shipped),
};

/** The shipped configuration with other resources. */
export function watching(...resources: readonly Partial<WatchedResource>[]): RenderConfig {
  const missing = { indexBy: [], review: false, optional: false, ignoreFields: [] };
  const watchedResources = resources.map((resource, at) => ({
    ...{ alias: `a${at}`, apiVersion: 'v1', kind: 'Thing', resource: 'things', ...missing },
    ...resource,
  }));
  return { ...shipped, watchedResources };
}

export function installed(config: RenderConfig = shipped): Manifest[] {
  return installation(config, options).flatMap(({ objects }) => objects);
}

/** The object as loosely typed JSON: tests look deep into it. Throws where there is not exactly one. */
// eslint-disable-next-line @typescript-eslint/no-explicit-any
export function only(kind: string, name: string, config: RenderConfig = shipped): any {
  const found = installed(config).filter((object) => object.kind === kind && object.metadata.name === name);
  if (found.length !== 1) throw new Error(`${found.length} of ${kind} ${name}`);
  return found[0];
}
