import type { OutputRun } from './render-state.js';

/** The runs of output templates that a session knows: its own, and those of its base that still hold. */
export class OutputRuns {
  readonly #own = new Map<string, OutputRun>();

  constructor(
    private readonly base: ReadonlyMap<string, OutputRun>,
    /** Inputs that have changed since the base; grows while the session goes on. */
    private readonly touched: ReadonlySet<string>,
  ) {}

  /** The base's run of an output's template, if it would write the same now. */
  held(output: string): OutputRun | undefined {
    const run = this.base.get(output);
    return run?.reads.some((key) => this.touched.has(key)) === false ? run : undefined;
  }

  keep(output: string, run: OutputRun): void {
    this.#own.set(output, run);
  }

  /** Those of this session, and of the base those that still hold where this session made none. */
  all(): ReadonlyMap<string, OutputRun> {
    const runs = new Map(this.#own);
    for (const output of this.base.keys()) {
      const held = runs.has(output) ? undefined : this.held(output);
      if (held !== undefined) runs.set(output, held);
    }
    return runs;
  }
}
