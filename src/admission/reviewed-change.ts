import type { RenderConfig, WatchedResource } from '../config/render-config.js';
import { objectLabel } from '../render/keys.js';
import type { ObjectChange } from '../render/protocol.js';
import type { AdmissionRequest } from './decode-review.js';

/** What a request asks of us. */
export type Scope =
  /** Nothing that a render could see: allowed without work. */
  | { readonly kind: 'outside'; readonly reason: 'subresource' | 'connect' | 'out-of-scope' }
  | { readonly kind: 'refused'; readonly message: string }
  | { readonly kind: 'change'; readonly change: ReviewedChange };

export interface ReviewedChange {
  readonly change: ObjectChange;
  readonly operation: 'CREATE' | 'UPDATE' | 'DELETE';
  /** `ingresses shop/web`. */
  readonly label: string;
  /** `shop/web`, or the name alone for a cluster-scoped object: how messages begin. */
  readonly title: string;
  /** uid of the object, where it has one. */
  readonly objectUid: string;
  /** Being deleted: only its finalizers keep it, so no fault of it may hold it up. */
  readonly dying: boolean;
  readonly dryRun: boolean;
}

/** Decides by kind and resource, never by requestKind (protocol lines P4 to P8). */
export function scopeOf(request: AdmissionRequest, config: RenderConfig): Scope {
  if (request.operation === 'CONNECT') return { kind: 'outside', reason: 'connect' };
  if (request.subResource !== '') return { kind: 'outside', reason: 'subresource' };
  const { operation } = request;
  if (operation !== 'CREATE' && operation !== 'UPDATE' && operation !== 'DELETE') {
    const named =
      operation === '' ? 'the request has no operation' : `the operation "${printable(operation)}" is not known`;
    return { kind: 'refused', message: `${named}; CREATE, UPDATE, DELETE and CONNECT can be judged` };
  }
  const watched = config.watchedResources.find((resource) => resource.review && matches(resource, request));
  if (watched === undefined) return { kind: 'outside', reason: 'out-of-scope' };
  return changeOf(request, watched, operation);
}

function matches(resource: WatchedResource, request: AdmissionRequest): boolean {
  const group = resource.apiVersion.includes('/') ? resource.apiVersion.split('/')[0] : '';
  return group === request.group && resource.kind === request.kind;
}

function changeOf(request: AdmissionRequest, watched: WatchedResource, operation: ReviewedChange['operation']): Scope {
  const object = operation === 'DELETE' ? request.oldObject : request.object;
  if (object === undefined && operation !== 'DELETE') {
    return { kind: 'refused', message: `a ${operation} without request.object can't be judged; the object is missing` };
  }
  const metadata = recordIn(object, 'metadata');
  const namespace = namespaceOf(request);
  const name = textIn(metadata, 'name') || request.name || generatedName(metadata, request.uid);
  if (name === '')
    return {
      kind: 'refused',
      message: `a ${operation} without request.name and without an object does not say which object it means`,
    };
  const text = operation === 'DELETE' || object === undefined ? undefined : objectText(object, namespace, name);
  return {
    kind: 'change',
    change: {
      change: { alias: watched.alias, namespace, name, text },
      operation,
      label: objectLabel(watched.alias, namespace, name),
      title: namespace === '' ? name : `${namespace}/${name}`,
      objectUid: textIn(metadata, 'uid'),
      dying: textIn(metadata, 'deletionTimestamp') !== '',
      dryRun: request.dryRun,
    },
  };
}

/** A request about a Namespace carries that object's own name as its namespace (protocol line P8). */
export function namespaceOf(request: AdmissionRequest): string {
  return request.group === '' && request.kind === 'Namespace' ? '' : request.namespace;
}

/** The API server has not chosen the name yet: the call's uid keeps two such calls apart (protocol line P5). */
function generatedName(metadata: Readonly<Record<string, unknown>> | undefined, uid: string): string {
  const prefix = textIn(metadata, 'generateName');
  return prefix === ''
    ? ''
    : `${prefix}${uid
        .replace(/[^a-z0-9]/gi, '')
        .slice(-12)
        .toLowerCase()}`;
}

/** The namespace is that of the request, whatever the object says. */
function objectText(object: Readonly<Record<string, unknown>>, namespace: string, name: string): string {
  const metadata = { ...recordIn(object, 'metadata'), name, ...(namespace === '' ? {} : { namespace }) };
  return JSON.stringify({ ...object, metadata });
}

function recordIn(
  owner: Readonly<Record<string, unknown>> | undefined,
  key: string,
): Readonly<Record<string, unknown>> | undefined {
  const value = owner !== undefined && Object.hasOwn(owner, key) ? owner[key] : undefined;
  return typeof value === 'object' && value !== null && !Array.isArray(value)
    ? (value as Record<string, unknown>)
    : undefined;
}

function textIn(owner: Readonly<Record<string, unknown>> | undefined, key: string): string {
  const value = owner !== undefined && Object.hasOwn(owner, key) ? owner[key] : undefined;
  return typeof value === 'string' ? value : '';
}

export function printable(text: string): string {
  return text.replace(/[^\x20-\x7e]/g, '?').slice(0, 60);
}
