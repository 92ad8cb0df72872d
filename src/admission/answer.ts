import type { ReviewRecord } from './review-record.js';
import type { Judgement } from './decision.js';

/** `metav1.Status` reasons by code, as the API server writes them. */
const REASONS: Readonly<Record<number, string>> = {
  400: 'BadRequest',
  422: 'Invalid',
  503: 'ServiceUnavailable',
  504: 'Timeout',
};

/** The AdmissionReview that answers a review: uid, apiVersion and kind echoed on every path (protocol lines R1 to R7). */
export function answerReview(
  apiVersion: string,
  uid: string,
  judgement: Pick<Judgement, 'decision' | 'warnings'>,
): string {
  const { decision, warnings } = judgement;
  const response = {
    uid,
    allowed: decision.kind === 'allowed',
    ...(decision.kind === 'allowed' ? {} : { status: statusOf(decision) }),
    ...(warnings.length === 0 ? {} : { warnings }),
    auditAnnotations: { verdict: decision.reason },
  };
  return JSON.stringify({ apiVersion, kind: 'AdmissionReview', response });
}

function statusOf(decision: Exclude<Judgement['decision'], { kind: 'allowed' }>): object {
  const details = decision.kind === 'unjudged' ? { details: { retryAfterSeconds: decision.retryAfterSeconds } } : {};
  return {
    status: 'Failure',
    code: decision.code,
    reason: REASONS[decision.code] ?? 'Invalid',
    message: decision.message,
    ...details,
  };
}

export function recordOf(
  about: Pick<ReviewRecord, 'uid' | 'operation' | 'object' | 'dryRun' | 'totalMs'>,
  judgement: Judgement,
): ReviewRecord {
  const { decision, warnings, executed, checkerRuns, phasesMs } = judgement;
  return {
    ...about,
    verdict: decision.kind,
    code: decision.kind === 'allowed' ? 200 : decision.code,
    reason: decision.reason,
    message: decision.kind === 'allowed' ? '' : decision.message,
    warnings,
    executed,
    checkerRuns,
    phasesMs,
  };
}
