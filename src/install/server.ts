import type { RenderConfig } from '../config/render-config.js';
import { CONFIG_FOLDER, configDigest, configVolume } from './config-map.js';
import { type InstallOptions, type Manifest, metadata, NAME, selectorOf } from './manifest.js';
import { CONTAINER_SECURITY, disruptionBudget, memoryVolume, POD_SECURITY, probe, ROLLING, spreading } from './pod.js';

/** Ports of `serve` by their names in the Pod. */
export const HTTPS_PORT = 8443;
export const HEALTH_PORT = 8081;

const RUN_FOLDER = '/var/run/rendergate';

/** Served on after SIGTERM until every node has taken the replica out of the Service, seconds. */
const PROPAGATION = 10;
/** Then reviews in flight get 30 s (`serve`), and thread and checkers have to end. */
const GRACE = PROPAGATION + 30 + 10;

/** The webhook server: Deployment, PodDisruptionBudget and the Service by which the API server calls it. */
export function server(_config: RenderConfig, options: InstallOptions): Manifest[] {
  const { namespace, replicas, files } = options;
  const own = metadata(NAME, namespace, 'server');
  const labels = selectorOf('server');
  const annotations = { 'rendergate.dev/config-digest': configDigest(files) };
  return [
    service(own),
    disruptionBudget(own, 'server'),
    {
      apiVersion: 'apps/v1',
      kind: 'Deployment',
      metadata: own,
      spec: {
        replicas,
        strategy: ROLLING,
        selector: { matchLabels: labels },
        template: { metadata: { labels, annotations }, spec: podSpec(options) },
      },
    },
  ];
}

/** A replica that is not ready is not asked: it would only deny. */
function service(own: Manifest['metadata']): Manifest {
  return {
    apiVersion: 'v1',
    kind: 'Service',
    metadata: own,
    spec: {
      selector: selectorOf('server'),
      publishNotReadyAddresses: false,
      ports: [{ name: 'https', port: 443, targetPort: 'https', protocol: 'TCP' }],
    },
  };
}

function podSpec(options: InstallOptions): object {
  return {
    serviceAccountName: NAME,
    automountServiceAccountToken: true,
    enableServiceLinks: false,
    terminationGracePeriodSeconds: GRACE,
    securityContext: POD_SECURITY,
    ...spreading('server'),
    containers: [container(options)],
    volumes: [configVolume('config', options.files), memoryVolume('run'), memoryVolume('tmp')],
  };
}

function container({ namespace, image }: InstallOptions): object {
  return {
    name: NAME,
    image,
    args: serveArguments(namespace),
    env: [
      fieldEnv('POD_NAME', 'metadata.name'),
      fieldEnv('POD_NAMESPACE', 'metadata.namespace'),
      fieldEnv('POD_IP', 'status.podIP'),
    ],
    ports: [
      { name: 'https', containerPort: HTTPS_PORT, protocol: 'TCP' },
      { name: 'health', containerPort: HEALTH_PORT, protocol: 'TCP' },
    ],
    // It listens before the first render: starting takes seconds, whatever the cluster's size.
    startupProbe: probe('/livez', 'health', 2, 60),
    readinessProbe: probe('/readyz', 'health', 5, 2),
    // Slow to kill: a restart costs the graph, and reviews then wait for a cold render.
    livenessProbe: probe('/livez', 'health', 10, 6),
    // Half of the limit is the render thread's heap; the rest is for checkers and the two folders in memory. A small cluster
    // needs a tenth of it, so less is reserved.
    resources: { requests: { cpu: '250m', memory: '512Mi' }, limits: { memory: '2Gi' } },
    securityContext: CONTAINER_SECURITY,
    volumeMounts: [
      { name: 'config', mountPath: CONFIG_FOLDER, readOnly: true },
      { name: 'run', mountPath: RUN_FOLDER },
      { name: 'tmp', mountPath: '/tmp' },
    ],
  };
}

function serveArguments(namespace: string): string[] {
  return [
    ...['serve', '--kube', '--namespace', namespace, '--service', NAME, '--publish-secret', 'rendergate-published'],
    ...['--leader-elect', '--tls-secret', 'rendergate-tls'],
    ...['--config', CONFIG_FOLDER, '--output', `${RUN_FOLDER}/output`, '--certs', `${RUN_FOLDER}/certs`],
    ...['--port', String(HTTPS_PORT), '--health-port', String(HEALTH_PORT), '--propagation', String(PROPAGATION)],
  ];
}

function fieldEnv(name: string, fieldPath: string): object {
  return { name, valueFrom: { fieldRef: { apiVersion: 'v1', fieldPath } } };
}
