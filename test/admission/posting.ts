import { randomUUID } from 'node:crypto';

import { siteObject } from '../support/render-config.js';
import type { World } from '../support/runtime-world.js';

type Fields = Readonly<Record<string, unknown>>;

export interface Posted {
  readonly allowed: boolean;
  readonly code: number | undefined;
  readonly message: string;
  readonly warnings: readonly string[];
  readonly retryAfterSeconds: number | undefined;
  /** Of the review's log record. */
  readonly reason: string;
  readonly executed: number;
  readonly checkerRuns: number;
}

export interface Posting {
  readonly operation?: 'CREATE' | 'UPDATE' | 'DELETE';
  readonly metadata?: object;
  readonly dryRun?: boolean;
  readonly timeout?: string;
  readonly signal?: AbortSignal;
}

/** Posts a review of a Site to the admission of a world, without a server between. */
export async function post(world: World, name: string, spec: object, posting: Posting = {}): Promise<Posted> {
  const { operation = 'CREATE', metadata = {}, dryRun = false } = posting;
  const object = siteObject(name, spec, metadata);
  const request = {
    kind: { group: 'example.org', version: 'v1', kind: 'Site' },
    namespace: 'shop',
    name,
    operation,
    dryRun,
    object: operation === 'DELETE' ? null : object,
    oldObject: operation === 'CREATE' ? null : object,
  };
  return postRequest(world, request, posting);
}

export async function postRequest(world: World, request: Fields, posting: Posting = {}): Promise<Posted> {
  const uid = randomUUID();
  const review = { apiVersion: 'admission.k8s.io/v1', kind: 'AdmissionReview', request: { uid, ...request } };
  const { status, body } = await world.runtime.admission.handle({
    body: JSON.stringify(review),
    timeout: posting.timeout,
    receivedAt: performance.now(),
    signal: posting.signal ?? new AbortController().signal,
  });
  if (status !== 200) throw new Error(`HTTP ${status}: ${body}`);
  return read(world, uid, body);
}

function read(world: World, uid: string, body: string): Posted {
  const { response } = JSON.parse(body) as {
    response: {
      uid: string;
      allowed: boolean;
      warnings?: string[];
      status?: { code: number; message: string; details?: { retryAfterSeconds: number } };
    };
  };
  const record = world.records.find((one) => one.uid === uid);
  if (record === undefined || response.uid !== uid) throw new Error(`no record of ${uid}: ${body}`);
  const { allowed, status, warnings = [] } = response;
  return {
    allowed,
    code: status?.code,
    message: status?.message ?? '',
    warnings,
    retryAfterSeconds: status?.details?.retryAfterSeconds,
    reason: record.reason,
    executed: record.executed,
    checkerRuns: record.checkerRuns,
  };
}
