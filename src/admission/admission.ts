import type { Checker } from '../check/checker.js';
import type { VerdictCache } from '../check/verdict-cache.js';
import type { RenderConfig } from '../config/render-config.js';
import type { ObjectChange } from '../render/protocol.js';
import type { RenderHost } from '../render/render-host.js';
import { answerReview, recordOf } from './answer.js';
import { BadObjects } from './bad-objects.js';
import { CheckDesk } from './check-desk.js';
import { budgetOf } from './deadline.js';
import { type AdmissionRequest, decodeReview } from './decode-review.js';
import { ALLOWED_FAULTY, denied, type Judgement, unjudged, withoutWork } from './decision.js';
import { Judge } from './judge.js';
import { Ledger } from './ledger.js';
import { unjudgedMessage, warningLine } from './messages.js';
import type { ReviewRecord } from './review-record.js';
import { namespaceOf, printable, type ReviewedChange, scopeOf } from './reviewed-change.js';

export interface AdmissionOptions {
  readonly config: RenderConfig;
  readonly host: RenderHost;
  readonly checker: Checker;
  readonly verdicts: VerdictCache;
  /** Called once for each review, for the log and the metrics. */
  readonly onReview: (record: ReviewRecord) => void;
  /** A fault of ours; the text may name internals and belongs into the log only. */
  readonly onInternalError?: (text: string) => void;
}

/** One HTTP request for a review; the shape that the server hands over. */
export interface ReviewHttpCall {
  readonly body: string;
  readonly timeout: string | undefined;
  readonly receivedAt: number;
  readonly signal: AbortSignal;
}

/**
 * From the text of an AdmissionReview to the text of its answer (DESIGN 8): decode, scope, deadline, queue, judge. Never
 * rejects: a fault of our own is an unjudged review with the uid of its request.
 */
export class Admission {
  readonly ledger: Ledger;
  readonly #judge: Judge;
  readonly #bad = new BadObjects();
  #under = 0;

  constructor(private readonly options: AdmissionOptions) {
    const { host, checker, verdicts, config } = options;
    const desk = new CheckDesk(host, checker, verdicts);
    // A thread that is lost forgets what it was told, which is allowed: the ledger only ever adds strictness.
    this.ledger = new Ledger({
      remember: (body) => host.tell('remember', body),
      forget: (body) => host.tell('forget', body),
    });
    this.#judge = new Judge({ host, desk, ledger: this.ledger, bad: this.#bad, settings: config.admission });
  }

  /** Reviews waiting or being judged. */
  get queueLength(): number {
    return this.#under;
  }

  /** The watch has shown these changes; `revision` is the store's with them in. */
  shown(changes: readonly ObjectChange[], revision: number): void {
    this.ledger.shown(changes, revision);
  }

  async handle(call: ReviewHttpCall): Promise<{ readonly status: number; readonly body: string }> {
    const decoded = decodeReview(call.body);
    if (decoded.kind === 'malformed') {
      const { uid, apiVersion, message } = decoded;
      const judgement = this.#inMode(withoutWork(denied('malformed', message, 400)));
      this.#report({ uid, operation: '', label: '', dryRun: false }, call, judgement);
      return { status: uid === '' ? 400 : 200, body: answerReview(apiVersion, uid, judgement) };
    }
    const { request } = decoded;
    const { judgement, label } = await this.#guarded(request, call);
    const answered = this.#inMode(judgement);
    this.#report({ uid: request.uid, operation: request.operation, label, dryRun: request.dryRun }, call, answered);
    return { status: 200, body: answerReview(request.apiVersion, request.uid, answered) };
  }

  async #guarded(request: AdmissionRequest, call: ReviewHttpCall): Promise<{ judgement: Judgement; label: string }> {
    const scope = scopeOf(request, this.options.config);
    const label = scope.kind === 'change' ? scope.change.label : rawLabel(request);
    if (scope.kind === 'outside') return { label, judgement: withoutWork({ kind: 'allowed', reason: scope.reason }) };
    if (scope.kind === 'refused') return { label, judgement: withoutWork(denied('request', scope.message, 400)) };
    const { budgetMs, queueLength } = this.options.config.admission;
    if (this.#under >= queueLength) {
      const cause = `${this.#under} reviews are waiting already (admission.queueLength)`;
      return {
        label,
        judgement: withoutWork(
          unjudged('queue-full', unjudgedMessage(cause, 'retry; give rendergate more CPU if it persists')),
        ),
      };
    }
    const budget = budgetOf(call.timeout, this.options.config.admission);
    const judgement = await this.judge(scope.change, {
      ...call,
      deadline: call.receivedAt + Math.min(budget, budgetMs),
    });
    if (judgement.render !== undefined) this.options.host.tell('release', { render: judgement.render });
    return { label, judgement };
  }

  /** Judges a change and remembers it when it is admitted. The judgement's render is the caller's to release. */
  async judge(
    reviewed: ReviewedChange,
    call: { receivedAt: number; deadline: number; signal: AbortSignal },
  ): Promise<Judgement> {
    this.#under++;
    try {
      const judgement = await this.#judge.judge({ reviewed, ...call });
      const { decision } = judgement;
      if (decision.kind === 'allowed' && !ALLOWED_FAULTY.has(decision.reason))
        this.ledger.add(reviewed, judgement.render);
      return judgement;
    } catch (error) {
      const text = error instanceof Error ? (error.message.split('\n')[0] ?? '') : 'unknown';
      this.#internal(text);
      return withoutWork(
        unjudged('internal', unjudgedMessage('an error of rendergate itself', 'retry, and report what its log says')),
      );
    } finally {
      this.#under--;
    }
  }

  /** `warn`: everything is judged all the same, and would-be denies become warnings (for the first week). */
  #inMode(judgement: Judgement): Judgement {
    const { decision } = judgement;
    if (this.options.config.admission.mode === 'enforce' || decision.kind === 'allowed') return judgement;
    const warning = warningLine(`would be ${decision.kind === 'denied' ? 'denied' : 'unjudged'}: ${decision.message}`);
    return {
      ...judgement,
      decision: { kind: 'allowed', reason: `warn-${decision.reason}` },
      warnings: [warning, ...judgement.warnings],
    };
  }

  #internal(text: string): void {
    this.options.onInternalError?.(text);
  }

  #report(
    about: { uid: string; operation: string; label: string; dryRun: boolean },
    call: ReviewHttpCall,
    judgement: Judgement,
  ): void {
    const { uid, operation, label, dryRun } = about;
    const totalMs = performance.now() - call.receivedAt;
    this.options.onReview(recordOf({ uid, operation, object: label, dryRun, totalMs }, judgement));
  }
}

/** For what we do not watch: `pods shop/web`, without a slash where there is no namespace. */
function rawLabel(request: AdmissionRequest): string {
  const kind = printable(request.resource || request.kind).toLowerCase();
  const title = [namespaceOf(request), request.name]
    .filter((part) => part !== '')
    .map(printable)
    .join('/');
  return `${kind} ${title}`.trim();
}
