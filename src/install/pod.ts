import { type Component, type Manifest, selectorOf, USER } from './manifest.js';

/** What the Pod Security Standard "restricted" asks of a Pod. */
export const POD_SECURITY = {
  runAsNonRoot: true,
  runAsUser: USER,
  runAsGroup: USER,
  fsGroup: USER,
  seccompProfile: { type: 'RuntimeDefault' },
};

/** And of each of its containers. */
export const CONTAINER_SECURITY = {
  allowPrivilegeEscalation: false,
  readOnlyRootFilesystem: true,
  capabilities: { drop: ['ALL'] },
};

/** A folder in memory, because private keys are written there: they never reach a node's disk. It counts as the container's memory. */
export function memoryVolume(name: string): object {
  return { name, emptyDir: { medium: 'Memory' } };
}

/** Replicas on different nodes and zones where there are any; a cluster of one node still runs them all. */
export function spreading(component: Component): object {
  const labelSelector = { matchLabels: selectorOf(component) };
  const apart = { labelSelector, topologyKey: 'kubernetes.io/hostname' };
  return {
    affinity: {
      podAntiAffinity: { preferredDuringSchedulingIgnoredDuringExecution: [{ weight: 100, podAffinityTerm: apart }] },
    },
    topologySpreadConstraints: [
      { maxSkew: 1, topologyKey: 'topology.kubernetes.io/zone', whenUnsatisfiable: 'ScheduleAnyway', labelSelector },
    ],
  };
}

/** A new replica is ready before an old one goes. */
export const ROLLING = { type: 'RollingUpdate', rollingUpdate: { maxSurge: 1, maxUnavailable: 0 } };

/** One Pod at a time leaves a node that is drained: with `minAvailable` a single replica would block the drain for good. */
export function disruptionBudget(metadata: Manifest['metadata'], component: Component): Manifest {
  return {
    apiVersion: 'policy/v1',
    kind: 'PodDisruptionBudget',
    metadata,
    spec: { maxUnavailable: 1, selector: { matchLabels: selectorOf(component) } },
  };
}

/** Answers on plain HTTP, which is where probes go. */
export function probe(path: string, port: string, periodSeconds: number, failureThreshold: number): object {
  return { httpGet: { path, port }, periodSeconds, timeoutSeconds: 5, failureThreshold };
}
