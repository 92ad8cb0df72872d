/** Wakes the one loop that waits for it; a ring that comes before the wait ends it at once. */
export class Bell {
  #rung = false;
  #wake: () => void = () => undefined;

  ring(): void {
    this.#rung = true;
    this.#wake();
  }

  /** Until it rings, `ms` have passed, or the signal is aborted. Never rejects. */
  async wait(ms: number, signal: AbortSignal): Promise<void> {
    if (!this.#rung && !signal.aborted) {
      await new Promise<void>((resolve) => {
        const finish = (): void => {
          clearTimeout(timer);
          signal.removeEventListener('abort', finish);
          resolve();
        };
        const timer = setTimeout(finish, ms);
        signal.addEventListener('abort', finish);
        this.#wake = finish;
      });
    }
    this.#rung = false;
  }
}
