import { readFileSync } from 'node:fs';
import { Pool } from 'undici';

export interface Answer {
  readonly status: number;
  readonly text: string;
  readonly ms: number;
}

/** Keep-alive connections to one server on this machine; one request at a time on each. */
export class HttpsClient {
  readonly #pool: Pool;

  constructor(port: number, caFile: string, connections: number) {
    const connect = { ca: readFileSync(caFile) };
    this.#pool = new Pool(`https://localhost:${port}`, { connections, pipelining: 1, connect });
  }

  async post(path: string, body: string): Promise<Answer> {
    const started = performance.now();
    const headers = { 'content-type': 'application/json' };
    const answer = await this.#pool.request({ path, method: 'POST', headers, body });
    const text = await answer.body.text();
    return { status: answer.statusCode, text, ms: performance.now() - started };
  }

  async get(path: string): Promise<Answer> {
    const started = performance.now();
    const answer = await this.#pool.request({ path, method: 'GET' });
    const text = await answer.body.text();
    return { status: answer.statusCode, text, ms: performance.now() - started };
  }

  close(): Promise<void> {
    return this.#pool.destroy();
  }
}
