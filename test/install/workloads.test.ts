import { describe, expect, it } from '@jest/globals';
import { installed, only, options, shipped } from './installed.js';

const NAMES = ['rendergate', 'rendergate-haproxy'] as const;
const podOf = (name: string) => only('Deployment', name).spec.template.spec;

interface Container {
  readonly name: string;
  readonly image: string;
  readonly securityContext: object;
  readonly volumeMounts: readonly { readonly name: string; readonly mountPath: string }[];
}
const containersOf = (name: string): Container[] => [...(podOf(name).initContainers ?? []), ...podOf(name).containers];

describe('the workloads', () => {
  it.each(NAMES)('%s: every container is confined, and writes only into memory', (name) => {
    expect(podOf(name).securityContext).toMatchObject({
      runAsNonRoot: true,
      seccompProfile: { type: 'RuntimeDefault' },
    });
    for (const container of containersOf(name)) {
      expect(container.securityContext).toEqual({
        allowPrivilegeEscalation: false,
        readOnlyRootFilesystem: true,
        capabilities: { drop: ['ALL'] },
      });
    }
    const emptyDirs = (podOf(name).volumes as { emptyDir?: object }[]).flatMap(({ emptyDir }) => emptyDir ?? []);
    expect(emptyDirs.length).toBeGreaterThan(1);
    for (const emptyDir of emptyDirs) expect(emptyDir).toEqual({ medium: 'Memory' });
  });

  it.each(NAMES)('%s: a rollout and a drained node leave replicas that serve', (name) => {
    const { strategy, selector, template } = only('Deployment', name).spec;
    expect(strategy.rollingUpdate).toEqual({ maxSurge: 1, maxUnavailable: 0 });
    expect(template.metadata.labels).toMatchObject(selector.matchLabels);
    expect(only('PodDisruptionBudget', name).spec).toEqual({ maxUnavailable: 1, selector });
    expect(only('Service', name).spec.selector).toEqual(selector.matchLabels);
    const apart = template.spec.affinity.podAntiAffinity.preferredDuringSchedulingIgnoredDuringExecution[0];
    expect(apart.podAffinityTerm.labelSelector).toEqual(selector);
  });

  it.each(NAMES)('%s: every mount has its volume, every named port its container', (name) => {
    const pod = podOf(name);
    const volumes = (pod.volumes as { name: string }[]).map((volume) => volume.name);
    for (const { volumeMounts } of containersOf(name))
      for (const mount of volumeMounts) expect(volumes).toContain(mount.name);
    const ports = (pod.containers as { ports?: { name: string }[] }[]).flatMap((container) => container.ports ?? []);
    for (const { targetPort } of only('Service', name).spec.ports)
      expect(ports.map((port) => port.name)).toContain(targetPort);
  });

  it('take image, replicas and namespace from the options', () => {
    expect(only('Deployment', 'rendergate').spec.replicas).toBe(3);
    const images = NAMES.flatMap((name) => containersOf(name).map(({ image }) => image));
    expect(new Set(images)).toEqual(new Set([options.image, options.haproxyImage]));
    const namespaces = installed().map(({ metadata }) => metadata.namespace ?? 'gate');
    expect(new Set(namespaces)).toEqual(new Set(['gate']));
    expect(JSON.stringify(installed())).not.toContain('"namespace":"rendergate"');
  });

  it('the server has time for propagation and 30 s of draining before it is killed', () => {
    const { terminationGracePeriodSeconds, containers } = podOf('rendergate');
    const { args } = containers[0] as { args: string[] };
    const propagation = Number(args[args.indexOf('--propagation') + 1]);
    expect(propagation).toBeGreaterThan(0);
    expect(terminationGracePeriodSeconds).toBeGreaterThan(propagation + 30);
  });

  it('HAProxy has no token of the API server, only what follows beside it has', () => {
    expect(podOf('rendergate-haproxy').automountServiceAccountToken).toBe(false);
    const withToken = containersOf('rendergate-haproxy').filter(({ volumeMounts }) =>
      volumeMounts.some(({ mountPath }) => mountPath === '/var/run/secrets/kubernetes.io/serviceaccount'),
    );
    expect(withToken.map(({ name }) => name)).toEqual(['first-configuration', 'follow']);
  });

  it.each([
    [shipped.extraContext, [8080, 8443, 8404]],
    [{}, [8080, 8443, 8404]],
    [{ bind: { http: ['*:80', '*:81'], https: [':::4443'] }, status: { bind: '127.0.0.1:9000' } }, [80, 4443, 9000]],
    [{ bind: { http: [], https: 'x' }, status: null }, [8080, 8443, 8404]],
  ])('HAProxy listens where extraContext %j says', (extraContext, expected) => {
    const { containers } = only('Deployment', 'rendergate-haproxy', { ...shipped, extraContext }).spec.template.spec;
    const { ports } = containers[0] as { ports: { name: string; containerPort: number }[] };
    expect(ports.map(({ containerPort }) => containerPort)).toEqual(expected);
  });

  it('the network lets in reviews and probes, and out to names, API server and siblings', () => {
    const { ingress, egress, podSelector, policyTypes } = only('NetworkPolicy', 'rendergate').spec;
    expect(podSelector).toEqual(only('Deployment', 'rendergate').spec.selector);
    expect(policyTypes).toEqual(['Ingress', 'Egress']);
    const numbers = (ports: { port: number }[]): number[] => ports.map(({ port }) => port);
    expect(ingress.map((rule: { ports: { port: number }[] }) => numbers(rule.ports))).toEqual([[8443, 8081]]);
    expect(egress.map((rule: { ports: { port: number }[] }) => numbers(rule.ports))).toEqual([
      [53, 53],
      [443, 6443],
      [8443],
    ]);
    expect(egress[2].to).toEqual([{ podSelector }]);
  });
});
