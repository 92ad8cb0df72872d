import type { IncomingMessage, ServerResponse } from 'node:http';

/**
 * How long a refused sender may still read its answer before the connection is cut, milliseconds. Closing a socket
 * that holds unread bytes resets it, and a reset can overtake the answer; Go's net/http waits the same 500 ms.
 */
const LINGER_MS = 500;

const REASONS: ReadonlyMap<number, string> = new Map([
  [400, 'BadRequest'],
  [404, 'NotFound'],
  [405, 'MethodNotAllowed'],
  [413, 'RequestEntityTooLarge'],
  [415, 'UnsupportedMediaType'],
  [500, 'InternalError'],
  [503, 'ServiceUnavailable'],
]);

/** A `metav1.Status` document: the API server shows its message when a webhook call fails. */
export function statusDocument(code: number, message: string): string {
  const reason = REASONS.get(code) ?? 'Unknown';
  return JSON.stringify({ kind: 'Status', apiVersion: 'v1', metadata: {}, status: 'Failure', message, reason, code });
}

/** Writes a whole answer with its exact type; express would add a charset to it. */
export function sendText(res: ServerResponse, code: number, type: string, text: string): void {
  if (res.headersSent || res.destroyed) return;
  writeHead(res, code, type, text);
  res.end(text);
}

/**
 * Answers without reading what is left of the request's body. If there is any, the connection ends with the answer:
 * the whole answer is written at once, the socket is closed after a short while.
 */
export function refuse(req: IncomingMessage, res: ServerResponse, code: number, message: string): void {
  const text = statusDocument(code, message);
  if (req.complete || !announcesBody(req)) return sendText(res, code, 'application/json', text);
  if (res.headersSent || res.destroyed) return;
  req.pause();
  res.setHeader('Connection', 'close');
  writeHead(res, code, 'application/json', text);
  res.write(text);
  const timer = setTimeout(() => res.end(), LINGER_MS);
  res.once('close', () => clearTimeout(timer));
}

function writeHead(res: ServerResponse, code: number, type: string, text: string): void {
  res.statusCode = code;
  res.setHeader('Content-Type', type);
  res.setHeader('X-Content-Type-Options', 'nosniff');
  res.setHeader('Content-Length', Buffer.byteLength(text));
}

function announcesBody(req: IncomingMessage): boolean {
  return req.headers['transfer-encoding'] !== undefined || Number(req.headers['content-length'] ?? 0) > 0;
}
