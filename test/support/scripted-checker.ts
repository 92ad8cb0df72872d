import type { Checker, CheckFinding, CheckOutcome, CheckRequest } from '../../src/check/checker.js';

type Verdict = (request: CheckRequest) => CheckOutcome | Promise<CheckOutcome>;

export const PASSED: CheckOutcome = { kind: 'passed', warnings: [], durationMs: 1 };

export function unavailable(reason: (CheckOutcome & { kind: 'unavailable' })['reason']): CheckOutcome {
  return { kind: 'unavailable', reason, message: `the checker is ${reason}`, durationMs: 1 };
}

/** Refuses every line with the word `refused` in it, and says which. */
export async function byLine(request: CheckRequest): Promise<CheckOutcome> {
  const files = await request.files();
  const findings = files.flatMap(({ name, text }) =>
    text.split('\n').flatMap((content, index): CheckFinding[] => {
      const finding = { file: name, line: index + 1, mentions: [], text: `unknown keyword '${content}'` };
      return content.includes('refused') ? [{ severity: 'alert', ...finding }] : [];
    }),
  );
  return findings.length === 0 ? PASSED : { kind: 'refused', findings, durationMs: 1 };
}

/** Refuses like `byLine`, but does not say what. */
export async function silently(request: CheckRequest): Promise<CheckOutcome> {
  const outcome = await byLine(request);
  if (outcome.kind !== 'refused') return outcome;
  return { ...outcome, findings: [{ severity: 'alert', mentions: [], text: 'some error' }] };
}

/** A checker in the test's own process: counts its runs, keeps what it saw, and answers as told. */
export class ScriptedChecker implements Checker {
  readonly identity = 'scripted';
  readonly seen: CheckRequest[] = [];
  /** The first file of each run. */
  readonly texts: string[] = [];

  constructor(public verdict: Verdict = byLine) {}

  async check(request: CheckRequest): Promise<CheckOutcome> {
    const files = await request.files();
    this.seen.push(request);
    this.texts.push(files[0]?.text ?? '');
    return this.verdict({ ...request, files: () => Promise.resolve(files) });
  }

  get runs(): number {
    return this.seen.length;
  }
}

/** Checker runs that end when told, or when their caller gives up; once told, later ones end at once. */
export class Held {
  #ended = false;
  #end: (() => void) | undefined;
  readonly started: Promise<void>;
  #begun: (() => void) | undefined;

  constructor(private readonly then: Verdict = byLine) {
    this.started = new Promise((resolve) => {
      this.#begun = resolve;
    });
  }

  readonly verdict = async (request: CheckRequest): Promise<CheckOutcome> => {
    this.#begun?.();
    if (this.#ended) return this.then(request);
    const aborted = await new Promise<boolean>((resolve) => {
      this.#end = () => resolve(false);
      request.signal.addEventListener('abort', () => resolve(true));
      if (request.signal.aborted) resolve(true);
    });
    return aborted ? unavailable('aborted') : this.then(request);
  };

  end(): void {
    this.#ended = true;
    this.#end?.();
  }
}
