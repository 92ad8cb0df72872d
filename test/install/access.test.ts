import { describe, expect, it } from '@jest/globals';
import { installed, only, watching } from './installed.js';

interface Rule {
  readonly apiGroups: readonly string[];
  readonly resources: readonly string[];
  readonly resourceNames?: readonly string[];
  readonly verbs: readonly string[];
}

const rulesOf = (kind: string, name: string): Rule[] => only(kind, name).rules as Rule[];
/** `group/resource` of what a verb is allowed on without a list of names. */
const allowed = (rules: readonly Rule[], verb: string): string[] =>
  rules
    .filter(({ verbs, resourceNames }) => verbs.includes(verb) && resourceNames === undefined)
    .flatMap(({ apiGroups, resources }) => apiGroups.flatMap((group) => resources.map((name) => `${group}/${name}`)))
    .sort();

describe('access rights', () => {
  it('have no wildcard anywhere', () => {
    const roles = installed().filter(({ kind }) => kind.endsWith('Role'));
    expect(roles).toHaveLength(3);
    for (const role of roles) expect(JSON.stringify(role)).not.toContain('*');
  });

  it('read over the cluster what the configuration watches, and nothing else', () => {
    const rules = rulesOf('ClusterRole', 'rendergate');
    const watched = [
      '/secrets',
      '/services',
      'discovery.k8s.io/endpointslices',
      'networking.k8s.io/ingressclasses',
      'networking.k8s.io/ingresses',
    ];
    for (const verb of ['get', 'list', 'watch']) expect(allowed(rules, verb)).toEqual(watched);
  });

  it('follow the configuration: groups once, a resource of two aliases once, optional ones too', () => {
    const config = watching(
      { resource: 'services' },
      { resource: 'services' },
      { apiVersion: 'gateway.networking.k8s.io/v1', resource: 'httproutes', optional: true },
    );
    const read = only('ClusterRole', 'rendergate', config).rules.slice(0, 2);
    expect(read).toEqual([
      { apiGroups: [''], resources: ['services'], verbs: ['get', 'list', 'watch'] },
      { apiGroups: ['gateway.networking.k8s.io'], resources: ['httproutes'], verbs: ['get', 'list', 'watch'] },
    ]);
  });

  it('write over the cluster only Events and the own registration, which cannot be made anew', () => {
    const rules = rulesOf('ClusterRole', 'rendergate');
    expect(allowed(rules, 'create')).toEqual(['/events', 'events.k8s.io/events']);
    expect(allowed(rules, 'patch')).toEqual(['/events', 'events.k8s.io/events']);
    for (const verb of ['update', 'delete', 'deletecollection']) expect(allowed(rules, verb)).toEqual([]);
    expect(rules.filter(({ resourceNames }) => resourceNames !== undefined)).toEqual([
      {
        apiGroups: ['admissionregistration.k8s.io'],
        resources: ['validatingwebhookconfigurations'],
        resourceNames: ['rendergate'],
        verbs: ['get', 'list', 'watch', 'patch'],
      },
    ]);
  });

  it('write in the own namespace only Secrets and the Lease', () => {
    const rules = rulesOf('Role', 'rendergate');
    expect(allowed(rules, 'create')).toEqual(['/secrets', 'coordination.k8s.io/leases']);
    for (const verb of ['update', 'patch', 'delete']) expect(allowed(rules, verb)).toEqual(['/secrets']);
    expect(rules.find(({ resourceNames }) => resourceNames !== undefined)).toMatchObject({
      resources: ['leases'],
      resourceNames: ['rendergate'],
      verbs: ['get', 'update', 'patch'],
    });
  });

  it('let the container beside HAProxy read Secrets of the own namespace and nothing more', () => {
    expect(rulesOf('Role', 'rendergate-haproxy')).toEqual([
      { apiGroups: [''], resources: ['secrets'], verbs: ['get', 'list', 'watch'] },
    ]);
    const subject = { kind: 'ServiceAccount', name: 'rendergate-haproxy' };
    const bindings = installed().filter(({ subjects }) => JSON.stringify(subjects ?? []).includes(subject.name));
    expect(bindings.map(({ kind, metadata }) => [kind, metadata.namespace])).toEqual([['RoleBinding', 'gate']]);
  });

  it('bind each role to the account of its name in the own namespace', () => {
    const bindings = installed().filter(({ kind }) => kind.endsWith('Binding'));
    expect(bindings).toHaveLength(3);
    for (const binding of bindings) {
      const { name } = binding.metadata;
      expect(binding).toMatchObject({
        roleRef: { apiGroup: 'rbac.authorization.k8s.io', kind: binding.kind.replace('Binding', ''), name },
        subjects: [{ kind: 'ServiceAccount', name, namespace: 'gate' }],
      });
    }
  });
});
