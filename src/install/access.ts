import type { RenderConfig } from '../config/render-config.js';
import { groupOf } from './api-group.js';
import { type InstallOptions, type Manifest, metadata, NAME } from './manifest.js';

const RBAC = 'rbac.authorization.k8s.io';
const READ = ['get', 'list', 'watch'];

interface Rule {
  readonly apiGroups: readonly string[];
  readonly resources: readonly string[];
  readonly resourceNames?: readonly string[];
  readonly verbs: readonly string[];
}

/** The server's account and what it may do: read what the configuration watches, write only what is its own. */
export function serverAccess(config: RenderConfig, { namespace }: InstallOptions): Manifest[] {
  const cluster = [...watchedRules(config), ...CLUSTER_RULES];
  return [
    serviceAccount(NAME, namespace),
    { apiVersion: `${RBAC}/v1`, kind: 'ClusterRole', metadata: metadata(NAME), rules: cluster },
    binding('ClusterRoleBinding', NAME, namespace),
    ...namespacedAccess(NAME, namespace, NAMESPACE_RULES),
  ];
}

/** Used by Pods that say so; nobody else gets its token by leaving a field out. */
export function serviceAccount(name: string, namespace: string): Manifest {
  const automountServiceAccountToken = false;
  return {
    apiVersion: 'v1',
    kind: 'ServiceAccount',
    metadata: metadata(name, namespace),
    automountServiceAccountToken,
  };
}

/** A Role and its binding to the account of the same name. */
export function namespacedAccess(name: string, namespace: string, rules: readonly Rule[]): Manifest[] {
  const role = { apiVersion: `${RBAC}/v1`, kind: 'Role', metadata: metadata(name, namespace), rules };
  return [role, binding('RoleBinding', name, namespace)];
}

/** Whoever reads publications: the parts are named by their digest, so no list of names can narrow this. */
export const READ_SECRETS: Rule = { apiGroups: [''], resources: ['secrets'], verbs: READ };

/** Events about objects of any namespace are made there; both groups stand for the same objects. */
const CLUSTER_RULES: readonly Rule[] = [
  { apiGroups: ['', 'events.k8s.io'], resources: ['events'], verbs: ['create', 'patch'] },
  // No create: a registration that was deleted to get out of trouble does not come back by itself.
  {
    apiGroups: ['admissionregistration.k8s.io'],
    resources: ['validatingwebhookconfigurations'],
    resourceNames: [NAME],
    verbs: [...READ, 'patch'],
  },
];

/** `create` can't be limited by name: the name of what is posted is not known when the right is checked. */
const NAMESPACE_RULES: readonly Rule[] = [
  { apiGroups: ['coordination.k8s.io'], resources: ['leases'], verbs: ['create'] },
  {
    apiGroups: ['coordination.k8s.io'],
    resources: ['leases'],
    resourceNames: [NAME],
    verbs: ['get', 'update', 'patch'],
  },
  { apiGroups: [''], resources: ['secrets'], verbs: [...READ, 'create', 'update', 'patch', 'delete'] },
  { apiGroups: ['discovery.k8s.io'], resources: ['endpointslices'], verbs: READ },
];

/** One rule for each API group, optional resources included: their CRD may come later. */
function watchedRules({ watchedResources }: RenderConfig): Rule[] {
  const groups = [...new Set(watchedResources.map(groupOf))].sort();
  return groups.map((group) => {
    const resources = watchedResources.filter((watched) => groupOf(watched) === group).map(({ resource }) => resource);
    return { apiGroups: [group], resources: [...new Set(resources)].sort(), verbs: READ };
  });
}

function binding(kind: 'ClusterRoleBinding' | 'RoleBinding', name: string, namespace: string): Manifest {
  return {
    apiVersion: `${RBAC}/v1`,
    kind,
    metadata: kind === 'RoleBinding' ? metadata(name, namespace) : metadata(name),
    roleRef: { apiGroup: RBAC, kind: kind === 'RoleBinding' ? 'Role' : 'ClusterRole', name },
    subjects: [{ kind: 'ServiceAccount', name, namespace }],
  };
}
