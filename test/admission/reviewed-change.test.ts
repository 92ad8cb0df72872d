import { describe, expect, it } from '@jest/globals';

import { type AdmissionRequest } from '../../src/admission/decode-review.js';
import { namespaceOf, printable, type ReviewedChange, scopeOf } from '../../src/admission/reviewed-change.js';
import { renderConfig, siteObject } from '../support/render-config.js';

const CONFIG = renderConfig();

function request(more: Partial<AdmissionRequest> = {}): AdmissionRequest {
  return {
    apiVersion: 'admission.k8s.io/v1',
    uid: '11111111-2222-3333-4444-555555555555',
    group: 'example.org',
    version: 'v1',
    kind: 'Site',
    resource: 'sites',
    subResource: '',
    namespace: 'shop',
    name: 'web',
    operation: 'CREATE',
    dryRun: false,
    object: siteObject('web', { line: 'one' }),
    oldObject: undefined,
    ...more,
  };
}

function changeOf(more: Partial<AdmissionRequest>): ReviewedChange {
  const scope = scopeOf(request(more), CONFIG);
  if (scope.kind !== 'change') throw new Error(JSON.stringify(scope));
  return scope.change;
}

function refusal(more: Partial<AdmissionRequest>): string {
  const scope = scopeOf(request(more), CONFIG);
  return scope.kind === 'refused' ? scope.message : JSON.stringify(scope);
}

describe('what a request asks for', () => {
  it('is a change of the object that it names', () => {
    expect(changeOf({})).toEqual({
      change: {
        alias: 'sites',
        namespace: 'shop',
        name: 'web',
        text: JSON.stringify(siteObject('web', { line: 'one' })),
      },
      operation: 'CREATE',
      label: 'sites shop/web',
      title: 'shop/web',
      objectUid: '',
      dying: false,
      dryRun: false,
    });
  });

  it.each([
    ['connect', { operation: 'CONNECT' }],
    ['connect', { operation: 'CONNECT', subResource: 'exec' }],
    ['subresource', { subResource: 'status', operation: 'UPDATE' }],
    ['out-of-scope', { kind: 'Widget' }],
    ['out-of-scope', { group: 'other.org' }],
    ['out-of-scope', { kind: 'constructor' }],
  ] as const)('is nothing of ours (%s): %j', (reason, more) => {
    expect(scopeOf(request(more), CONFIG)).toEqual({ kind: 'outside', reason });
  });

  it('is nothing of ours where a watched resource is not reviewed', () => {
    const watchedResources = CONFIG.watchedResources.map((one) => ({ ...one, review: false }));
    expect(scopeOf(request(), renderConfig({ watchedResources }))).toEqual({ kind: 'outside', reason: 'out-of-scope' });
  });

  it('goes by group and kind, whatever the version', () => {
    expect(changeOf({ version: 'v1beta1' }).change.alias).toBe('sites');
  });

  it.each(['', 'RENAME', 'create', 'constructor', '\u001b[2J'])('is refused with the operation %j', (operation) => {
    expect(refusal({ operation })).toContain('CREATE, UPDATE, DELETE and CONNECT');
    expect(refusal({ operation })).not.toMatch(/[\u0000-\u001f]/);
  });

  it('is refused without an object, but for a deletion, which the old one or the name identifies', () => {
    expect(refusal({ object: undefined })).toContain('the object is missing');
    expect(refusal({ object: undefined, operation: 'UPDATE' })).toContain('the object is missing');
    const old = siteObject('old', {}, { uid: 'u-7' });
    expect(changeOf({ operation: 'DELETE', object: undefined, oldObject: old })).toMatchObject({
      change: { name: 'old', text: undefined },
      objectUid: 'u-7',
    });
    expect(changeOf({ operation: 'DELETE', object: undefined }).change).toMatchObject({ name: 'web', text: undefined });
    expect(refusal({ operation: 'DELETE', object: undefined, name: '' })).toContain('which object');
  });

  it('counts by the namespace of the request, and has it in the object', () => {
    const change = changeOf({ object: siteObject('web', {}, { namespace: 'elsewhere' }) });
    expect(change.label).toBe('sites shop/web');
    expect(JSON.parse(change.change.text ?? '')).toMatchObject({ metadata: { namespace: 'shop' } });
  });

  it('has no namespace for a cluster-scoped object, and for a Namespace, whose request carries its own name', () => {
    const object = { apiVersion: 'v1', kind: 'Namespace', metadata: { name: 'blue' } };
    const zone = { group: '', kind: 'Namespace', namespace: 'blue', name: 'blue', object };
    expect(changeOf(zone)).toMatchObject({
      label: 'zones blue',
      title: 'blue',
      change: { namespace: '', name: 'blue' },
    });
    expect(JSON.parse(changeOf(zone).change.text ?? '')).toEqual(object);
    expect(namespaceOf(request(zone))).toBe('');
  });

  it('keeps two generated names apart by the uid of their calls', () => {
    const object = siteObject('', {}, { name: undefined, generateName: 'web-' });
    const [one, two] = ['aaaa-0000001', 'aaaa-0000002'].map((uid) => changeOf({ name: '', uid, object }).change.name);
    expect(one).toMatch(/^web-[a-z0-9]+$/);
    expect(one).not.toBe(two);
    expect(refusal({ name: '', object: siteObject('', {}) })).toContain('which object');
  });

  it('knows a dry run and an object that is being deleted', () => {
    expect(changeOf({ dryRun: true }).dryRun).toBe(true);
    expect(changeOf({ object: siteObject('web', {}, { deletionTimestamp: '2026-01-01T00:00:00Z' }) }).dying).toBe(true);
  });

  it.each([null, 'text', [], 7])('survives metadata that are %j', (metadata) => {
    const change = changeOf({ object: { ...siteObject('web', {}), metadata } });
    expect(JSON.parse(change.change.text ?? '')).toMatchObject({ metadata: { name: 'web', namespace: 'shop' } });
  });

  it('keeps keys called __proto__ and constructor', () => {
    const object = JSON.parse('{"__proto__":{"a":1},"metadata":{"__proto__":{"name":"x"},"constructor":2}}') as object;
    const { text } = changeOf({ object: object as Record<string, unknown> }).change;
    expect(text).toContain('"__proto__":{"a":1}');
    expect(text).toContain('"constructor":2');
    expect(text).toContain('"name":"web"');
  });

  it('is shown in printable words of a bounded length', () => {
    expect(printable('a\u001b[2J\nü')).toBe('a?[2J??');
    expect(printable('x'.repeat(1_000)).length).toBe(60);
  });
});
