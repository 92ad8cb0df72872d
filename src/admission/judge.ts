import type { AdmissionSettings } from '../config/render-config.js';
import type { CheckOutcome } from '../check/checker.js';
import type { QuarantineEntry, ReviewRender, ReviewReply, TracedFault } from '../render/protocol.js';
import type { RenderHost } from '../render/render-host.js';
import { ThreadLost } from '../render/render-thread.js';
import { objectLabel } from '../render/keys.js';
import type { BadObjects } from './bad-objects.js';
import type { CheckDesk, CheckedJob } from './check-desk.js';
import { type Decision, denied, type Judgement, unjudged, withoutWork } from './decision.js';
import type { Ledger } from './ledger.js';
import {
  coldMessage,
  denyMessage,
  standingWarning,
  stillNotServed,
  unjudgedMessage,
  warningLines,
} from './messages.js';
import type { ReviewedChange } from './reviewed-change.js';

export interface JudgeOptions {
  readonly host: RenderHost;
  readonly desk: CheckDesk;
  readonly ledger: Ledger;
  readonly bad: BadObjects;
  readonly settings: AdmissionSettings;
}

export interface JudgeCall {
  readonly reviewed: ReviewedChange;
  /** `performance.now()` of the request's headers, and of the end of its budget. */
  readonly receivedAt: number;
  readonly deadline: number;
  readonly signal: AbortSignal;
}

/** A render that is stopped at the deadline still has to say so. */
const SETTLE_MS = 50;
const LATE: ReviewReply = { render: { kind: 'late' }, standing: [], own: undefined };

type Rendered = ReviewRender & { readonly kind: 'rendered' };

/**
 * Judges one change: cold gate, overlay render on the accepted root, check, verdict on the change (DESIGN 8). Never rejects
 * for anything a caller can cause.
 */
export class Judge {
  constructor(private readonly options: JudgeOptions) {}

  async judge(call: JudgeCall): Promise<Judgement> {
    return spareDying(call.reviewed, await this.#judge(call));
  }

  async #judge(call: JudgeCall): Promise<Judgement> {
    const { host, bad } = this.options;
    const { reviewed } = call;
    const remembered = bad.reasonFor(reviewed.change);
    if (remembered !== undefined) return withoutWork(denied('remembered', `${reviewed.label}: ${remembered}`));
    if (!(await host.waitForRoot(call.deadline - performance.now(), call.signal))) return this.#cold(call);
    const sentAt = performance.now();
    try {
      const reply = await this.#render(call, this.options.ledger.own(reviewed));
      return await this.#decide(call, reply, performance.now() - sentAt);
    } catch (error) {
      if (error instanceof ThreadLost) return this.#threadLost(call);
      throw error;
    }
  }

  /** The thread may be busy with another render: a review whose time is up meanwhile is answered all the same. */
  async #render(call: JudgeCall, without: readonly number[] | 'all'): Promise<ReviewReply> {
    const { host, settings } = this.options;
    const leftMs = Math.max(0, call.deadline - performance.now());
    const body = {
      without,
      change: call.reviewed.change,
      timeoutMs: settings.renderTimeoutMs,
      expiresAt: Date.now() + leftMs,
    };
    const asked = host.request('review', body);
    const limit = limitOf(call.signal, leftMs + SETTLE_MS);
    const late = new Promise<ReviewReply>((resolve) => limit.signal.addEventListener('abort', () => resolve(LATE)));
    try {
      const first = await Promise.race([asked, late]);
      if (first === LATE) void asked.then((reply) => this.#release(reply.render)).catch(() => undefined);
      return first;
    } finally {
      limit.lift();
    }
  }

  #release(render: ReviewRender): void {
    if (render.kind === 'rendered') this.options.host.tell('release', { render: render.render });
  }

  #cold(call: JudgeCall): Judgement {
    const { host } = this.options;
    const decision = unjudged('cold', coldMessage(host.progress, host.coldForMs));
    return withoutWork(decision, performance.now() - call.receivedAt);
  }

  /** Whose instance was running tells whether this review killed the thread: then it is not tried again. */
  #threadLost(call: JudgeCall): Judgement {
    const { bad, host } = this.options;
    const { reviewed } = call;
    const own = host.lastLost?.endsWith(` of ${reviewed.label}`) === true;
    if (!own)
      return withoutWork(
        unjudged('thread-lost', unjudgedMessage('the render thread ended and is being replaced', 'retry')),
      );
    const reason = `rendering it ended the render thread (out of memory or stack): the object asks for too much\n${BOUND_FIX}`;
    bad.remember(reviewed.change, reason);
    return withoutWork(denied('too-much', `${reviewed.label}: ${reason}`));
  }

  async #decide(call: JudgeCall, reply: ReviewReply, threadMs: number): Promise<Judgement> {
    const { render } = reply;
    if (render.kind === 'cold') return this.#cold(call);
    if (render.kind === 'late') {
      const fix = 'retry; give rendergate more CPU if it persists';
      return withoutWork(
        unjudged('late', unjudgedMessage('its time was up while it waited for the render thread', fix), 504),
        performance.now() - call.receivedAt,
      );
    }
    if (render.kind === 'refused')
      return withoutWork(
        denied('object', `${call.reviewed.label}: the object ${render.reason}\nfix:    correct it and apply it again`),
      );
    const work = worked(call, render, threadMs);
    switch (render.kind) {
      case 'fault':
        return this.#blameLedger(call, { ...work, ...this.#onFaults(call.reviewed, reply, render.faults) });
      case 'timeout':
        return { ...work, ...this.#onTimeout(call, reply, render) };
      case 'heap':
        return { ...work, warnings: [], decision: onHeap(call.reviewed, render) };
      case 'rendered':
        return this.#onRendered(call, reply, render, work);
    }
  }

  /** A render that hit the full time limit of its own is the object's fault; one cut short by its caller's deadline is nobody's. */
  #onTimeout(
    call: JudgeCall,
    reply: ReviewReply,
    render: ReviewRender & { kind: 'timeout' },
  ): Pick<Judgement, 'decision' | 'warnings'> {
    const { settings, bad } = this.options;
    const { reviewed } = call;
    const hadFullTime = render.renderMs >= settings.renderTimeoutMs * 0.9;
    if (!render.own || !hadFullTime) {
      const fix =
        'retry; if it persists, raise admission.renderTimeout and CPU, or look at the template of that instance';
      const message = unjudgedMessage(`the render did not end in time (at ${render.instance})`, fix);
      return { decision: unjudged('render-timeout', message, 504), warnings: [] };
    }
    const [component = ''] = render.instance.split(' of ');
    if (reply.own?.faults.includes(`timeout ${component}`) === true) return sameFault(reviewed, reply.own.reason);
    const reason = `rendering it takes longer than ${settings.renderTimeoutMs} ms (at ${render.instance})\n${BOUND_FIX}`;
    bad.remember(reviewed.change, reason);
    return { decision: denied('too-slow', `${reviewed.label}: ${reason}`), warnings: [] };
  }

  async #onRendered(call: JudgeCall, reply: ReviewReply, render: Rendered, work: Work): Promise<Judgement> {
    const warnings = warningLines([...render.warnings, ...reply.standing.map(standingWarning)]);
    const base = { ...work, warnings, render: render.render };
    if (render.unchanged) return this.#withoutLedgerToo(call, render, allowed(base, 'unchanged'));
    const started = performance.now();
    const { outcome, runs } = await this.#check(call, render);
    const phasesMs = { ...work.phasesMs, check: performance.now() - started };
    const checked = { ...base, checkerRuns: runs, phasesMs };
    if (outcome.kind === 'passed')
      return this.#withoutLedgerToo(call, render, allowed(checked, runs === 0 ? 'known' : 'passed'));
    if (outcome.kind === 'unavailable') return { ...checked, decision: onUnavailable(outcome) };
    const faults = await this.options.host.request('trace', {
      render: render.render,
      findings: outcome.findings.filter((finding) => finding.severity === 'alert'),
    });
    const judged = this.#onFaults(call.reviewed, reply, faults);
    const all = warningLines([...judged.warnings, ...warnings]);
    return this.#blameLedger(call, { ...checked, decision: judged.decision, warnings: all });
  }

  /** The ledger only adds strictness: a review that passes without it is asked to come again, never denied (DESIGN 8). */
  async #blameLedger(call: JudgeCall, judgement: Judgement): Promise<Judgement> {
    if (judgement.decision.kind !== 'denied') return judgement;
    const started = performance.now();
    if (!(await this.#passesWithoutLedger(call))) return judgement;
    const check = judgement.phasesMs.check + performance.now() - started;
    return {
      ...judgement,
      decision: onLedger(call.reviewed, 'clashes with'),
      phasesMs: { ...judgement.phasesMs, check },
    };
  }

  /** What is in the ledger may never be stored, so a pass that leans on it has to hold without it too (DESIGN 8). */
  async #withoutLedgerToo(call: JudgeCall, render: Rendered, judgement: Judgement): Promise<Judgement> {
    const { operation, dying } = call.reviewed;
    if (!render.leansOnLedger || operation === 'DELETE' || dying) return judgement;
    const started = performance.now();
    if (await this.#passesWithoutLedger(call)) return judgement;
    const check = judgement.phasesMs.check + performance.now() - started;
    return {
      ...judgement,
      decision: onLedger(call.reviewed, 'passes only with'),
      phasesMs: { ...judgement.phasesMs, check },
    };
  }

  async #check(call: JudgeCall, render: Rendered): Promise<CheckedJob> {
    const limit = limitOf(call.signal, call.deadline - performance.now());
    const { reviewed } = call;
    try {
      return await this.options.desk.check({
        render: render.render,
        digest: render.digest,
        label: reviewed.label,
        shareable: render.shareable && !reviewed.dryRun,
        signal: limit.signal,
      });
    } finally {
      limit.lift();
    }
  }

  async #passesWithoutLedger(call: JudgeCall): Promise<boolean> {
    if (!this.options.ledger.hasOthers(call.reviewed)) return false;
    const { render } = await this.#render(call, 'all');
    if (render.kind !== 'rendered') return false;
    const passes = render.unchanged || (await this.#check(call, render)).outcome.kind === 'passed';
    this.#release(render);
    return passes;
  }

  /**
   * The verdict is on the change. A fault that stood before is not its doing; a dying object and a deletion are never held
   * up, what they break is quarantined (DESIGN 8).
   */
  #onFaults(
    reviewed: ReviewedChange,
    reply: ReviewReply,
    faults: readonly TracedFault[],
  ): Pick<Judgement, 'decision' | 'warnings'> {
    if (reviewed.operation === 'DELETE')
      return { decision: { kind: 'allowed', reason: 'deletion' }, warnings: warningLines(faults.map(breaksWarning)) };
    const reason = oneLine(faults[0]?.text ?? 'the checker refuses it');
    if (reviewed.dying) return allowedFaulty('dying', reviewed, reason);
    const fresh = faults.filter((fault) => !stoodBefore(fault, reply.own));
    if (faults.length > 0 && fresh.length === 0) return sameFault(reviewed, reason);
    const standing = warningLines(reply.standing.map(standingWarning));
    return { decision: denied('refused', denyMessage(reviewed, fresh)), warnings: standing };
  }
}

const BOUND_FIX =
  'effect: it could not be rendered with the rest, so it was not admitted\nfix:    make the object smaller, or look at the template that renders it';

/** Only finalizers keep a dying object: whatever is wrong with it, nothing may hold it up (DESIGN 8). */
function spareDying(reviewed: ReviewedChange, judgement: Judgement): Judgement {
  const { decision } = judgement;
  if (!reviewed.dying || decision.kind !== 'denied') return judgement;
  const reason = decision.message.split('\n')[0]?.replace(`${reviewed.label}: `, '') ?? '';
  return { ...judgement, ...allowedFaulty('dying', reviewed, reason) };
}

function sameFault(reviewed: ReviewedChange, reason: string): Pick<Judgement, 'decision' | 'warnings'> {
  return allowedFaulty('same-fault', reviewed, reason);
}

function allowedFaulty(
  why: 'dying' | 'same-fault',
  reviewed: ReviewedChange,
  reason: string,
): Pick<Judgement, 'decision' | 'warnings'> {
  return {
    decision: { kind: 'allowed', reason: why },
    warnings: warningLines([stillNotServed(reviewed, oneLine(reason))]),
  };
}

/**
 * Aborts when the caller goes or the time is up. Not AbortSignal.any over AbortSignal.timeout: nothing else holds on to
 * such a timer's signal, so on Node 20 the garbage collector takes it and the deadline never comes.
 */
function limitOf(caller: AbortSignal, ms: number): { readonly signal: AbortSignal; lift(): void } {
  const limit = new AbortController();
  const stop = (): void => limit.abort();
  const timer = setTimeout(stop, Math.max(0, ms));
  if (caller.aborted) stop();
  caller.addEventListener('abort', stop);
  return {
    signal: limit.signal,
    lift: () => {
      clearTimeout(timer);
      caller.removeEventListener('abort', stop);
    },
  };
}

function stoodBefore(fault: TracedFault, own: QuarantineEntry | undefined): boolean {
  return own?.faults.includes(fault.id) === true;
}

function breaksWarning(fault: TracedFault): string {
  const cause = oneLine(fault.text) || 'the checker refuses it';
  if (fault.object === undefined) return `the checker refuses the configuration after this deletion: ${cause}`;
  const { alias, namespace, name } = fault.object;
  return `${objectLabel(alias, namespace, name)} will not be served any more: ${cause}`;
}

function oneLine(text: string): string {
  return text.replace(/\s+/g, ' ').trim();
}

function onHeap(reviewed: ReviewedChange, render: ReviewRender & { kind: 'heap' }): Decision {
  if (render.own) return denied('too-much', `${reviewed.label}: ${render.message}\n${BOUND_FIX}`);
  return unjudged(
    'heap',
    unjudgedMessage(render.message, 'retry; raise render.heap and the memory of rendergate if it persists'),
  );
}

function onUnavailable(outcome: CheckOutcome & { kind: 'unavailable' }): Decision {
  const late = outcome.reason === 'timeout' || outcome.reason === 'aborted';
  const cause = late ? 'the checker did not end in time' : outcome.message;
  return unjudged(
    `checker-${outcome.reason}`,
    unjudgedMessage(cause, 'retry; if it persists, look at the log of rendergate'),
    late ? 504 : 503,
  );
}

function allowed(judged: Omit<Judgement, 'decision'>, reason: string): Judgement {
  return { ...judged, decision: { kind: 'allowed', reason } };
}

function onLedger(reviewed: ReviewedChange, how: 'clashes with' | 'passes only with'): Decision {
  const cause = `${reviewed.label} ${how} a change that was admitted a moment ago and may not be stored yet`;
  return unjudged('ledger', unjudgedMessage(cause, 'retry in a second, when it is known'));
}

type Work = Pick<Judgement, 'executed' | 'checkerRuns' | 'phasesMs' | 'render'>;

function worked(
  call: JudgeCall,
  render: { executed: number; overlayMs: number; renderMs: number },
  threadMs: number,
): Work {
  const waited = performance.now() - call.receivedAt - threadMs;
  const queue = Math.max(0, waited + threadMs - render.overlayMs - render.renderMs);
  return {
    executed: render.executed,
    checkerRuns: 0,
    phasesMs: { queue, overlay: render.overlayMs, render: render.renderMs, check: 0 },
    render: undefined,
  };
}
