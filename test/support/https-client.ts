import { Agent, request } from 'node:https';
import type { ClientRequest, IncomingHttpHeaders } from 'node:http';
import { performance } from 'node:perf_hooks';

export interface HttpCall {
  /** Default `/validate`. */
  readonly path?: string;
  /** Default POST. */
  readonly method?: string;
  /** Added to `Content-Type: application/json`, which an empty value takes away. */
  readonly headers?: Readonly<Record<string, string>>;
  /** Sent with Content-Length, unless it comes as an iterable (then chunked, or with the length that headers say). */
  readonly body?: string | Buffer | Iterable<Buffer>;
}

export interface HttpAnswer {
  readonly status: number;
  readonly headers: IncomingHttpHeaders;
  readonly bytes: Buffer;
  readonly text: string;
  /** Bytes of the body that were handed to the socket when the answer's head came. */
  readonly sentBytes: number;
  readonly seconds: number;
}

/** Posts to a server on this machine, trusts one CA only, and keeps connections alive. */
export class HttpsClient {
  private readonly agent: Agent;

  constructor(
    private readonly port: number,
    ca: string | Buffer,
    private readonly host = '127.0.0.1',
  ) {
    this.agent = new Agent({ ca, keepAlive: true, maxSockets: 256 });
  }

  /** Rejects when the connection fails before an answer; a reset after the answer (as with 413) is none. */
  send(call: HttpCall): Promise<HttpAnswer> {
    const { path = '/validate', method = 'POST', body } = call;
    const started = performance.now();
    const sent = { bytes: 0, stopped: false };
    return new Promise((resolve, reject) => {
      const req = request(
        { host: this.host, port: this.port, path, method, headers: headersOf(call), agent: this.agent },
        (res) => {
          const sentBytes = sent.bytes;
          // Nobody reads the rest of a body that was answered already.
          sent.stopped = true;
          const chunks: Buffer[] = [];
          const finish = (): void => {
            const bytes = Buffer.concat(chunks);
            const seconds = (performance.now() - started) / 1000;
            const { statusCode: status = 0, headers } = res;
            resolve({ status, headers, bytes, text: bytes.toString('utf8'), sentBytes, seconds });
            if (!req.writableEnded) req.destroy();
          };
          res.on('data', (chunk: Buffer) => chunks.push(chunk));
          res.on('end', finish);
          res.on('error', finish);
        },
      );
      req.on('error', reject);
      writeBody(req, body, sent);
    });
  }

  close(): void {
    this.agent.destroy();
  }
}

function headersOf(call: HttpCall): Record<string, string> {
  const all: Record<string, string> = { 'content-type': 'application/json', ...call.headers };
  return Object.fromEntries(Object.entries(all).filter(([, value]) => value !== ''));
}

interface Sent {
  bytes: number;
  stopped: boolean;
}

function writeBody(req: ClientRequest, body: HttpCall['body'], sent: Sent): void {
  if (body === undefined || typeof body === 'string' || Buffer.isBuffer(body)) {
    sent.bytes = body === undefined ? 0 : Buffer.byteLength(body);
    req.end(body);
    return;
  }
  const parts = body[Symbol.iterator]();
  const more = (): void => {
    for (;;) {
      if (req.destroyed || sent.stopped) return;
      const { done, value } = parts.next();
      if (done === true) return void req.end();
      sent.bytes += value.length;
      if (!req.write(value)) break;
    }
    req.once('drain', more);
  };
  more();
}
