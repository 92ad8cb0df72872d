import type { Server as HttpServer, ServerResponse } from 'node:http';
import { Server as HttpsServer } from 'node:https';
import { Socket } from 'node:net';
import type { Duplex } from 'node:stream';

import type { Logger } from 'pino';

import type { ConnectionErrorKind, Metrics } from './metrics.js';

/**
 * Counts what goes wrong below a request (broken handshakes, malformed HTTP, slow senders) and answers where an answer
 * can still be read. Log level debug: whoever can open a connection must not be able to fill the log.
 */
export function handleConnectionErrors(server: HttpServer | HttpsServer, metrics: Metrics, log: Logger): void {
  const established = new WeakSet<Duplex>();
  const answers = new WeakMap<Duplex, ServerResponse>();
  // https passes failed handshakes to `clientError` too, and those can't be answered in HTTP.
  server.on(server instanceof HttpsServer ? 'secureConnection' : 'connection', (socket: Duplex) => {
    established.add(socket);
  });
  const remember = (_req: unknown, res: ServerResponse): void => {
    if (res.socket !== null) answers.set(res.socket, res);
  };
  server.on('request', remember);
  server.on('checkContinue', remember);
  server.on('clientError', (error: NodeJS.ErrnoException, socket: Duplex) => {
    const kind = established.has(socket) ? kindOf(error.code) : 'tls';
    metrics.recordConnectionError(kind);
    log.debug({ kind, code: error.code }, 'connection failed');
    end(socket, statusLineOf(kind), answers.get(socket));
  });
}

function kindOf(code: string | undefined): ConnectionErrorKind {
  if (code === 'HPE_HEADER_OVERFLOW') return 'headers-too-large';
  if (code === 'ERR_HTTP_REQUEST_TIMEOUT') return 'timeout';
  return code?.startsWith('HPE_') === true ? 'malformed' : 'reset';
}

function statusLineOf(kind: ConnectionErrorKind): string | undefined {
  switch (kind) {
    case 'malformed':
      return '400 Bad Request';
    case 'timeout':
      return '408 Request Timeout';
    case 'headers-too-large':
      return '431 Request Header Fields Too Large';
    case 'tls':
    case 'reset':
      return undefined;
  }
}

function end(socket: Duplex, statusLine: string | undefined, answer: ServerResponse | undefined): void {
  const midAnswer = answer !== undefined && answer.headersSent && !answer.writableFinished;
  if (statusLine === undefined || midAnswer || !socket.writable || !(socket instanceof Socket)) {
    socket.destroy();
    return;
  }
  socket.write(`HTTP/1.1 ${statusLine}\r\nConnection: close\r\nContent-Length: 0\r\n\r\n`);
  socket.destroySoon();
}
