import { IngestError, refuseDeepNesting } from '../store/canonical.js';

/** The parts of an AdmissionReview v1 that we read; everything else is ignored (protocol line P9). */
export interface AdmissionRequest {
  readonly apiVersion: string;
  readonly uid: string;
  readonly group: string;
  readonly version: string;
  readonly kind: string;
  readonly resource: string;
  readonly subResource: string;
  readonly namespace: string;
  readonly name: string;
  readonly operation: string;
  readonly dryRun: boolean;
  readonly object: Readonly<Record<string, unknown>> | undefined;
  readonly oldObject: Readonly<Record<string, unknown>> | undefined;
}

export type DecodedReview =
  | { readonly kind: 'request'; readonly request: AdmissionRequest }
  /** Answered with an AdmissionReview when there is a uid, else with HTTP 400. */
  | { readonly kind: 'malformed'; readonly uid: string; readonly apiVersion: string; readonly message: string };

const API_VERSION = 'admission.k8s.io/v1';

/** Takes a request body apart. Never throws: whatever is posted has a defined answer. */
export function decodeReview(body: string): DecodedReview {
  try {
    refuseDeepNesting(body);
    return decodeDocument(JSON.parse(body) as unknown);
  } catch (error) {
    const uid = uidOfUnfit(body);
    if (error instanceof IngestError)
      return malformed(uid, API_VERSION, `the body ${error.message}, so it can't be judged; flatten the object`);
    return malformed(uid, API_VERSION, 'the body is not JSON; an AdmissionReview of admission.k8s.io/v1 is expected');
  }
}

/** A body that must not be parsed whole is parsed without its depths; of one that is no JSON the beginning may show a uid. */
function uidOfUnfit(body: string): string {
  try {
    return textOf(recordOf(recordOf(JSON.parse(shallowText(body)))?.['request']), 'uid');
  } catch {
    return uidByEye(body);
  }
}

/** Levels down to the fields of the request. */
const UID_LEVEL = 2;

function shallowText(text: string): string {
  let kept = '';
  let from = 0;
  let depth = 0;
  let inString = false;
  for (let at = 0; at < text.length; at++) {
    const character = text[at];
    if (inString) {
      if (character === '\\') at++;
      else if (character === '"') inString = false;
    } else if (character === '"') inString = true;
    else if (character === '{' || character === '[') {
      if (depth++ === UID_LEVEL) kept += `${text.slice(from, at)}null`;
    } else if ((character === '}' || character === ']') && --depth === UID_LEVEL) from = at + 1;
  }
  return kept + text.slice(from);
}

function uidByEye(body: string): string {
  return /"uid"\s*:\s*"([\w.:-]{1,128})"/.exec(body.slice(0, 8192))?.[1] ?? '';
}

function malformed(uid: string, apiVersion: string, message: string): DecodedReview {
  return { kind: 'malformed', uid, apiVersion, message };
}

function decodeDocument(document: unknown): DecodedReview {
  const review = recordOf(document);
  const request = recordOf(review?.['request']);
  const uid = textOf(request, 'uid');
  if (review === undefined || review['kind'] !== 'AdmissionReview') {
    return malformed(uid, API_VERSION, 'the body is no AdmissionReview; kind has to be AdmissionReview');
  }
  if (review['apiVersion'] !== API_VERSION) {
    const sent = textOf(review, 'apiVersion')
      .slice(0, 80)
      .replace(/[^\w./-]/g, '?');
    return malformed(
      uid,
      API_VERSION,
      `the AdmissionReview version "${sent}" is not supported; send ${API_VERSION}, the one in admissionReviewVersions`,
    );
  }
  if (request === undefined) return malformed('', API_VERSION, 'the AdmissionReview has no request');
  if (uid === '')
    return malformed('', API_VERSION, 'the AdmissionReview has no request.uid, which every answer has to repeat');
  return { kind: 'request', request: decodeRequest(request, uid) };
}

function decodeRequest(request: Readonly<Record<string, unknown>>, uid: string): AdmissionRequest {
  const kind = recordOf(request['kind']);
  return {
    apiVersion: API_VERSION,
    uid,
    group: textOf(kind, 'group'),
    version: textOf(kind, 'version'),
    kind: textOf(kind, 'kind'),
    resource: textOf(recordOf(request['resource']), 'resource'),
    subResource: textOf(request, 'subResource'),
    namespace: textOf(request, 'namespace'),
    name: textOf(request, 'name'),
    operation: textOf(request, 'operation'),
    dryRun: request['dryRun'] === true,
    object: recordOf(request['object']),
    oldObject: recordOf(request['oldObject']),
  };
}

/** Own properties only: a key from outside may be called `__proto__`. */
function recordOf(value: unknown): Readonly<Record<string, unknown>> | undefined {
  return typeof value === 'object' && value !== null && !Array.isArray(value)
    ? (value as Record<string, unknown>)
    : undefined;
}

function textOf(owner: Readonly<Record<string, unknown>> | undefined, key: string): string {
  const value = owner !== undefined && Object.hasOwn(owner, key) ? owner[key] : undefined;
  return typeof value === 'string' ? value : '';
}
