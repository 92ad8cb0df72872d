import { randomUUID } from 'node:crypto';

import { fields } from './answer.js';
import type { CaseReview, KubernetesObject, RawRequest } from './case-schema.js';

/** A review of a case with `@stored` resolved and the gaps filled as an API server would. */
export interface FilledReview {
  readonly operation: string;
  readonly object: KubernetesObject | null;
  readonly oldObject: KubernetesObject | null;
  readonly namespace: string;
  readonly name: string;
  /** The one whose identity counts: the object, or the old one of a DELETE. */
  readonly subject: KubernetesObject | null;
}

export interface GroupVersion {
  readonly group: string;
  readonly version: string;
}

/** `stored` finds what is stored now under the identity of the review. */
export function fillReview(
  review: CaseReview,
  stored: (apiVersion: string, kind: string, namespace: string, name: string) => KubernetesObject | undefined,
): FilledReview {
  const shape = [review.object, review.oldObject].map(objectOf).find((object) => object !== null) ?? null;
  const [apiVersion, kind] = kindOf(review, shape);
  const metadata = fields(shape?.['metadata']);
  const namespace = review.namespace ?? stringOf(metadata['namespace']);
  const name = review.name ?? stringOf(metadata['name']);
  const resolve = (value: CaseReview['object']): KubernetesObject | null => {
    if (value !== '@stored') return objectOf(value);
    const found = stored(apiVersion, kind, namespace, name);
    if (found === undefined) throw new Error(`@stored: no ${kind} ${namespace}/${name} is stored`);
    return found;
  };
  const object = resolve(review.object);
  const oldObject = resolve(review.oldObject);
  return { operation: review.operation ?? '', object, oldObject, namespace, name, subject: object ?? oldObject };
}

function objectOf(value: CaseReview['object']): KubernetesObject | null {
  return value === undefined || value === '@stored' ? null : value;
}

function kindOf(review: CaseReview, shape: KubernetesObject | null): [apiVersion: string, kind: string] {
  const [apiVersion, kind] = review.objectKind?.split(' ') ?? [];
  return [apiVersion ?? stringOf(shape?.['apiVersion']), kind ?? stringOf(shape?.['kind'])];
}

/** The AdmissionReview document; its uid is new each time. */
export function admissionReview(review: CaseReview, filled: FilledReview): { uid: string; document: unknown } {
  const uid = randomUUID();
  const [apiVersion, word] = kindOf(review, filled.subject);
  const [resourceVersion, resource] = review.resource?.split(' ') ?? [apiVersion, pluralOf(word)];
  const kind = { ...groupVersion(apiVersion), kind: word };
  const plural = { ...groupVersion(resourceVersion ?? ''), resource };
  const { namespace, name, operation, object, oldObject } = filled;
  const request = {
    uid,
    kind,
    resource: plural,
    requestKind: kind,
    requestResource: plural,
    ...(review.subResource !== undefined && { subResource: review.subResource }),
    name,
    ...(namespace !== '' && { namespace }),
    operation,
    userInfo: { username: 'jane@example.com', groups: ['system:authenticated'] },
    object,
    oldObject,
    dryRun: review.dryRun ?? false,
    options: optionsOf(operation),
  };
  return { uid, document: { apiVersion: 'admission.k8s.io/v1', kind: 'AdmissionReview', request } };
}

const OPTION_KINDS: Readonly<Record<string, string>> = {
  CREATE: 'CreateOptions',
  UPDATE: 'UpdateOptions',
  DELETE: 'DeleteOptions',
};

function optionsOf(operation: string): unknown {
  const kind = OPTION_KINDS[operation];
  return kind === undefined ? null : { apiVersion: 'meta.k8s.io/v1', kind };
}

export function groupVersion(apiVersion: string): GroupVersion {
  const [group, version] = apiVersion.includes('/') ? apiVersion.split('/', 2) : ['', apiVersion];
  return { group: group ?? '', version: version ?? '' };
}

/** As the API server names the built-in resources: `ingresses`, `networkpolicies`, `endpoints`. */
export function pluralOf(kind: string): string {
  const word = kind.toLowerCase();
  if (word === 'endpoints' || word === '') return word;
  if (/(?:s|x|ch|sh)$/.test(word)) return `${word}es`;
  return /[^aeiou]y$/.test(word) ? `${word.slice(0, -1)}ies` : `${word}s`;
}

const PART_BYTES = 64 * 1024;
const BEGINNING =
  '{"apiVersion":"admission.k8s.io/v1","kind":"AdmissionReview","request":{"uid":"00000000-0000-4000-8007-00000000bbbb","filler":"';

/** The body of a raw request: as it stands, or a well-formed beginning and filler made while it is sent. */
export function rawBody(raw: RawRequest): { headers: Record<string, string>; body: string | Iterable<Buffer> } {
  const headers: Record<string, string> = { 'content-type': raw.contentType ?? 'application/json' };
  if (raw.chunked === true) headers['transfer-encoding'] = 'chunked';
  const size = raw.sizeBytes;
  if (size === undefined)
    return { headers, body: raw.chunked === true ? [Buffer.from(raw.body ?? '')] : (raw.body ?? '') };
  if (raw.chunked !== true) headers['content-length'] = String(size);
  return { headers, body: filler(size) };
}

function* filler(size: number): Generator<Buffer> {
  yield Buffer.from(BEGINNING.slice(0, size));
  const block = Buffer.alloc(PART_BYTES, 'x');
  for (let left = size - BEGINNING.length; left > 0; left -= PART_BYTES)
    yield block.subarray(0, Math.min(left, PART_BYTES));
}

/** What a raw body says about itself, for what has to be echoed. */
export function readSent(body: string | undefined): { uid: string | undefined; apiVersion: string | undefined } {
  try {
    const document = fields(JSON.parse(body ?? ''));
    const uid = fields(document['request'])['uid'];
    return {
      uid: typeof uid === 'string' ? uid : undefined,
      apiVersion: typeof document['apiVersion'] === 'string' ? document['apiVersion'] : undefined,
    };
  } catch {
    return { uid: undefined, apiVersion: undefined };
  }
}

function stringOf(value: unknown): string {
  return typeof value === 'string' ? value : '';
}
