import { z } from 'zod';

import { expandRepeats } from './repeats.js';

/** The format of a case file (data/README.md). Every object is strict: a field that nobody knows fails the case. */

const VERDICTS = ['allowed', 'denied', 'unjudged'] as const;

/** `x` and `[x, y]` alike, as a list. */
function oneOrMore<T extends z.ZodType>(entry: T) {
  return z.union([entry.transform((value) => [value]), z.array(entry).min(1)]);
}

const words = oneOrMore(z.string());
const count = z.number().int().nonnegative();

/** Kept by reference: keys such as `__proto__` are data here, and copying would lose them. */
const kubernetesObject = z.custom<KubernetesObject>(
  (value) => typeof value === 'object' && value !== null && !Array.isArray(value),
  'expected a Kubernetes object',
);

export type KubernetesObject = Readonly<Record<string, unknown>>;

const route = z.strictObject({ host: z.string(), path: z.string(), to: oneOrMore(z.string()) });

const plainExpectation = {
  verdict: oneOrMore(z.enum(VERDICTS)).optional(),
  code: oneOrMore(z.number().int()).optional(),
  http: oneOrMore(z.number().int()).optional(),
  uid: z.string().optional(),
  messageContains: words.optional(),
  messageLacks: words.optional(),
  warningsContain: words.optional(),
  warningsLack: words.optional(),
  saysContain: words.optional(),
  checkerRuns: oneOrMore(count).optional(),
  executedAtMost: count.optional(),
  retryAfter: z.boolean().optional(),
  answeredWithinSeconds: z.number().positive().optional(),
  processesLeft: count.optional(),
  canaryRan: z.boolean().optional(),
  messageAtMostCharacters: count.optional(),
  anyWarningContains: words.optional(),
  checkerRunsTotalAtMost: count.optional(),
  outputContains: words.optional(),
  outputLacks: words.optional(),
  outputLacksPattern: words.optional(),
  routes: z.array(route).min(1).optional(),
};

const expectation = z.strictObject({
  ...plainExpectation,
  ifAllowed: z.strictObject(plainExpectation).optional(),
  ifDenied: z.strictObject(plainExpectation).optional(),
});

const checkerStandIn = z.strictObject({
  exitCode: z.number().int().min(0).max(255).optional(),
  stderrBase64: z.base64().optional(),
  signal: z
    .string()
    .regex(/^SIG[A-Z0-9]+$/)
    .optional(),
  sleepSeconds: z.number().positive().optional(),
  spawnsChild: z.boolean().optional(),
  missing: z.boolean().optional(),
});

const rawRequest = z
  .strictObject({
    contentType: z.string().optional(),
    body: z.string().optional(),
    sizeBytes: count.optional(),
    chunked: z.boolean().optional(),
  })
  .refine((raw) => (raw.body === undefined) !== (raw.sizeBytes === undefined), 'expected either body or sizeBytes');

const runner = z.enum(['https', 'offline']);

/** `networking.k8s.io/v1 Ingress`, `v1 pods`. */
const groupVersionWord = z.string().regex(/^\S+ \S+$/, 'expected "<apiVersion> <kind or resource>"');

/** `@stored`, null, or the object. */
const objectOrStored = z.union([z.null(), z.literal('@stored'), kubernetesObject]);

const review = z.strictObject({
  operation: z.string().optional(),
  object: objectOrStored.optional(),
  oldObject: objectOrStored.optional(),
  dryRun: z.boolean().optional(),
  subResource: z.string().optional(),
  query: z.strictObject({ timeout: z.string().optional() }).optional(),
  objectKind: groupVersionWord.optional(),
  resource: groupVersionWord.optional(),
  namespace: z.string().optional(),
  name: z.string().optional(),
  stored: z.boolean().optional(),
  runners: z.array(runner).min(1).optional(),
  raw: rawRequest.optional(),
  checker: checkerStandIn.optional(),
  meanwhile: z.array(z.strictObject({ store: kubernetesObject })).optional(),
  expect: expectation.optional(),
});

const caseFile = z
  .strictObject({
    title: z.string(),
    kind: z.string(),
    source: z.array(z.string()),
    note: z.string().optional(),
    features: z.array(z.string()).default([]),
    runners: z.array(runner).min(1).default(['https', 'offline']),
    during: z.enum(['first-render']).optional(),
    parallel: z.boolean().default(false),
    given: z.array(kubernetesObject).default([]),
    review: review.optional(),
    reviews: z.array(review).min(1).optional(),
    expect: expectation.optional(),
  })
  .refine((file) => (file.review === undefined) !== (file.reviews === undefined), 'expected either review or reviews');

export type Runner = z.infer<typeof runner>;
export type Verdict = (typeof VERDICTS)[number];
export type Expectation = z.infer<typeof expectation>;
export type PlainExpectation = Omit<Expectation, 'ifAllowed' | 'ifDenied'>;
export type Route = z.infer<typeof route>;
export type CheckerStandIn = z.infer<typeof checkerStandIn>;
export type RawRequest = z.infer<typeof rawRequest>;
export type CaseReview = z.infer<typeof review>;

/** One case with its reviews as a list; a single `review` shares its expectation with the end of the case. */
export interface Case {
  readonly title: string;
  readonly kind: string;
  readonly features: readonly string[];
  readonly runners: readonly Runner[];
  readonly duringFirstRender: boolean;
  readonly parallel: boolean;
  readonly given: readonly KubernetesObject[];
  readonly reviews: readonly CaseReview[];
  /** For the end of the case; with a single `review` the fields that speak of the whole case alone. */
  readonly expect: Expectation;
}

export type CaseOutcome =
  { readonly ok: true; readonly case: Case } | { readonly ok: false; readonly problems: readonly string[] };

/** Checks a parsed case document; every mistake is named with its place in the document. */
export function readCase(document: unknown): CaseOutcome {
  const result = caseFile.safeParse(expandRepeats(document));
  if (!result.success) return { ok: false, problems: result.error.issues.flatMap(describeIssue) };
  const { title, kind, features, runners, during, parallel, given } = result.data;
  const duringFirstRender = during === 'first-render';
  const rest = { title, kind, features, runners, duringFirstRender, parallel, given };
  return { ok: true, case: { ...rest, ...reviewsOf(result.data) } };
}

function reviewsOf({
  review: single,
  reviews,
  expect = {},
}: z.infer<typeof caseFile>): Pick<Case, 'reviews' | 'expect'> {
  if (reviews !== undefined) return { reviews, expect };
  const { anyWarningContains, checkerRunsTotalAtMost, ...shared } = expect;
  return {
    reviews: [{ ...single, expect: { ...shared, ...single?.expect } }],
    expect: { anyWarningContains, checkerRunsTotalAtMost },
  };
}

function describeIssue(issue: z.core.$ZodIssue): string[] {
  const place = issue.path.length === 0 ? 'the case' : issue.path.join('.');
  return [`${place}: ${issue.message}`];
}
