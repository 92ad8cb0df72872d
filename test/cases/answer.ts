import type { HttpAnswer } from '../support/https-client.js';
import type { Runner, Verdict } from './case-schema.js';

/** One answer in the words of the case format, whichever runner it came through. */
export interface Answer {
  readonly through: Runner;
  /** 200 from the offline runner. */
  readonly http: number;
  /** Undefined when the answer has no verdict: another HTTP status, or a code that is neither 4xx nor 503 or 504. */
  readonly verdict: Verdict | undefined;
  readonly code: number | undefined;
  readonly uid: string | undefined;
  readonly message: string;
  readonly warnings: readonly string[];
  readonly retryAfterSeconds: number | undefined;
  /** Of this review, when the runner knows them. */
  readonly checkerRuns?: number;
  readonly executed?: number;
  readonly seconds: number;
  /** As it came, for leaks and for messages. */
  readonly text: string;
  /** What is wrong with the answer's form, whatever it says. */
  readonly faults: readonly string[];
}

type Fields = Readonly<Record<string, unknown>>;

/** Verdict of a deny by its code: 4xx means the change is bad, 503 and 504 not able to tell. */
export function verdictOf(allowed: unknown, code: number | undefined): Verdict | undefined {
  if (allowed === true) return 'allowed';
  if (allowed !== false || code === undefined) return undefined;
  if (code === 503 || code === 504) return 'unjudged';
  return code >= 400 && code < 500 ? 'denied' : undefined;
}

/** Reads an HTTPS answer; `sent` is what the request said, to be echoed. */
export function readHttpAnswer(answer: HttpAnswer, sent: SentReview): Answer {
  const document = answer.status === 200 ? parse(answer.bytes) : { value: {}, faults: [] };
  const body = fields(document.value);
  const response = fields(body['response']);
  const status = fields(response['status']);
  const code = numberOf(status['code']);
  const faults = answer.status === 200 ? [...document.faults, ...echoFaults(body, response, sent)] : [];
  return {
    through: 'https',
    http: answer.status,
    verdict: verdictOf(response['allowed'], code),
    code: response['allowed'] === true ? (code ?? 200) : code,
    uid: typeof response['uid'] === 'string' ? response['uid'] : undefined,
    message: stringOf(status['message']),
    warnings: stringsOf(response['warnings']),
    retryAfterSeconds: numberOf(fields(status['details'])['retryAfterSeconds']),
    seconds: answer.seconds,
    text: answer.text,
    faults,
  };
}

/** What was posted, as far as it can be read: undefined parts need not be echoed. */
export interface SentReview {
  readonly uid: string | undefined;
  readonly apiVersion: string | undefined;
}

/** Reads one entry of what `rendergate review --output json` prints. */
export function readOfflineAnswer(entry: unknown, seconds: number): Answer {
  const answer = fields(entry);
  const code = numberOf(answer['code']);
  const verdict = answer['verdict'] === 'allowed' ? 'allowed' : verdictOf(false, code);
  const faults = verdict === answer['verdict'] ? [] : [`verdict ${show(answer['verdict'])} does not fit code ${code}`];
  return {
    through: 'offline',
    http: 200,
    verdict,
    code,
    uid: undefined,
    message: stringOf(answer['message']),
    warnings: stringsOf(answer['warnings']),
    retryAfterSeconds: undefined,
    ...present('checkerRuns', answer['checkerRuns']),
    ...present('executed', answer['executed']),
    seconds,
    text: JSON.stringify(entry),
    faults,
  };
}

function present(name: string, value: unknown): Record<string, number> {
  return typeof value === 'number' ? { [name]: value } : {};
}

function parse(bytes: Buffer): { readonly value: unknown; readonly faults: readonly string[] } {
  try {
    return { value: JSON.parse(new TextDecoder('utf-8', { fatal: true }).decode(bytes)), faults: [] };
  } catch (error) {
    return { value: {}, faults: [`the answer is not JSON in valid UTF-8: ${String(error)}`] };
  }
}

function echoFaults(body: Fields, response: Fields, sent: SentReview): string[] {
  const wrong: string[] = [];
  if (body['kind'] !== 'AdmissionReview') wrong.push(`kind: expected AdmissionReview, got ${show(body['kind'])}`);
  // Another version than v1 may be answered in v1, with words that name it.
  if (sent.apiVersion === 'admission.k8s.io/v1' && body['apiVersion'] !== sent.apiVersion) {
    wrong.push(`apiVersion: expected ${sent.apiVersion}, got ${show(body['apiVersion'])}`);
  }
  if (sent.uid !== undefined && response['uid'] !== sent.uid) {
    wrong.push(`response.uid: expected ${sent.uid}, got ${show(response['uid'])}`);
  }
  if ('patch' in response || 'patchType' in response) wrong.push('response: carries a patch');
  return wrong;
}

export function fields(value: unknown): Fields {
  return typeof value === 'object' && value !== null && !Array.isArray(value) ? (value as Fields) : {};
}

function numberOf(value: unknown): number | undefined {
  return typeof value === 'number' ? value : undefined;
}

function stringOf(value: unknown): string {
  return typeof value === 'string' ? value : '';
}

function stringsOf(value: unknown): readonly string[] {
  return Array.isArray(value) ? value.map(String) : [];
}

/** A value for a message: JSON, cut where it gets long. */
export function show(value: unknown): string {
  const text = JSON.stringify(value) ?? 'undefined';
  return text.length > 400 ? `${text.slice(0, 400)}…` : text;
}
