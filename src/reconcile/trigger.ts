/**
 * Coalesces triggers: however many arrive while a cycle runs or while it is quiet for less than the debounce, one cycle
 * follows (decision 0024: intake goes on while an occurrence is in flight).
 */
export class Trigger {
  #wanted = false;
  #running: Promise<void> | undefined;
  #timer: NodeJS.Timeout | undefined;
  #closed = false;

  constructor(
    private readonly cycle: () => Promise<void>,
    private readonly debounceMs: number,
  ) {}

  /** Asks for a cycle after the debounce, or at once. */
  fire(now = false): void {
    if (this.#closed) return;
    this.#wanted = true;
    if (this.#running !== undefined) return;
    if (this.#timer !== undefined && !now) return;
    clearTimeout(this.#timer);
    this.#timer = setTimeout(() => this.#run(), now ? 0 : this.debounceMs);
  }

  /** Starts what is waiting at once; resolves when no cycle is wanted or running. */
  async settled(): Promise<void> {
    while ((this.#wanted && !this.#closed) || this.#running !== undefined) {
      if (this.#running === undefined) {
        clearTimeout(this.#timer);
        this.#run();
      }
      await this.#running;
    }
  }

  /** No further cycle starts; resolves when the running one has ended. */
  async close(): Promise<void> {
    this.#closed = true;
    clearTimeout(this.#timer);
    await this.#running;
  }

  #run(): void {
    this.#timer = undefined;
    this.#wanted = false;
    this.#running = this.cycle().finally(() => {
      this.#running = undefined;
      if (this.#wanted) this.fire();
    });
  }
}
