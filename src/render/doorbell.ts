/** Wakes a thread that waits for a message without going back to its event loop. */
export class Doorbell {
  readonly #rings: Int32Array;

  constructor(readonly shared: SharedArrayBuffer = new SharedArrayBuffer(Int32Array.BYTES_PER_ELEMENT)) {
    this.#rings = new Int32Array(shared);
  }

  /** How often it has rung. */
  get rings(): number {
    return Atomics.load(this.#rings, 0);
  }

  ring(): void {
    Atomics.add(this.#rings, 0, 1);
    Atomics.notify(this.#rings, 0);
  }

  /** Sleeps until it rings, at most so long; not at all when it has rung more often than `rings`. Says whether it rang. */
  wait(rings: number, timeoutMs: number): boolean {
    return Atomics.wait(this.#rings, 0, rings, timeoutMs) !== 'timed-out';
  }
}
