import { createServer, type IncomingMessage, type Server, type ServerResponse } from 'node:http';
import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { makeScratch } from '../support/scratch.js';

type Answer = (response: ServerResponse, query: URLSearchParams, request: IncomingMessage) => void;

/**
 * Speaks list and watch as badly as a test tells it to: faults that a real API server shows only under stress. Answers are
 * used up one after the other; the last one stays.
 */
export class FakeApiServer {
  readonly lists: Answer[] = [];
  readonly watches: Answer[] = [];
  readonly calls: string[] = [];
  readonly kubeconfig: string;
  readonly #scratch = makeScratch('rg-api-');

  private constructor(
    private readonly server: Server,
    port: number,
  ) {
    this.kubeconfig = join(this.#scratch.path, 'kubeconfig');
    const config = {
      'current-context': 'fake',
      contexts: [{ name: 'fake', context: { cluster: 'fake', user: 'fake' } }],
      clusters: [{ name: 'fake', cluster: { server: `http://127.0.0.1:${port}`, 'insecure-skip-tls-verify': true } }],
      users: [{ name: 'fake', user: { token: 'secret-token' } }],
    };
    writeFileSync(this.kubeconfig, JSON.stringify(config));
  }

  static async start(): Promise<FakeApiServer> {
    const server = createServer();
    await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
    const address = server.address();
    const fake = new FakeApiServer(server, typeof address === 'object' && address !== null ? address.port : 0);
    server.on('request', (request: IncomingMessage, response) => fake.#answer(request, response));
    return fake;
  }

  async stop(): Promise<void> {
    this.server.closeAllConnections();
    await new Promise((resolve) => this.server.close(resolve));
    this.#scratch.remove();
  }

  #answer(request: IncomingMessage, response: ServerResponse): void {
    const { searchParams } = new URL(request.url ?? '', 'http://fake');
    const answers = searchParams.has('watch') ? this.watches : this.lists;
    this.calls.push(searchParams.has('watch') ? `watch ${searchParams.get('resourceVersion') ?? ''}` : 'list');
    const answer = answers.length > 1 ? answers.shift() : answers[0];
    answer?.(response, searchParams, request);
  }
}

export function object(name: string, version: number, extra: object = {}): object {
  return { metadata: { namespace: 'shop', name, resourceVersion: String(version) }, ...extra };
}

export function list(version: number, items: readonly object[], token?: string): Answer {
  return (response) =>
    response.end(JSON.stringify({ metadata: { resourceVersion: String(version), continue: token }, items }));
}

export function refusal(code: number, headers: Readonly<Record<string, string>> = {}): Answer {
  return (response) =>
    response.writeHead(code, headers).end(JSON.stringify({ kind: 'Status', code, message: `refused with ${code}` }));
}

export function event(type: string, of: object): string {
  return `${JSON.stringify({ type, object: of })}\n`;
}

/** Sends these texts and then holds the watch open. */
export function watch(...texts: readonly string[]): Answer {
  return (response) => {
    response.flushHeaders();
    for (const text of texts) response.write(text);
  };
}

/** Sends these texts and then ends as a server does whose time is up, or breaks off. */
export function watchEnding(how: 'end' | 'reset', ...texts: readonly string[]): Answer {
  return (response) => {
    response.flushHeaders();
    for (const text of texts) response.write(text);
    if (how === 'end') response.end();
    else setImmediate(() => response.destroy());
  };
}
