import type { Readable } from 'node:stream';

/** The first bytes of a stream. The rest is read and dropped, so that the writer never blocks on a full pipe. */
export class BoundedOutput {
  private readonly chunks: Buffer[] = [];
  private size = 0;

  constructor(
    private readonly stream: Readable,
    private readonly limit: number,
  ) {
    stream.on('data', (chunk: Buffer) => this.keep(chunk));
    // A pipe that breaks tells nothing that the process's end does not tell; unhandled it would end ours.
    stream.on('error', () => undefined);
  }

  /** Settles when the last writer has closed its end. */
  closed(): Promise<void> {
    if (this.stream.closed) return Promise.resolve();
    return new Promise((resolve) => this.stream.once('close', () => resolve()));
  }

  /** Stops listening to writers that outlive the process. */
  destroy(): void {
    this.stream.destroy();
  }

  bytes(): Buffer {
    return Buffer.concat(this.chunks);
  }

  private keep(chunk: Buffer): void {
    const kept = chunk.subarray(0, Math.max(0, this.limit - this.size));
    this.size += kept.length;
    if (kept.length > 0) this.chunks.push(kept);
  }
}
