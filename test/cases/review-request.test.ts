import { describe, expect, it } from '@jest/globals';

import { groupReviews } from './offline-runner.js';
import { admissionReview, fillReview, pluralOf, rawBody, readSent } from './review-request.js';

const STORED = { apiVersion: 'networking.k8s.io/v1', kind: 'Ingress', metadata: { name: 'web', namespace: 'shop' } };
const nothing = (): undefined => undefined;

describe('the request of a review', () => {
  it('takes kind, resource, namespace and name from the object', () => {
    const review = { operation: 'CREATE', object: STORED };
    const { document } = admissionReview(review, fillReview(review, nothing));
    expect(document).toMatchObject({
      request: {
        kind: { group: 'networking.k8s.io', version: 'v1', kind: 'Ingress' },
        resource: { group: 'networking.k8s.io', version: 'v1', resource: 'ingresses' },
        namespace: 'shop',
        name: 'web',
        dryRun: false,
        oldObject: null,
        options: { kind: 'CreateOptions' },
      },
    });
  });

  it('finds the stored object by the identity that a DELETE names', () => {
    const review = {
      operation: 'DELETE',
      object: null,
      oldObject: '@stored' as const,
      objectKind: 'networking.k8s.io/v1 Ingress',
      namespace: 'shop',
      name: 'web',
    };
    const asked: string[] = [];
    const filled = fillReview(review, (...identity) => {
      asked.push(identity.join(' '));
      return STORED;
    });
    expect(asked).toEqual(['networking.k8s.io/v1 Ingress shop web']);
    expect(filled).toMatchObject({ object: null, oldObject: STORED, subject: STORED });
  });

  it('means an empty name, and leaves the namespace of a cluster-scoped object away', () => {
    const review = {
      operation: 'CREATE',
      name: '',
      object: { kind: 'IngressClass', metadata: { generateName: 'a-' } },
    };
    const { document } = admissionReview(review, fillReview(review, nothing));
    expect(document).toMatchObject({ request: { name: '' } });
    expect(document).not.toHaveProperty('request.namespace');
  });

  it('forms plurals as the API server does', () => {
    const kinds = ['Ingress', 'IngressClass', 'Service', 'Endpoints', 'NetworkPolicy', 'Gateway', 'EndpointSlice'];
    expect(kinds.map(pluralOf)).toEqual([
      'ingresses',
      'ingressclasses',
      'services',
      'endpoints',
      'networkpolicies',
      'gateways',
      'endpointslices',
    ]);
  });

  it('makes a raw body of exactly the size asked for', () => {
    const { headers, body } = rawBody({ sizeBytes: 200_000 });
    const parts = [...(body as Iterable<Buffer>)];
    expect(Buffer.concat(parts)).toHaveLength(200_000);
    expect(headers['content-length']).toBe('200000');
    expect(rawBody({ sizeBytes: 10, chunked: true }).headers).toMatchObject({ 'transfer-encoding': 'chunked' });
  });

  it('reads the uid of a raw body where there is one', () => {
    expect(readSent('{"apiVersion":"v9","request":{"uid":"u"}}')).toEqual({ uid: 'u', apiVersion: 'v9' });
    expect(readSent('{"apiVersion":')).toEqual({ uid: undefined, apiVersion: undefined });
  });
});

describe('reviews that go as one call offline', () => {
  const denied = { operation: 'CREATE', expect: { verdict: ['denied' as const] } };
  const stored = { operation: 'CREATE', stored: true };
  const open = { operation: 'CREATE', expect: { verdict: ['allowed' as const, 'denied' as const] } };

  it('go together while each one before stores what it allows, or denies', () => {
    expect(groupReviews([denied, stored, denied, open]).map((group) => group.length)).toEqual([4]);
  });

  it('are cut after one whose result is not stored', () => {
    expect(groupReviews([open, denied]).map((group) => group.length)).toEqual([1, 1]);
  });

  it('are cut where the operation changes, a stand-in plays or the state is looked at', () => {
    const update = { operation: 'UPDATE', stored: true };
    const standIn = { operation: 'CREATE', checker: { exitCode: 1 } };
    const looks = { ...stored, expect: { routes: [{ host: 'a', path: '/', to: ['none'] }] } };
    expect(groupReviews([stored, update]).map((group) => group.length)).toEqual([1, 1]);
    expect(groupReviews([stored, standIn]).map((group) => group.length)).toEqual([1, 1]);
    expect(groupReviews([looks, stored]).map((group) => group.length)).toEqual([1, 1]);
  });
});
