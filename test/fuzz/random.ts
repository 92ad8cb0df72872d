/** A stream of numbers that a seed fixes for good: every history can be made again from its seed alone. */
export class Random {
  #state: number;

  constructor(seed: number) {
    this.#state = seed >>> 0;
  }

  /** From 0 to `below` - 1 (mulberry32: short, and good enough to pick steps). */
  int(below: number): number {
    this.#state = (this.#state + 0x6d2b79f5) >>> 0;
    let mixed = this.#state;
    mixed = Math.imul(mixed ^ (mixed >>> 15), mixed | 1);
    mixed ^= mixed + Math.imul(mixed ^ (mixed >>> 7), mixed | 61);
    return Math.floor((((mixed ^ (mixed >>> 14)) >>> 0) / 0x1_0000_0000) * below);
  }

  /** True in `percent` of 100 cases. */
  chance(percent: number): boolean {
    return this.int(100) < percent;
  }

  /** The list must not be empty. */
  pick<T>(list: readonly T[]): T {
    return list[this.int(list.length)] as T;
  }

  /** Picks a key by its weight. */
  weighted<Key extends string>(weights: Readonly<Record<Key, number>>): Key {
    const entries = Object.entries(weights) as [Key, number][];
    let left = this.int(entries.reduce((sum, [, weight]) => sum + weight, 0));
    for (const [key, weight] of entries) if ((left -= weight) < 0) return key;
    throw new Error('weights are positive');
  }

  some<T>(list: readonly T[], percent: number): T[] {
    return list.filter(() => this.chance(percent));
  }

  shuffled<T>(list: readonly T[]): T[] {
    const rest = [...list];
    const result: T[] = [];
    while (rest.length > 0) result.push(...rest.splice(this.int(rest.length), 1));
    return result;
  }
}
