import type { Random } from './random.js';
import { ALIASES, type Alias, type Place, placeKey, randomPlace, randomSpec, type Spec, tweaked } from './world.js';

/** A change by absolute content, so that a history stays meaningful when steps are taken out of it. */
export interface Put {
  readonly place: Place;
  /** Undefined: gone. */
  readonly spec: Spec | undefined;
}

/** One step of a history; plain data that can be printed and run again. */
export type Step =
  | { readonly do: 'put' | 'delete' | 'awayAndBack'; readonly put: Put }
  | { readonly do: 'noop'; readonly place: Place }
  /** Both get what the other had: what they publish changes hands and is there all the same. */
  | { readonly do: 'swap'; readonly places: readonly [Place, Place] }
  | { readonly do: 'commit'; readonly check: 'judge' | 'unavailable'; readonly blame: 'all' | 'first' }
  | { readonly do: 'abort'; readonly after: number }
  | {
      readonly do: 'review';
      readonly ledger: readonly Put[];
      readonly changes: readonly Put[];
      /** What can be rendered comes into the ledger before the next change is reviewed. */
      readonly admits: boolean;
    }
  | { readonly do: 'replace'; readonly alias: Alias; readonly puts: readonly Put[]; readonly keep: boolean }
  | { readonly do: 'trim'; readonly put: Put }
  | { readonly do: 'lift'; readonly at: number }
  | { readonly do: 'restart' };

const WEIGHTS = {
  put: 42,
  delete: 10,
  awayAndBack: 5,
  noop: 4,
  swap: 8,
  commit: 26,
  abort: 5,
  review: 14,
  replace: 2,
  trim: 1,
  lift: 2,
  restart: 1,
};

export function randomSteps(random: Random): Step[] {
  const writer = new StepWriter(random);
  const first = Array.from({ length: 3 + random.int(14) }, () => writer.first());
  const rest = Array.from({ length: 8 + random.int(16) }, () => writer.step(random.weighted(WEIGHTS)));
  const commit = { do: 'commit', check: 'judge', blame: 'all' } as const;
  return [...first, commit, ...rest, commit];
}

class StepWriter {
  /** What was put last, so that half of the changes can be small ones of what is there. */
  readonly #last = new Map<string, Put>();

  constructor(private readonly random: Random) {}

  /** Puts an object anywhere. */
  first(): Step {
    return { do: 'put', put: this.#keep({ place: randomPlace(this.random), spec: randomSpec(this.random) }) };
  }

  step(kind: keyof typeof WEIGHTS): Step {
    const { random } = this;
    switch (kind) {
      case 'put':
        return { do: kind, put: this.#keep(this.#put(0)) };
      case 'awayAndBack':
      case 'trim':
        return { do: kind, put: this.#put(0) };
      case 'delete':
        return { do: kind, put: { place: this.#place(), spec: undefined } };
      case 'noop':
        return { do: kind, place: this.#place() };
      case 'swap':
        return { do: kind, places: this.#two() };
      case 'commit':
        return {
          do: kind,
          check: random.chance(85) ? 'judge' : 'unavailable',
          blame: random.chance(70) ? 'all' : 'first',
        };
      case 'abort':
        return { do: kind, after: 1 + random.int(5) };
      case 'review':
        return {
          do: kind,
          ledger: this.#puts(random.chance(30) ? 2 : 0),
          changes: this.#puts(1 + random.int(3)),
          admits: random.chance(40),
        };
      case 'replace':
        return { do: kind, alias: random.pick(ALIASES), puts: this.#puts(random.int(4)), keep: random.chance(60) };
      case 'lift':
        return { do: kind, at: random.int(3) };
      case 'restart':
        return { do: kind };
    }
  }

  #keep(put: Put): Put {
    this.#last.set(placeKey(put.place), put);
    return put;
  }

  /** A place where something was put before, or any. */
  #place(): Place {
    const known = [...this.#last.values()];
    return known.length > 0 && this.random.chance(60) ? this.random.pick(known).place : randomPlace(this.random);
  }

  #two(): [Place, Place] {
    const first = this.#place();
    return [first, { ...this.#place(), alias: first.alias }];
  }

  #put(deletions: number): Put {
    const { random } = this;
    if (random.chance(deletions)) return { place: this.#place(), spec: undefined };
    const known = [...this.#last.values()];
    if (known.length === 0 || random.chance(50)) return { place: randomPlace(random), spec: randomSpec(random) };
    const { place, spec } = random.pick(known);
    return { place, spec: spec === undefined ? randomSpec(random) : tweaked(random, spec) };
  }

  #puts(count: number): Put[] {
    return Array.from({ length: count }, () => this.#put(30));
  }
}

/** The step on one line. */
export function describeStep(step: Step): string {
  const { do: kind, ...rest } = step;
  return `${kind} ${JSON.stringify(rest)}`;
}
