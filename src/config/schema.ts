import { z } from 'zod';
import { JsonPathError, parsePath, ANY } from '../store/json-path.js';
import { containerMemory } from './container-memory.js';
import { COMPONENT_EFFECTS, type Json, OUTPUT_KINDS } from './render-config.js';

/**
 * Shape of a RenderConfig document, with every default. What concerns several fields at once is in `cross-checks.ts`.
 */
export const API_VERSION = 'rendergate.dev/v1alpha1';
export const KIND = 'RenderConfig';

const MIB = 1024 * 1024;
const UNITS: Readonly<Record<string, number>> = { ms: 1, s: 1_000, m: 60_000, h: 3_600_000 };

/** `250ms`, `8s`, `1m`; read as milliseconds. */
function duration(least: string, most: string) {
  return z.unknown().transform((value, context) => {
    const ms = milliseconds(value);
    if (ms !== undefined && ms >= (milliseconds(least) ?? 0) && ms <= (milliseconds(most) ?? 0)) return ms;
    context.addIssue(`${shown(value)} is no duration from ${least} to ${most}, such as 250ms, 8s or 1m`);
    return z.NEVER;
  });
}

function milliseconds(value: unknown): number | undefined {
  const match = typeof value === 'string' ? /^(\d{1,9})(ms|s|m|h)$/.exec(value) : null;
  return match === null ? undefined : Number(match[1]) * (UNITS[match[2] ?? ''] ?? Number.NaN);
}

function whole(least: number, most: number, unit: string) {
  const error = ({ input }: { input?: unknown }): string =>
    `${shown(input)} is no whole number from ${least} to ${most} (${unit})`;
  return z.int({ error }).min(least, { error }).max(most, { error });
}

/**
 * Half of the container's memory (DESIGN 12): the other half is for the main thread, buffers and checkers. At least 256 MiB,
 * below which a few hundred objects do not fit; at most 4 GiB, since a whole node is not ours to take, and a heap that
 * large is collected in pauses that reviews would notice: who needs more says so.
 */
function defaultHeapMiB(): number {
  return Math.min(4_096, Math.max(256, Math.floor(containerMemory() / 2 / MIB)));
}

function word(pattern: RegExp, what: string) {
  const error = ({ input }: { input?: unknown }): string => `${shown(input)} is no ${what}`;
  return z
    .string({ error })
    .regex(pattern, { error })
    .refine((name) => !(name in Object.prototype), { error: 'every object of JavaScript has that name; take another' });
}

/** A field that is there without a value counts as absent, as for the API server: what was in it is commented out. */
function orEmpty<T extends z.ZodType>(schema: T) {
  return z.preprocess((value) => (value === null ? undefined : value), schema);
}

const text = z.string({ error: ({ input }) => `${shown(input)} is no text; put it in quotes` });

function path(allowed: 'names' | 'names and [*]') {
  return text.superRefine((value, context) => {
    try {
      const steps = parsePath(value);
      if (allowed === 'names' && steps.includes(ANY)) context.addIssue('[*] is not possible here; use names');
    } catch (error) {
      if (!(error instanceof JsonPathError)) throw error;
      context.addIssue(error.message);
    }
  });
}

/** Used as `resources.<alias>` in templates. */
const ALIAS = /^[a-z][A-Za-z0-9]{0,62}$/;
const NAME = /^[a-z0-9]([a-z0-9.-]{0,61}[a-z0-9])?$/;
const NAME_HINT = 'name of small letters, digits, "-" and "." (at most 63)';
const group = word(NAME, NAME_HINT);
const names = orEmpty(z.array(group).default([]));

const template = { template: text.optional(), templateFile: text.optional() };

const watchedResource = z.strictObject({
  apiVersion: word(/^([a-z0-9.-]+\/)?v[a-z0-9]+$/, 'apiVersion such as networking.k8s.io/v1, or v1'),
  kind: word(/^[A-Z][A-Za-z0-9]{0,62}$/, 'kind such as Ingress'),
  resource: word(/^[a-z][a-z0-9]{0,62}$/, 'plural of a REST path such as ingresses'),
  indexBy: orEmpty(z.array(path('names and [*]')).max(8, 'has more than 8 paths').default([])),
  review: z.boolean().default(false),
  optional: z.boolean().default(false),
  ignoreFields: orEmpty(z.array(path('names')).default([])),
});

const snippet = z.strictObject({ ...template, requires: orEmpty(z.array(text).default([])) });

const component = z.strictObject({
  ...template,
  source: text.optional(),
  sources: z.array(text).min(1, 'is empty; name at least one alias of watchedResources').optional(),
  group,
  kind: z.enum(OUTPUT_KINDS).default('haproxy'),
  requires: orEmpty(z.array(text).default([])),
  consumes: names,
  optionalConsumes: names,
  effects: orEmpty(z.array(z.enum(COMPONENT_EFFECTS)).default([])),
  whenAnyPathExists: z
    .array(path('names and [*]'))
    .min(1, 'is empty, so the component would never run; name a path or leave the field out')
    .max(16, 'has more than 16 paths')
    .optional(),
});

const output = z.strictObject({
  ...template,
  kind: z.enum(OUTPUT_KINDS),
  sensitive: z.boolean().default(false),
  cell: z.strictObject({ group: text, name: text }).optional(),
});

const check = z.strictObject({
  command: z.array(text).min(1, 'is empty; it begins with the name of a program').optional(),
  timeout: duration('100ms', '60s').prefault('10s'),
  memory: whole(16, 65_536, 'MiB').default(1_024),
  concurrency: whole(1, 16, 'processes').default(2),
});

const admission = z.strictObject({
  mode: z.enum(['enforce', 'warn']).default('enforce'),
  // The API server waits for 30 s at most.
  budget: duration('100ms', '29s').prefault('8s'),
  margin: duration('0ms', '5s').prefault('300ms'),
  renderTimeout: duration('10ms', '29s').prefault('2s'),
  queueLength: whole(1, 10_000, 'reviews').default(256),
  maxBodyBytes: whole(1_024, 64 * MIB, 'bytes').default(7 * MIB),
});

const render = z.strictObject({
  timeout: duration('100ms', '1h').prefault('30s'),
  heap: whole(32, 1_048_576, 'MiB').default(defaultHeapMiB),
  maxInstanceBytes: whole(1_024, 256 * MIB, 'bytes').default(MIB),
  debounce: duration('0ms', '60s').prefault('50ms'),
});

const MAX_DEPTH = 64;

const extraContext = z.custom<{ readonly [key: string]: Json }>().superRefine((value: unknown, context) => {
  if (!isRecord(value)) return void context.addIssue(`${shown(value)} is no mapping of names to values`);
  const problem = notJson(value, 1);
  if (problem !== undefined) context.addIssue(problem);
});

const spec = z.strictObject({
  watchedResources: z.record(word(ALIAS, 'alias: small letter first, then letters and digits'), watchedResource),
  snippets: orEmpty(z.record(word(NAME, NAME_HINT), snippet).default({})),
  components: z.record(word(NAME, NAME_HINT), component),
  outputs: z.record(z.string(), output),
  check: orEmpty(check.prefault({})),
  admission: orEmpty(admission.prefault({})),
  render: orEmpty(render.prefault({})),
  extraContext: orEmpty(extraContext.default({})),
});

export const documentSchema = z.strictObject({
  apiVersion: z.literal(API_VERSION, { error: ({ input }) => `${shown(input)} is not ${API_VERSION}` }),
  kind: z.literal(KIND, { error: ({ input }) => `${shown(input)} is not ${KIND}` }),
  metadata: z.looseObject({ name: word(NAME, NAME_HINT) }),
  spec,
});

export type ConfigDocument = z.infer<typeof documentSchema>;
export type RawTemplate = { readonly template?: string | undefined; readonly templateFile?: string | undefined };

export function shown(value: unknown): string {
  if (value === undefined) return 'a missing value';
  const json = JSON.stringify(value) ?? typeof value;
  return json.length > 60 ? `${json.slice(0, 57)}...` : json;
}

function isRecord(value: unknown): value is Readonly<Record<string, unknown>> {
  return typeof value === 'object' && value !== null && !Array.isArray(value);
}

function notJson(value: unknown, depth: number): string | undefined {
  if (depth > MAX_DEPTH) return `is nested deeper than ${MAX_DEPTH} levels`;
  if (typeof value === 'number' && !Number.isFinite(value)) return `${String(value)} is no number of JSON`;
  if (typeof value !== 'object' || value === null) return undefined;
  for (const entry of Object.values(value)) {
    const problem = notJson(entry, depth + 1);
    if (problem !== undefined) return problem;
  }
  return undefined;
}
