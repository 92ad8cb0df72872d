import type { Checker, CheckFinding, CheckOutcome } from '../check/checker.js';
import type { VerdictCache } from '../check/verdict-cache.js';
import type { RenderHost } from '../render/render-host.js';

export interface CheckJob {
  readonly render: number;
  readonly digest: string;
  /** `ingresses shop/web` as the trace names it: who is blamed leaves a shared check first. */
  readonly label: string;
  readonly shareable: boolean;
  readonly signal: AbortSignal;
}

export interface CheckedJob {
  readonly outcome: CheckOutcome;
  /** Checker processes that this job waited for. */
  readonly runs: number;
}

interface Waiting extends CheckJob {
  runs: number;
  alone: boolean;
  finish(outcome: CheckOutcome): void;
}

/** A combined render only adds what was rendered already: far below one checker run. */
const COMBINE_TIMEOUT_MS = 2_000;
const ABORTED: CheckOutcome = {
  kind: 'unavailable',
  reason: 'aborted',
  message: 'the review ended before the checker did',
  durationMs: 0,
};

/**
 * Where rendered reviews wait for the checker. One run at a time; whatever waits when it is free and is independent shares
 * the next run (DESIGN 8, "Shared checks"): its pass is a pass of each. After a refusal those that the source map blames
 * are judged alone and the rest again together.
 */
export class CheckDesk {
  #waiting: Waiting[] = [];
  #running: Promise<void> | undefined;

  constructor(
    private readonly host: RenderHost,
    private readonly checker: Checker,
    private readonly verdicts: VerdictCache,
  ) {}

  get length(): number {
    return this.#waiting.length;
  }

  check(job: CheckJob): Promise<CheckedJob> {
    if (job.signal.aborted) return Promise.resolve({ outcome: ABORTED, runs: 0 });
    const known = this.verdicts.get(this.#key(job.digest));
    if (known !== undefined) return Promise.resolve({ outcome: known, runs: 0 });
    return new Promise((resolve) => {
      const waiting: Waiting = {
        ...job,
        runs: 0,
        alone: !job.shareable,
        finish: (outcome) => {
          job.signal.removeEventListener('abort', leave);
          this.#waiting = this.#waiting.filter((other) => other !== waiting);
          resolve({ outcome, runs: waiting.runs });
        },
      };
      const leave = (): void => waiting.finish(ABORTED);
      job.signal.addEventListener('abort', leave);
      this.#waiting.push(waiting);
      this.#running ??= this.#work();
    });
  }

  #key(digest: string): string {
    return `${this.checker.identity} ${digest}`;
  }

  async #work(): Promise<void> {
    // Reviews that arrive in the same turn of the event loop share their first run already.
    await new Promise((resolve) => setImmediate(resolve));
    while (this.#waiting.length > 0) await this.#round();
    this.#running = undefined;
  }

  async #round(): Promise<void> {
    const [first] = this.#waiting;
    if (first === undefined) return;
    try {
      const group = this.#waiting.filter((job) => !job.alone);
      if (first.alone || group.length < 2) await this.#single(first);
      else await this.#shared(group);
    } catch (error) {
      // The thread was lost, or a fault of ours: nobody gets a verdict from it.
      const message = error instanceof Error ? error.message : String(error);
      first.finish({ kind: 'unavailable', reason: 'failed', message, durationMs: 0 });
    }
  }

  async #single(job: Waiting): Promise<void> {
    const outcome = await this.#run(job.render, job.digest, [job]);
    job.finish(outcome);
    // A run that ended because this caller had gone says nothing to those who still wait for the same files.
    if (outcome.kind === 'unavailable' && outcome.reason === 'aborted') return;
    for (const twin of this.#waiting.filter((other) => other.digest === job.digest)) twin.finish(outcome);
  }

  async #shared(group: readonly Waiting[]): Promise<void> {
    const combined = await this.host.request('combine', {
      renders: group.map((job) => job.render),
      timeoutMs: COMBINE_TIMEOUT_MS,
    });
    if (combined.render === undefined) {
      const [first] = group;
      if (first !== undefined) first.alone = true;
      return;
    }
    const members = group.filter((job) => !combined.left.includes(job.render));
    const outcome = await this.#run(combined.render, combined.digest, members);
    if (outcome.kind === 'passed') for (const member of members) this.#passed(member, outcome);
    else if (outcome.kind === 'refused') await this.#separate(members, combined.render, outcome.findings);
    else for (const member of members) member.finish(outcome);
    this.host.tell('release', { render: combined.render });
  }

  #passed(member: Waiting, outcome: CheckOutcome): void {
    this.verdicts.put(this.#key(member.digest), outcome);
    member.finish(outcome);
  }

  /** Those blamed by line leave the shared run; with nobody blamed, half of them do. */
  async #separate(members: readonly Waiting[], render: number, findings: readonly CheckFinding[]): Promise<void> {
    const traced = await this.host.request('trace', { render, findings });
    const blamed = new Set(traced.flatMap(({ object }) => (object === undefined ? [] : [labelOf(object)])));
    const guilty = members.filter((member) => blamed.has(member.label));
    const leaving = guilty.length > 0 ? guilty : members.slice(0, Math.ceil(members.length / 2));
    for (const member of leaving) member.alone = true;
  }

  async #run(render: number, digest: string, members: readonly Waiting[]): Promise<CheckOutcome> {
    const known = this.verdicts.get(this.#key(digest));
    if (known !== undefined) return known;
    const files = () => this.host.request('files', { render });
    for (const member of members) member.runs++;
    const outcome = await this.checker.check({ files, lane: 'admission', signal: anyLeft(members) });
    this.verdicts.put(this.#key(digest), outcome);
    return outcome;
  }
}

/** A shared run goes on while one of its members still waits. */
function anyLeft(members: readonly CheckJob[]): AbortSignal {
  const controller = new AbortController();
  const stop = (): void => {
    if (members.every((member) => member.signal.aborted)) controller.abort();
  };
  for (const member of members) member.signal.addEventListener('abort', stop);
  stop();
  return controller.signal;
}

function labelOf(object: { readonly alias: string; readonly namespace: string; readonly name: string }): string {
  return `${object.alias} ${object.namespace === '' ? '' : `${object.namespace}/`}${object.name}`;
}
