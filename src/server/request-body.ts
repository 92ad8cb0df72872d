import type { IncomingMessage } from 'node:http';

/**
 * `too-large`: reading stopped at the limit and the rest is still on the wire. `crowded`: so many bodies are held that
 * there is no room for this one. `aborted`: the sender went away.
 */
export type BodyOutcome =
  | { readonly kind: 'read'; readonly text: string; readonly bytes: number }
  | { readonly kind: 'too-large' | 'crowded' | 'aborted' };

/** Bytes of all bodies held at once: a limit for each request alone would let many connections fill the memory. */
export class BodyBudget {
  #held = 0;

  constructor(private readonly most: number) {}

  take(bytes: number): boolean {
    if (this.#held + bytes > this.most) return false;
    this.#held += bytes;
    return true;
  }

  give(bytes: number): void {
    this.#held -= bytes;
  }
}

/** Whether the declared length alone is over the limit: nothing needs to be read then. */
export function declaresTooMuch(req: IncomingMessage, maxBytes: number): boolean {
  return Number(req.headers['content-length'] ?? 0) > maxBytes;
}

/**
 * Reads a body of at most `maxBytes` and decodes it as UTF-8 (a malformed byte becomes U+FFFD, and the review judges
 * the text). What it read stays taken from the budget until the caller gives it back. Never rejects. Express's own parsers read an oversize body to its end before they answer; this one stops.
 */
export function readBody(req: IncomingMessage, maxBytes: number, budget: BodyBudget): Promise<BodyOutcome> {
  return new Promise((resolve) => {
    const chunks: Buffer[] = [];
    let size = 0;
    let taken = 0;
    const finish = (outcome: BodyOutcome): void => {
      req.off('data', onData);
      req.off('end', onEnd);
      req.off('close', onGone);
      if (outcome.kind !== 'read') {
        budget.give(taken);
        taken = 0;
      }
      resolve(outcome);
    };
    const onData = (chunk: Buffer): void => {
      size += chunk.length;
      const fits = size <= maxBytes;
      if (fits && budget.take(chunk.length)) {
        taken += chunk.length;
        chunks.push(chunk);
        return;
      }
      req.pause();
      finish({ kind: fits ? 'crowded' : 'too-large' });
    };
    const onEnd = (): void => finish({ kind: 'read', text: decode(chunks, size), bytes: size });
    const onGone = (): void => finish({ kind: 'aborted' });
    // An aborted request emits `error` (ECONNRESET) and then `close`. The listener stays, since a paused request can
    // still fail after its refusal, and an error that nobody hears ends the process.
    req.on('error', onGone);
    req.on('close', onGone);
    req.on('end', onEnd);
    req.on('data', onData);
  });
}

function decode(chunks: readonly Buffer[], size: number): string {
  const [only] = chunks;
  const whole = chunks.length === 1 && only !== undefined ? only : Buffer.concat(chunks, size);
  return whole.toString('utf8');
}
