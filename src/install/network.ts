import type { RenderConfig } from '../config/render-config.js';
import { type InstallOptions, type Manifest, metadata, NAME, selectorOf } from './manifest.js';
import { HEALTH_PORT, HTTPS_PORT } from './server.js';

const DNS = [port(53, 'UDP'), port(53)];
/** As the Service has it, and as API servers listen behind it: policies see the address after translation in most networks. */
const API_SERVER = [port(443), port(6443)];

/** Who may talk to the server's Pods, and to whom they talk. The API server, like probes, has no address to name here. */
export function networkPolicy(_config: RenderConfig, { namespace }: InstallOptions): Manifest[] {
  const own = { podSelector: { matchLabels: selectorOf('server') } };
  return [
    {
      apiVersion: 'networking.k8s.io/v1',
      kind: 'NetworkPolicy',
      metadata: metadata(NAME, namespace, 'server'),
      spec: {
        ...own,
        policyTypes: ['Ingress', 'Egress'],
        ingress: [{ ports: [port(HTTPS_PORT), port(HEALTH_PORT)] }],
        // The last one asks the siblings whether they have a graph (decision 0029, 4).
        egress: [{ ports: DNS }, { ports: API_SERVER }, { to: [own], ports: [port(HTTPS_PORT)] }],
      },
    },
  ];
}

function port(number: number, protocol: 'TCP' | 'UDP' = 'TCP'): object {
  return { port: number, protocol };
}
