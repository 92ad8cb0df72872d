import type { Logger } from 'pino';

/**
 * Compares the checker's version with that of the HAProxy that serves (DESIGN 9): with another release branch (`2.6`,
 * `2.8`) a verdict may not hold. Each running version that differs is told once.
 */
export class VersionWatch {
  readonly #told = new Set<string>();

  constructor(
    /** First line of the checker's `-v`; undefined when it does not say. */
    private readonly probe: () => Promise<string | undefined>,
    private readonly log: Pick<Logger, 'warn'>,
  ) {}

  /** `running` is `2.6.12-1+deb12u4`. Never rejects. */
  async compare(running: string): Promise<void> {
    const checker = branchOf((await this.probe().catch(() => undefined)) ?? '');
    const served = branchOf(running);
    if (checker === undefined || served === undefined || checker === served || this.#told.has(served)) return;
    this.#told.add(served);
    this.log.warn(
      {
        checker,
        running: served,
        effect: 'what the checker lets through may not be what this HAProxy takes, and the other way round',
        fix: 'let both be of one release: set check.command to the program that HAProxy runs, or update either',
      },
      'the checker is another release than the running HAProxy',
    );
  }
}

/** `HAProxy version 2.6.12-1+deb12u4 2026/10/17` and `2.6.12` -> `2.6`. */
function branchOf(version: string): string | undefined {
  return /\d+\.\d+/.exec(version)?.[0];
}
