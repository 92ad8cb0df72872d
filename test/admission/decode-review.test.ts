import { describe, expect, it } from '@jest/globals';

import { decodeReview } from '../../src/admission/decode-review.js';

const API_VERSION = 'admission.k8s.io/v1';

function reviewText(request: unknown, more: object = {}): string {
  return JSON.stringify({ apiVersion: API_VERSION, kind: 'AdmissionReview', request, ...more });
}

const REQUEST = {
  uid: 'u-1',
  kind: { group: 'networking.k8s.io', version: 'v1', kind: 'Ingress' },
  resource: { group: 'networking.k8s.io', version: 'v1', resource: 'ingresses' },
  namespace: 'shop',
  name: 'web',
  operation: 'CREATE',
  object: { metadata: { name: 'web' } },
  oldObject: null,
};

function malformed(text: string): { uid: string; message: string } {
  const decoded = decodeReview(text);
  if (decoded.kind !== 'malformed') throw new Error('was decoded');
  return { uid: decoded.uid, message: decoded.message };
}

describe('the body of a review', () => {
  it('gives what a review is judged by, and nothing else', () => {
    expect(decodeReview(reviewText({ ...REQUEST, userInfo: { username: 'jane' }, future: [1] }))).toEqual({
      kind: 'request',
      request: {
        apiVersion: API_VERSION,
        uid: 'u-1',
        group: 'networking.k8s.io',
        version: 'v1',
        kind: 'Ingress',
        resource: 'ingresses',
        subResource: '',
        namespace: 'shop',
        name: 'web',
        operation: 'CREATE',
        dryRun: false,
        object: { metadata: { name: 'web' } },
        oldObject: undefined,
      },
    });
  });

  it.each([
    ['operation', 7],
    ['namespace', null],
    ['name', ['web']],
    ['object', 'text'],
    ['object', []],
    ['kind', 'Ingress'],
    ['resource', null],
    ['dryRun', 'true'],
  ])('takes a %s of another type (%j) for a missing one', (field, value) => {
    const decoded = decodeReview(reviewText({ ...REQUEST, [field]: value }));
    expect(decoded.kind).toBe('request');
    const given = decodeReview(
      reviewText(Object.fromEntries(Object.entries(REQUEST).filter(([key]) => key !== field))),
    );
    expect(decoded).toEqual(given);
  });

  it.each(['', 'null', '7', '[]', '"x"', '{', '{}', '\ufeff{}', '{"a":1}{"b":2}', '\u0000'])(
    'is malformed, without a uid: %j',
    (text) => {
      expect(malformed(text).uid).toBe('');
    },
  );

  it.each<[string, string, RegExp]>([
    ['another kind', reviewText(REQUEST, { kind: 'Pod' }), /no AdmissionReview/],
    ['another version', reviewText(REQUEST, { apiVersion: 'admission.k8s.io/v1beta1' }), /"admission.k8s.io\/v1beta1"/],
    ['no version', reviewText(REQUEST, { apiVersion: undefined }), /version "" is not supported/],
    ['a text that is cut off', reviewText(REQUEST).slice(0, -10), /not JSON/],
  ])('is malformed and keeps its uid: %s', (_, text, message) => {
    expect(malformed(text)).toEqual({ uid: 'u-1', message: expect.stringMatching(message) });
  });

  it('is malformed without a request or a uid', () => {
    expect(malformed(reviewText(undefined)).message).toContain('no request');
    expect(malformed(reviewText([])).message).toContain('no request');
    expect(malformed(reviewText({ ...REQUEST, uid: '' })).message).toContain('no request.uid');
    expect(malformed(reviewText({ ...REQUEST, uid: 5 })).message).toContain('no request.uid');
  });

  it('never repeats control characters of a foreign version', () => {
    const { message } = malformed(reviewText(REQUEST, { apiVersion: 'v\u001b[31m\n9'.repeat(40) }));
    expect(message).not.toMatch(/[\u0000-\u001f]/);
    expect(message.length).toBeLessThan(300);
  });

  it('that nests too deep is refused unparsed, and its own uid is found wherever it stands', () => {
    const deep = `${'{"uid":"u-2","a":'.repeat(200_000)}"]}\\""${'}'.repeat(200_000)}`;
    const { kind, resource, operation, uid } = REQUEST;
    for (const request of [
      { uid, kind, resource, operation, object: 'DEEP' },
      { object: 'DEEP', oldObject: { uid: 'u-3' }, kind, resource, operation, uid },
    ]) {
      const text = reviewText(request).replace('"DEEP"', deep);
      expect(malformed(text)).toEqual({ uid: 'u-1', message: expect.stringContaining('nests deeper than 64 levels') });
    }
  });

  it('keeps keys called __proto__ and constructor as data', () => {
    const text = reviewText(REQUEST).replace('"metadata"', '"__proto__":{"uid":"x"},"constructor":1,"metadata"');
    const decoded = decodeReview(text);
    expect(decoded.kind === 'request' && Object.keys(decoded.request.object ?? {})).toEqual([
      '__proto__',
      'constructor',
      'metadata',
    ]);
    const inherited = decodeReview(
      reviewText({ ...REQUEST, namespace: undefined }).replace('"uid"', '"__proto__":{"namespace":"x"},"uid"'),
    );
    expect(inherited.kind === 'request' && inherited.request.namespace).toBe('');
  });
});
