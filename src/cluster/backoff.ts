/** client-go's reflector: 800 ms, doubled up to 30 s, each with jitter, so that replicas do not come back together. */
const BACKOFF = { firstMs: 800, mostMs: 30_000 } as const;

export class Backoff {
  #nextMs: number = BACKOFF.firstMs;

  constructor(private readonly random: () => number = Math.random) {}

  /** Milliseconds to wait now; the next wait is longer. */
  next(): number {
    const wait = this.#nextMs * (1 + this.random());
    this.#nextMs = Math.min(this.#nextMs * 2, BACKOFF.mostMs);
    return wait;
  }

  reset(): void {
    this.#nextMs = BACKOFF.firstMs;
  }
}
