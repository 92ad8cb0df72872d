import { readFileSync, writeFileSync } from 'node:fs';
import { createServer, type IncomingMessage, type ServerResponse } from 'node:http';
import { Agent, request } from 'node:https';
import type { AddressInfo } from 'node:net';
import { fields } from '../../cases/answer.js';
import { makeScratch } from '../../support/scratch.js';
import type { ControlPlane } from './control-plane.js';

export interface AddressRelay {
  readonly kubeconfig: string;
  /** Takes API calls without credentials, as the administrator. */
  readonly url: string;
  stop(): Promise<void>;
}

/**
 * Stands between a process and the API server in the place of a cluster's network: the API server takes no EndpointSlice
 * with a loopback address, and a test has no others to listen on. Addresses in the EndpointSlices of one namespace are
 * translated; everything else goes through as it is.
 */
export async function startAddressRelay(
  plane: ControlPlane,
  namespace: string,
  translate: (json: string) => string,
): Promise<AddressRelay> {
  const scratch = makeScratch('rg-relay-');
  const agent = adminAgent(plane.kubeconfig);
  const slices = `/namespaces/${namespace}/endpointslices`;
  const server = createServer((incoming, response) => {
    const isTranslated = incoming.url?.includes(slices) === true;
    forward(plane.url, agent, incoming, response, isTranslated ? translate : undefined);
  });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  const kubeconfig = `${scratch.path}/kubeconfig`;
  const url = `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
  writeFileSync(kubeconfig, kubeconfigText(url));
  return {
    kubeconfig,
    url,
    stop: async () => {
      server.closeAllConnections();
      await new Promise((resolve) => server.close(resolve));
      agent.destroy();
      scratch.remove();
    },
  };
}

function forward(
  url: string,
  agent: Agent,
  incoming: IncomingMessage,
  response: ServerResponse,
  translate: ((json: string) => string) | undefined,
): void {
  const { method, headers } = incoming;
  const onward = request(`${url}${incoming.url}`, { method, headers, agent }, (answer) => {
    response.writeHead(answer.statusCode ?? 502, { 'content-type': answer.headers['content-type'] ?? '' });
    response.flushHeaders();
    answer.on('error', () => response.destroy());
    if (translate === undefined) answer.pipe(response);
    else void textOf(answer).then((text) => response.end(translate(text)));
  });
  onward.on('error', () => response.destroy());
  response.on('close', () => onward.destroy());
  incoming.pipe(onward);
}

async function textOf(answer: IncomingMessage): Promise<string> {
  const chunks: Buffer[] = [];
  for await (const chunk of answer) chunks.push(chunk as Buffer);
  return Buffer.concat(chunks).toString('utf8');
}

function adminAgent(kubeconfig: string): Agent {
  const { users } = JSON.parse(readFileSync(kubeconfig, 'utf8')) as { readonly users: readonly [{ user: unknown }] };
  const user = fields(users[0].user);
  const pem = (name: string): Buffer => Buffer.from(String(user[name]), 'base64');
  const [cert, key] = [pem('client-certificate-data'), pem('client-key-data')];
  return new Agent({ cert, key, keepAlive: true, rejectUnauthorized: false });
}

function kubeconfigText(server: string): string {
  return JSON.stringify({
    'current-context': 'relay',
    contexts: [{ name: 'relay', context: { cluster: 'relay', user: 'relay' } }],
    clusters: [{ name: 'relay', cluster: { server, 'insecure-skip-tls-verify': true } }],
    users: [{ name: 'relay', user: {} }],
  });
}
