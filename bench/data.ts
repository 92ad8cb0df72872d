import { mkdirSync, renameSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { dump } from 'js-yaml';

export type Json = null | boolean | number | string | readonly Json[] | { readonly [key: string]: Json };
export type Manifest = { readonly [key: string]: Json };

/** Ingresses of one team. */
const TEAM_SIZE = 10;
const ENDPOINTS = 3;
const INGRESSES = 'networking.k8s.io/v1';

export interface Place {
  readonly namespace: string;
  readonly name: string;
  readonly host: string;
}

export function placeOf(number: number): Place {
  const team = String(Math.floor(number / TEAM_SIZE)).padStart(4, '0');
  const name = `app-${String(number).padStart(5, '0')}`;
  return { namespace: `team-${team}`, name, host: `${name}.team-${team}.example.com` };
}

/** `version` makes the object another one than every version before it: it stands in the path and in a timeout. */
export function ingress(place: Place, version: number): Manifest {
  const { namespace, name, host } = place;
  return {
    apiVersion: INGRESSES,
    kind: 'Ingress',
    metadata: {
      ...metadata(name, namespace),
      annotations: {
        'rendergate.dev/timeout-server': `${30_000 + version}ms`,
        'rendergate.dev/load-balance': 'leastconn',
      },
    },
    spec: {
      ingressClassName: 'haproxy',
      rules: [
        {
          host,
          http: {
            paths: [{ path: `/v${version}`, pathType: 'Prefix', backend: { service: { name, port: { number: 80 } } } }],
          },
        },
      ],
    },
  };
}

/** An Ingress that HAProxy itself refuses. */
export function refusedIngress(place: Place): Manifest {
  const good = ingress(place, 1) as { readonly metadata: Manifest } & Manifest;
  const annotations = { 'rendergate.dev/load-balance': 'no-such-algorithm' };
  return { ...good, metadata: { ...good.metadata, annotations } };
}

/** The Ingress, its Service and its EndpointSlice with three endpoints. */
export function application(number: number, version = 0): readonly Manifest[] {
  const place = placeOf(number);
  return [ingress(place, version), service(place), endpointSlice(place, number)];
}

export function ingressClass(): Manifest {
  return {
    apiVersion: INGRESSES,
    kind: 'IngressClass',
    metadata: { name: 'haproxy', uid: '00000000-0000-4000-8000-000000000000' },
    spec: { controller: 'rendergate.dev/haproxy' },
  };
}

/** All objects of a cluster with this many Ingresses. */
export function cluster(ingresses: number): readonly Manifest[] {
  return [ingressClass(), ...Array.from({ length: ingresses }, (_, number) => application(number)).flat()];
}

function service({ namespace, name }: Place): Manifest {
  return {
    apiVersion: 'v1',
    kind: 'Service',
    metadata: metadata(name, namespace),
    spec: {
      type: 'ClusterIP',
      selector: { 'app.kubernetes.io/name': name },
      ports: [{ name: 'http', port: 80, protocol: 'TCP', targetPort: 8080 }],
    },
  };
}

function endpointSlice({ namespace, name }: Place, number: number): Manifest {
  const endpoints = Array.from({ length: ENDPOINTS }, (_, at) => ({
    addresses: [`10.${Math.floor(number / 256)}.${number % 256}.${at + 1}`],
    conditions: { ready: true, serving: true, terminating: false },
    nodeName: `node-${at}`,
    targetRef: { kind: 'Pod', name: `${name}-${at}`, namespace },
  }));
  const own = metadata(`${name}-x7k2p`, namespace) as { readonly labels: Manifest } & Manifest;
  return {
    apiVersion: 'discovery.k8s.io/v1',
    kind: 'EndpointSlice',
    metadata: { ...own, labels: { ...own.labels, 'kubernetes.io/service-name': name } },
    addressType: 'IPv4',
    ports: [{ name: 'http', port: 8080, protocol: 'TCP' }],
    endpoints,
  };
}

function metadata(name: string, namespace: string): Manifest {
  return {
    name,
    namespace,
    creationTimestamp: '2026-01-05T08:00:00Z',
    labels: { 'app.kubernetes.io/name': name, 'app.kubernetes.io/managed-by': 'Helm', 'example.com/team': namespace },
  };
}

/** File of one application below the resources directory. */
export function fileOf(number: number): string {
  return join(placeOf(number).namespace, `${placeOf(number).name}.yaml`);
}

/** Writes a cluster as a team would keep it: a directory for each team, a file for each application. */
export function writeCluster(directory: string, ingresses: number): void {
  mkdirSync(directory, { recursive: true });
  writeFileSync(join(directory, 'ingress-class.yaml'), dump(ingressClass()));
  for (let number = 0; number < ingresses; number++) writeApplication(directory, number, 0);
}

/** Writes or replaces the file of one application, by a rename as editors and version control do. */
export function writeApplication(directory: string, number: number, version: number): void {
  const path = join(directory, fileOf(number));
  mkdirSync(join(directory, placeOf(number).namespace), { recursive: true });
  const draft = join(directory, placeOf(number).namespace, `.${placeOf(number).name}.new`);
  const documents = application(number, version).map((manifest) => dump(manifest));
  writeFileSync(draft, documents.join('---\n'));
  renameSync(draft, path);
}
