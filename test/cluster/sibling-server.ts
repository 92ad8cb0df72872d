import { createServer, type Server } from 'node:https';
import type { RequestListener, ServerResponse } from 'node:http';
import { createServer as createTcpServer, type Server as TcpServer } from 'node:net';
import type { IssuedCertificate } from '../../src/cluster/issue-certificate.js';

export type Answer = (response: ServerResponse) => void;

/** A replica as its siblings see it: an HTTPS server that answers every request alike. */
export interface SiblingServer {
  readonly address: string;
  /** Paths that were asked for. */
  readonly asked: string[];
  /** What it answers from now on. */
  answer: Answer;
  stop(): Promise<void>;
}

export async function startSibling(
  address: string,
  port: number,
  { cert, key }: Pick<IssuedCertificate, 'cert' | 'key'>,
  answer: Answer,
): Promise<SiblingServer> {
  const asked: string[] = [];
  const listener: RequestListener = (request, response) => {
    asked.push(request.url ?? '');
    sibling.answer(response);
  };
  const server = createServer({ cert, key }, listener);
  const sibling: SiblingServer = {
    address,
    asked,
    answer,
    stop: () => {
      server.closeAllConnections();
      return ended(server);
    },
  };
  await listening(server, address, port);
  return sibling;
}

/** Takes connections and says nothing, as a machine that hangs. */
export async function startSilence(address: string, port: number): Promise<{ stop(): Promise<void> }> {
  const server = createTcpServer({ pauseOnConnect: true });
  const sockets = new Set<{ destroy(): void }>();
  server.on('connection', (socket) => {
    sockets.add(socket);
    socket.on('error', () => undefined);
  });
  await listening(server, address, port);
  return {
    stop: () => {
      for (const socket of sockets) socket.destroy();
      return ended(server);
    },
  };
}

export function says(status: number, text: string, headers: Readonly<Record<string, string>> = {}): Answer {
  return (response) => void response.writeHead(status, headers).end(text);
}

export const GRAPH = says(200, 'ok');
export const COLD = says(200, 'ok: no graph yet (instances, 3 of 10 instances)');

function listening(server: Server | TcpServer, host: string, port: number): Promise<void> {
  return new Promise((resolve, reject) => {
    server.once('error', reject);
    server.listen({ host, port }, resolve);
  });
}

function ended(server: Server | TcpServer): Promise<void> {
  return new Promise((resolve) => server.close(() => resolve()));
}
