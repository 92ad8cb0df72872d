import type { HealthCheck, HealthResult } from './contract.js';

export interface HealthReport {
  readonly status: 200 | 500;
  /** Plain text, as the kube-apiserver's /livez and /readyz print it. */
  readonly text: string;
}

export interface HealthQuery {
  readonly verbose: boolean;
  /** Names of checks that shall not count. */
  readonly exclude: readonly string[];
}

/** A check that does not answer within this has failed, milliseconds. The default timeout of a kubelet probe is 1 s. */
const CHECK_TIMEOUT_MS = 900;

/**
 * All checks of one endpoint (`livez` or `readyz`): the lines of kube-apiserver's healthz.go, except that reasons are
 * printed, since ours hold nothing secret. Never rejects: a check that throws or hangs has failed.
 */
export async function rootReport(
  endpoint: string,
  checks: readonly HealthCheck[],
  query: HealthQuery,
  timeoutMs = CHECK_TIMEOUT_MS,
): Promise<HealthReport> {
  const excluded = new Set(query.exclude);
  const entries = await Promise.all(checks.map((check) => entry(check, excluded, timeoutMs)));
  const unknown = query.exclude.filter((name) => !checks.some((check) => check.name === name));
  const lines = [...entries.map(({ line }) => line), ...exclusionWarning(unknown)].join('');
  if (entries.some(({ ok }) => !ok)) return { status: 500, text: `${lines}${endpoint} check failed\n` };
  return { status: 200, text: query.verbose ? `${lines}${endpoint} check passed\n` : 'ok' };
}

/**
 * One check alone, for `/readyz/<name>`: exactly `ok`, or `ok: <note>`. Siblings read a noted answer of `render-graph`,
 * and a failure, as "no graph" (decision 0029); they ask for `/readyz/render-graph?own`.
 */
export async function singleReport(check: HealthCheck, timeoutMs = CHECK_TIMEOUT_MS): Promise<HealthReport> {
  const result = await run(check, timeoutMs);
  if (result.ok) return { status: 200, text: `ok${noteOf(result)}` };
  return { status: 500, text: `internal server error: ${oneLine(result.reason)}\n` };
}

interface Entry {
  readonly ok: boolean;
  readonly line: string;
}

async function entry(check: HealthCheck, excluded: ReadonlySet<string>, timeoutMs: number): Promise<Entry> {
  if (excluded.has(check.name)) return { ok: true, line: `[+]${check.name} excluded: ok\n` };
  const result = await run(check, timeoutMs);
  if (result.ok) return { ok: true, line: `[+]${check.name} ok${noteOf(result)}\n` };
  return { ok: false, line: `[-]${check.name} failed: ${oneLine(result.reason)}\n` };
}

async function run(check: HealthCheck, timeoutMs: number): Promise<HealthResult> {
  let timer: NodeJS.Timeout | undefined;
  const late = new Promise<HealthResult>((resolve) => {
    timer = setTimeout(() => resolve({ ok: false, reason: `the check did not answer in ${timeoutMs} ms` }), timeoutMs);
  });
  try {
    return await Promise.race([Promise.resolve(check.check()), late]);
  } catch (error) {
    return { ok: false, reason: `the check itself failed: ${error instanceof Error ? error.message : String(error)}` };
  } finally {
    clearTimeout(timer);
  }
}

function noteOf(result: { readonly note?: string }): string {
  return result.note === undefined ? '' : `: ${oneLine(result.note)}`;
}

function exclusionWarning(unknown: readonly string[]): readonly string[] {
  if (unknown.length === 0) return [];
  const names = unknown.map((name) => JSON.stringify(name)).join(', ');
  return [`warn: some health checks cannot be excluded: no matches for ${names}\n`];
}

/** An entry is one line, whatever its text holds. */
function oneLine(text: string): string {
  return text.replace(/[\p{Cc}\u2028\u2029]+/gu, ' ').trim();
}
