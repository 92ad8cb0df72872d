import type { RenderConfig, WatchedResource } from '../config/render-config.js';
import { groupOf, versionOf } from './api-group.js';
import { type InstallOptions, type Manifest, metadata, NAME } from './manifest.js';

/** Name of the entry, as `kubectl` shows it when a change is denied. */
const ENTRY = 'validate.rendergate.dev';

/**
 * The registration, without `caBundle`: the server keeps that field by server-side apply, and applying this again leaves it
 * alone (`install.ts` says what follows while it is missing). Where nothing is reviewed it has no entry, which ends an older one.
 */
export function webhook(config: RenderConfig, { namespace }: InstallOptions): Manifest[] {
  const reviewed = config.watchedResources.filter(({ review }) => review);
  const entry = {
    name: ENTRY,
    admissionReviewVersions: ['v1'],
    clientConfig: { service: { namespace, name: NAME, path: '/validate', port: 443 } },
    failurePolicy: 'Fail',
    matchConditions: matchConditions(reviewed),
    matchPolicy: 'Equivalent',
    namespaceSelector: { matchExpressions: [outside(namespace)] },
    rules: reviewRules(config),
    sideEffects: 'None',
    timeoutSeconds: 10,
  };
  return [
    {
      apiVersion: 'admissionregistration.k8s.io/v1',
      kind: 'ValidatingWebhookConfiguration',
      metadata: metadata(NAME),
      webhooks: reviewed.length === 0 ? [] : [entry],
    },
  ];
}

/** Our own Secrets and Lease, and what the cluster needs to come up, never wait for us. The API server sets this label itself. */
function outside(namespace: string): object {
  const values = [...new Set([namespace, 'kube-system'])];
  return { key: 'kubernetes.io/metadata.name', operator: 'NotIn', values };
}

/** What the API server is to send: the resources with `review: true`. */
export function reviewRules({ watchedResources }: RenderConfig): readonly ReviewRule[] {
  return watchedResources.filter(({ review }) => review).map(ruleOf);
}

interface ReviewRule {
  readonly apiGroups: readonly string[];
  readonly apiVersions: readonly string[];
  readonly operations: readonly string[];
  readonly resources: readonly string[];
  readonly scope?: 'Cluster' | 'Namespaced';
}

function ruleOf(watched: WatchedResource): ReviewRule {
  const group = groupOf(watched);
  const scope = SCOPES[`${group}/${watched.resource}`];
  return {
    apiGroups: [group],
    apiVersions: [versionOf(watched)],
    operations: ['CREATE', 'UPDATE', 'DELETE'],
    resources: [watched.resource],
    ...(scope === undefined ? {} : { scope }),
  };
}

/** Of the kinds that load balancers are configured by. Of any other the API server decides; a wrong scope would match nothing. */
const SCOPES: Readonly<Record<string, 'Cluster' | 'Namespaced'>> = {
  '/configmaps': 'Namespaced',
  '/endpoints': 'Namespaced',
  '/namespaces': 'Cluster',
  '/nodes': 'Cluster',
  '/pods': 'Namespaced',
  '/secrets': 'Namespaced',
  '/services': 'Namespaced',
  'discovery.k8s.io/endpointslices': 'Namespaced',
  'gateway.networking.k8s.io/gatewayclasses': 'Cluster',
  'gateway.networking.k8s.io/gateways': 'Namespaced',
  'gateway.networking.k8s.io/grpcroutes': 'Namespaced',
  'gateway.networking.k8s.io/httproutes': 'Namespaced',
  'gateway.networking.k8s.io/referencegrants': 'Namespaced',
  'gateway.networking.k8s.io/tcproutes': 'Namespaced',
  'gateway.networking.k8s.io/tlsroutes': 'Namespaced',
  'networking.k8s.io/ingressclasses': 'Cluster',
  'networking.k8s.io/ingresses': 'Namespaced',
};

interface MatchCondition {
  readonly name: string;
  readonly expression: string;
}

/** Traffic that the rules can't tell apart, and frequent traffic that no later edit of the rules shall bring in. */
function matchConditions(reviewed: readonly WatchedResource[]): MatchCondition[] {
  const secrets = reviewed.some((watched) => groupOf(watched) === '' && watched.resource === 'secrets');
  return [NO_SUBRESOURCE, NO_LEASE, ...(secrets ? [TLS_SECRETS] : [])];
}

const NO_SUBRESOURCE = {
  name: 'no-subresource',
  expression: "!has(request.subResource) || request.subResource == ''",
};

const NO_LEASE = {
  name: 'no-lease',
  expression: "!(request.resource.group == 'coordination.k8s.io' && request.resource.resource == 'leases')",
};

/** On DELETE only `oldObject` is there. A type never changes, and the API server has defaulted it. */
const TLS_SECRETS = {
  name: 'secrets-of-tls-only',
  expression:
    "request.resource.group != '' || request.resource.resource != 'secrets' || " +
    "(object != null ? object : oldObject).type == 'kubernetes.io/tls'",
};
