import type { Json, RenderConfig } from '../config/render-config.js';
import { namespacedAccess, READ_SECRETS, serviceAccount } from './access.js';
import { HAPROXY_NAME, type InstallOptions, type Manifest, metadata, selectorOf } from './manifest.js';
import { CONTAINER_SECURITY, disruptionBudget, memoryVolume, POD_SECURITY, probe, ROLLING, spreading } from './pod.js';

const CONFIG = '/var/run/haproxy-config';
const MASTER = '/var/run/haproxy-master';
const SOCKET = `${MASTER}/master.sock`;
const TOKEN = '/var/run/secrets/kubernetes.io/serviceaccount';

/** Nodes stop sending connections while HAProxy still takes them, seconds; then those that are open may end. */
const PROPAGATION = 10;
const GRACE = PROPAGATION + 50;

/** HAProxy, and beside it `rendergate follow`, which brings what the server publishes and reloads. */
export function haproxy(config: RenderConfig, options: InstallOptions): Manifest[] {
  const { namespace } = options;
  const own = metadata(HAPROXY_NAME, namespace, 'haproxy');
  const labels = selectorOf('haproxy');
  return [
    serviceAccount(HAPROXY_NAME, namespace),
    ...namespacedAccess(HAPROXY_NAME, namespace, [READ_SECRETS]),
    service(own),
    disruptionBudget(own, 'haproxy'),
    {
      apiVersion: 'apps/v1',
      kind: 'Deployment',
      metadata: own,
      spec: {
        replicas: 2,
        strategy: ROLLING,
        selector: { matchLabels: labels },
        template: { metadata: { labels }, spec: podSpec(config, options) },
      },
    },
  ];
}

function service(own: Manifest['metadata']): Manifest {
  return {
    apiVersion: 'v1',
    kind: 'Service',
    metadata: own,
    spec: {
      type: 'LoadBalancer',
      selector: selectorOf('haproxy'),
      ports: [
        { name: 'http', port: 80, targetPort: 'http', protocol: 'TCP' },
        { name: 'https', port: 443, targetPort: 'https', protocol: 'TCP' },
      ],
    },
  };
}

/** All containers run as one user: files with private keys and the master socket have mode 0600. */
function podSpec(config: RenderConfig, options: InstallOptions): object {
  return {
    serviceAccountName: HAPROXY_NAME,
    // The token is mounted where it is needed: HAProxy, which the world talks to, has none.
    automountServiceAccountToken: false,
    enableServiceLinks: false,
    terminationGracePeriodSeconds: GRACE,
    securityContext: POD_SECURITY,
    ...spreading('haproxy'),
    // HAProxy does not start without a configuration: this ends when the first one has come.
    initContainers: [follower('first-configuration', options, ['--once'])],
    containers: [haproxyContainer(config, options), follower('follow', options, ['--reload-socket', SOCKET])],
    volumes: [memoryVolume('config'), memoryVolume('master'), memoryVolume('tmp'), tokenVolume()],
  };
}

function haproxyContainer(config: RenderConfig, { haproxyImage }: InstallOptions): object {
  const ports = listening(config);
  return {
    name: 'haproxy',
    image: haproxyImage,
    // Master and workers, in the foreground. `current` is looked up again at each reload.
    command: ['haproxy', '-W', '-db', '-S', `${SOCKET},mode,600`, '-C', `${CONFIG}/current`, '-f', 'haproxy.cfg'],
    ports: Object.entries(ports).map(([name, containerPort]) => ({ name, containerPort, protocol: 'TCP' })),
    startupProbe: probe('/healthz', 'status', 2, 60),
    readinessProbe: probe('/healthz', 'status', 5, 2),
    livenessProbe: probe('/healthz', 'status', 10, 6),
    // The image's stop signal then lets open connections end.
    lifecycle: { preStop: { sleep: { seconds: PROPAGATION } } },
    resources: { requests: { cpu: '250m', memory: '256Mi' }, limits: { memory: '1Gi' } },
    securityContext: CONTAINER_SECURITY,
    volumeMounts: [
      { name: 'config', mountPath: CONFIG, readOnly: true },
      { name: 'master', mountPath: MASTER },
    ],
  };
}

function follower(name: string, { namespace, image }: InstallOptions, more: readonly string[]): object {
  return {
    name,
    image,
    args: ['follow', '--kube', '--namespace', namespace, '--output', CONFIG, ...more],
    resources: { requests: { cpu: '20m', memory: '128Mi' }, limits: { memory: '512Mi' } },
    securityContext: CONTAINER_SECURITY,
    volumeMounts: [
      { name: 'config', mountPath: CONFIG },
      { name: 'master', mountPath: MASTER },
      { name: 'tmp', mountPath: '/tmp' },
      { name: 'token', mountPath: TOKEN, readOnly: true },
    ],
  };
}

/** What the kubelet would mount into each container of the Pod. */
function tokenVolume(): object {
  const namespace = { path: 'namespace', fieldRef: { apiVersion: 'v1', fieldPath: 'metadata.namespace' } };
  const sources = [
    { serviceAccountToken: { path: 'token', expirationSeconds: 3_607 } },
    { configMap: { name: 'kube-root-ca.crt', items: [{ key: 'ca.crt', path: 'ca.crt' }] } },
    { downwardAPI: { items: [namespace] } },
  ];
  return { name: 'token', projected: { sources } };
}

/** Ports of the first addresses that the shipped templates bind: extraContext may change them (deploy/haproxy/rendergate.yaml). */
function listening({ extraContext }: RenderConfig): Readonly<Record<'http' | 'https' | 'status', number>> {
  const { bind, status } = extraContext;
  return {
    http: portOf(first(field(bind, 'http'))) ?? 8080,
    https: portOf(first(field(bind, 'https'))) ?? 8443,
    status: portOf(field(status, 'bind')) ?? 8404,
  };
}

function field(value: Json | undefined, name: string): Json | undefined {
  const isMapping = typeof value === 'object' && value !== null && !Array.isArray(value);
  return isMapping && Object.hasOwn(value, name) ? (value as { readonly [key: string]: Json })[name] : undefined;
}

function first(value: Json | undefined): Json | undefined {
  return Array.isArray(value) ? (value as readonly Json[])[0] : undefined;
}

/** 8080 of `*:8080` or `:::8080`. */
function portOf(address: Json | undefined): number | undefined {
  const port = typeof address === 'string' ? Number(/:(\d{1,5})$/.exec(address)?.[1]) : Number.NaN;
  return Number.isInteger(port) ? port : undefined;
}
