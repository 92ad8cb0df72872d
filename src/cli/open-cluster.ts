import type { ApiClient } from '../cluster/api-client.js';
import type { Cluster } from '../cluster/cluster.js';
import { acceptsOf, EmbeddedCluster } from '../cluster/embedded-cluster.js';
import { KubeCluster } from '../cluster/kube-cluster.js';
import type { RenderConfig } from '../config/render-config.js';
import { UsageError } from './failure.js';

export interface ClusterOptions {
  readonly resources?: string;
  readonly kube?: boolean;
  readonly kubeconfig?: string;
  readonly context?: string;
}

/** The directory of `--resources`, or with `--kube` the API server. Throws UsageError for a mixture or a bad kubeconfig. */
export async function openCluster(
  config: RenderConfig,
  options: ClusterOptions,
): Promise<{ readonly cluster: Cluster; readonly from: string; readonly client?: ApiClient }> {
  const { resources, kubeconfig, context } = options;
  const isKube = options.kube === true || kubeconfig !== undefined || context !== undefined;
  if (isKube && resources !== undefined)
    throw new UsageError('--resources and --kube exclude each other: a directory of manifests, or a cluster');
  if (!isKube) {
    const directory = resources ?? '.';
    return { cluster: new EmbeddedCluster(directory, acceptsOf(config.watchedResources)), from: directory };
  }
  const client = await apiClient(kubeconfig, context);
  return { cluster: new KubeCluster(client, config.watchedResources), from: client.server, client };
}

async function apiClient(kubeconfig: string | undefined, context: string | undefined): Promise<ApiClient> {
  // Loaded only here: Kubernetes' client takes half a second and 130 MB, which a directory of manifests need not pay.
  const { ApiClient } = await import('../cluster/api-client.js');
  try {
    return new ApiClient({ kubeconfig, context });
  } catch (error) {
    throw new UsageError(`no cluster to follow: ${error instanceof Error ? error.message : String(error)}`);
  }
}
