import type { TemplateCompartment } from '../../src/template/compartment.js';
import { type FuzzConfig, randomConfig, renderConfigOf } from './fuzz-config.js';
import { Difference } from './comparison.js';
import { History } from './history.js';
import { Random } from './random.js';
import { type RecordingContext, recordingContext } from './recording-host.js';
import { randomSteps, type Step } from './steps.js';
import { emptyTally, type Tally } from './tally.js';

/** Configurations in play: compiling one costs more than a history, so they are shared. */
const CONFIGS = 400;
/** Histories that shrinking may run; more is patience without profit. */
const SHRINK_RUNS = 3_000;

/** A history that fails, made as small as it gets. */
export interface Failure {
  readonly seed: number;
  readonly message: string;
  readonly config: FuzzConfig;
  readonly steps: readonly Step[];
}

export class Campaign {
  readonly tally: Tally = emptyTally();
  readonly #contexts = new Map<number, { readonly config: FuzzConfig; readonly context: RecordingContext }>();

  constructor(private readonly compartment: TemplateCompartment) {}

  /** Runs the history that the seed stands for. */
  run(seed: number, shrinks = true): Failure | undefined {
    const random = new Random(seed);
    const { config, context } = this.#configuration(random.int(CONFIGS));
    const steps = randomSteps(random);
    this.tally.histories++;
    const message = tryHistory(config, context, steps, this.tally);
    if (message === undefined) return undefined;
    return shrinks ? this.#shrink({ seed, message, config, steps }) : { seed, message, config, steps };
  }

  #configuration(number: number): { readonly config: FuzzConfig; readonly context: RecordingContext } {
    const held = this.#contexts.get(number);
    if (held !== undefined) return held;
    const config = randomConfig(new Random(number * 7919 + 1));
    const made = { config, context: recordingContext(this.compartment, renderConfigOf(config)) };
    this.#contexts.set(number, made);
    return made;
  }

  /** Takes out steps and components, in halves and then one by one, as long as anything is left to fail. */
  #shrink(failure: Failure): Failure {
    let best = failure;
    let runs = 0;
    const attempt = (config: FuzzConfig, steps: readonly Step[]): boolean => {
      if (++runs > SHRINK_RUNS || config.components.length === 0) return false;
      const context = recordingContext(this.compartment, renderConfigOf(config));
      const message = tryHistory(config, context, steps, emptyTally());
      if (message !== undefined) best = { ...best, message, config, steps };
      return message !== undefined;
    };
    for (let before = 0; before !== sizeOf(best);) {
      before = sizeOf(best);
      removeParts(
        () => best.steps,
        (steps) => attempt(best.config, steps),
      );
      removeParts(
        () => best.config.components,
        (components) => attempt({ ...best.config, components }, best.steps),
      );
      if (best.config.limit !== undefined) attempt({ ...best.config, limit: undefined }, best.steps);
      best.steps.forEach((_, at) =>
        simpler(best.steps[at]).some((step) => attempt(best.config, best.steps.with(at, step))),
      );
    }
    return best;
  }
}

function tryHistory(
  config: FuzzConfig,
  context: RecordingContext,
  steps: readonly Step[],
  tally: Tally,
): string | undefined {
  try {
    new History(config, context, tally).run(steps);
    return undefined;
  } catch (error) {
    if (error instanceof Difference) return error.message;
    throw error;
  }
}

function sizeOf({ config, steps }: Failure): number {
  return config.components.length + JSON.stringify(steps).length;
}

/** Tries the list without each stretch of it, long ones first; `get` gives what is left so far. */
function removeParts<T>(get: () => readonly T[], attempt: (rest: readonly T[]) => boolean): void {
  for (let length = get().length >> 1; length >= 1; length >>= 1) {
    for (let at = get().length - length; at >= 0; at -= length) attempt(get().toSpliced(at, length));
  }
}

/** Variants of a step with less in it. */
function simpler(step: Step | undefined): Step[] {
  if (step === undefined) return [];
  if (step.do === 'review') {
    return [
      { ...step, ledger: [] },
      ...step.changes.map((_, at) => ({ ...step, changes: step.changes.toSpliced(at, 1) })),
    ].filter((candidate) => JSON.stringify(candidate) !== JSON.stringify(step));
  }
  if (!('put' in step) || step.put.spec === undefined) return [];
  const { spec, place } = step.put;
  const bare = (['mark', 'rank', 'ref', 'host'] as const).filter((field) => spec[field] !== undefined);
  const without = bare.map((field) => ({ ...spec, [field]: undefined }));
  const plainer = [
    ...without,
    ...(spec.tags.length > 0 ? [{ ...spec, tags: [] }] : []),
    ...(spec.port === 0 ? [] : [{ ...spec, port: 0 }]),
  ];
  return plainer.map((smaller) => ({
    ...step,
    put: { place, spec: JSON.parse(JSON.stringify(smaller)) as typeof spec },
  }));
}
