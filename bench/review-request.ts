import type { Manifest } from './data.js';

export type Operation = 'CREATE' | 'UPDATE' | 'DELETE';

let sent = 0;

/** The text of the AdmissionReview that the API server would send about an Ingress; every call has a uid of its own. */
export function reviewOf(operation: Operation, object: Manifest, oldObject: Manifest | null): string {
  const { namespace, name } = object['metadata'] as { readonly namespace: string; readonly name: string };
  const group = 'networking.k8s.io';
  const kind = { group, version: 'v1', kind: 'Ingress' };
  const resource = { group, version: 'v1', resource: 'ingresses' };
  const request = {
    uid: `00000000-0000-4000-8000-${String(++sent).padStart(12, '0')}`,
    kind,
    resource,
    requestKind: kind,
    requestResource: resource,
    namespace,
    name,
    operation,
    userInfo: { username: 'system:serviceaccount:flux-system:kustomize-controller', groups: ['system:authenticated'] },
    object: operation === 'DELETE' ? null : object,
    oldObject,
    dryRun: false,
    options: { apiVersion: 'meta.k8s.io/v1', kind: `${operation[0] ?? ''}${operation.slice(1).toLowerCase()}Options` },
  };
  return JSON.stringify({ kind: 'AdmissionReview', apiVersion: 'admission.k8s.io/v1', request });
}

export interface Verdict {
  readonly allowed: boolean;
  readonly code: number;
  readonly message: string;
}

export function verdictOf(text: string): Verdict {
  const { response } = JSON.parse(text) as {
    readonly response: {
      readonly allowed: boolean;
      readonly status?: { readonly code?: number; readonly message?: string };
    };
  };
  return { allowed: response.allowed, code: response.status?.code ?? 200, message: response.status?.message ?? '' };
}
