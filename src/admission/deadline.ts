import type { AdmissionSettings } from '../config/render-config.js';

/** `1s` may leave nearly nothing of its second: half of it is what can be relied on. */
const SHORTEST_BUDGET_MS = 500;

/**
 * The time a review may take, milliseconds from its headers. `?timeout=` is the rest of the caller's deadline rounded UP to
 * a whole second, so up to one second less may be left (protocol line P11). Absent or unreadable: the configured budget.
 */
export function budgetOf(
  timeout: string | undefined,
  settings: Pick<AdmissionSettings, 'budgetMs' | 'marginMs'>,
): number {
  const seconds = secondsOf(timeout);
  if (seconds === undefined) return settings.budgetMs;
  const left = Math.max(SHORTEST_BUDGET_MS, (seconds - 1) * 1000 - settings.marginMs);
  return Math.min(left, settings.budgetMs);
}

/** Go's durations, as the API server prints them: `10s`, `1m30s`, `1.5s`, `500ms`. */
function secondsOf(text: string | undefined): number | undefined {
  if (text === undefined || !/^(\d+(\.\d+)?(h|ms|m|s))+$/.test(text)) return undefined;
  let seconds = 0;
  for (const [, amount, , unit] of text.matchAll(/(\d+(\.\d+)?)(h|ms|m|s)/g))
    seconds += Number(amount) * (UNITS[unit ?? 's'] ?? 1);
  return seconds > 0 ? seconds : undefined;
}

const UNITS: Readonly<Record<string, number>> = { h: 3600, m: 60, s: 1, ms: 0.001 };
