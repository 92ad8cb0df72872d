/** Says a problem when it is new or has changed, not each time that it is met. */
export class SaidOnce {
  readonly #said = new Map<string, string>();

  /** Whether `what` of `topic` is news. */
  isNews(topic: string, what: string): boolean {
    if (this.#said.get(topic) === what) return false;
    this.#said.set(topic, what);
    return true;
  }

  /** The topic's problem is over. Whether there was one. */
  over(topic: string): boolean {
    return this.#said.delete(topic);
  }
}
