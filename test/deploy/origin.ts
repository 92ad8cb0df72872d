import { createServer, type Server } from 'node:http';
import { createServer as createPort } from 'node:net';
import { once } from 'node:events';
import type { AddressInfo } from 'node:net';

/** What an origin saw of a request, sent back as its answer. */
export interface Seen {
  readonly origin: string;
  readonly method: string;
  readonly path: string;
  readonly headers: Readonly<Record<string, string | undefined>>;
}

export interface Origin {
  readonly port: number;
  close(): void;
}

/** An application behind HAProxy: answers each request with what it saw. */
export async function startOrigin(name: string): Promise<Origin> {
  const server: Server = createServer((request, response) => {
    request.resume();
    const { method = '', url = '', headers } = request;
    response.setHeader('Content-Type', 'application/json');
    response.end(JSON.stringify({ origin: name, method, path: url, headers }));
  });
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  return {
    port: (server.address() as AddressInfo).port,
    close: () => {
      server.closeAllConnections();
      server.close();
    },
  };
}

/** Ports that were free a moment ago. */
export async function freePorts(count: number): Promise<number[]> {
  const servers = Array.from({ length: count }, () => createPort().listen(0, '127.0.0.1'));
  await Promise.all(servers.map((server) => once(server, 'listening')));
  const ports = servers.map((server) => (server.address() as AddressInfo).port);
  await Promise.all(servers.map((server) => once(server.close(), 'close')));
  return ports;
}
