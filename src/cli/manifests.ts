import { configFiles } from '../install/config-files.js';
import { printInstallation, printRemoval } from '../install/print.js';
import { UsageError } from './failure.js';
import { loadCheckedConfig } from './load.js';

export interface ManifestsOptions {
  readonly config: string;
  readonly namespace: string;
  readonly image: string;
  readonly replicas: number;
  readonly haproxyImage: string;
  readonly uninstall: boolean;
}

/** Uninstalling deletes the namespace, so it may not be one that others live in. */
const SHARED: ReadonlySet<string> = new Set(['default', 'kube-node-lease', 'kube-public', 'kube-system']);

/** Prints what `kubectl apply` installs, or with `uninstall` what `kubectl delete` removes. */
export function printManifests(options: ManifestsOptions): void {
  requireOwnNamespace(options.namespace);
  const config = loadCheckedConfig(options.config);
  const install = { ...options, files: configFiles(options.config, config) };
  process.stdout.write(options.uninstall ? printRemoval(config, install) : printInstallation(config, install));
}

function requireOwnNamespace(name: string): void {
  if (!/^[a-z0-9]([a-z0-9-]{0,61}[a-z0-9])?$/.test(name))
    throw new UsageError(
      `--namespace ${JSON.stringify(name)} is no name of small letters, digits and "-" (at most 63)`,
    );
  if (SHARED.has(name))
    throw new UsageError(
      `--namespace ${name} is the cluster's own: rendergate needs a namespace to itself, because uninstalling deletes it`,
    );
}
