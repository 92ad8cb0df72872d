import { describe, expect, it } from '@jest/globals';
import type { RenderConfig } from '../../src/config/render-config.js';
import { only, watching } from './installed.js';

const entry = (config?: RenderConfig) => only('ValidatingWebhookConfiguration', 'rendergate', config).webhooks[0];
const conditionsOf = (config?: RenderConfig): string[] =>
  (entry(config).matchConditions as { name: string }[]).map(({ name }) => name);

describe('the registration', () => {
  it('fails closed, has no side effects and leaves caBundle to the server', () => {
    expect(entry()).toMatchObject({
      name: 'validate.rendergate.dev',
      admissionReviewVersions: ['v1'],
      clientConfig: { service: { namespace: 'gate', name: 'rendergate', path: '/validate', port: 443 } },
      failurePolicy: 'Fail',
      matchPolicy: 'Equivalent',
      sideEffects: 'None',
      timeoutSeconds: 10,
    });
    expect(entry().clientConfig).not.toHaveProperty('caBundle');
  });

  it('asks for the reviewed resources only, each with its scope', () => {
    const rules = entry().rules as { apiGroups: string[]; resources: string[]; scope: string; operations: string[] }[];
    expect(rules.map(({ apiGroups, resources, scope }) => [...apiGroups, ...resources, scope])).toEqual([
      ['networking.k8s.io', 'ingressclasses', 'Cluster'],
      ['networking.k8s.io', 'ingresses', 'Namespaced'],
      ['', 'secrets', 'Namespaced'],
      ['', 'services', 'Namespaced'],
    ]);
    for (const { operations } of rules) expect(operations).toEqual(['CREATE', 'UPDATE', 'DELETE']);
    expect(JSON.stringify(rules)).not.toContain('*');
  });

  it('leaves the scope of a kind that it does not know to the API server', () => {
    const config = watching({ apiVersion: 'example.com/v1beta1', resource: 'things', review: true });
    expect(entry(config).rules).toEqual([
      {
        apiGroups: ['example.com'],
        apiVersions: ['v1beta1'],
        operations: ['CREATE', 'UPDATE', 'DELETE'],
        resources: ['things'],
      },
    ]);
  });

  it('keeps out of the own namespace and of kube-system', () => {
    expect(entry().namespaceSelector).toEqual({
      matchExpressions: [{ key: 'kubernetes.io/metadata.name', operator: 'NotIn', values: ['gate', 'kube-system'] }],
    });
  });

  it('speaks of Secrets only where they are reviewed', () => {
    expect(conditionsOf()).toEqual(['no-subresource', 'no-lease', 'secrets-of-tls-only']);
    expect(conditionsOf(watching({ resource: 'services', review: true }, { resource: 'secrets' }))).toEqual([
      'no-subresource',
      'no-lease',
    ]);
  });

  it('has no entry where nothing is reviewed, so that applying it ends an older one', () => {
    expect(only('ValidatingWebhookConfiguration', 'rendergate', watching({})).webhooks).toEqual([]);
  });
});
