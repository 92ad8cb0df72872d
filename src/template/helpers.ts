import { createHash } from 'node:crypto';
import { isIP } from 'node:net';
import { dump } from 'js-yaml';
import { shown, TemplateFault } from './faults.js';

/**
 * Pure helpers that every template sees. All are deterministic functions of their arguments and hold no state
 * (decision 0023, "approved pure helpers").
 */
export const HELPERS = {
  base64Decode: (text: string): string => Buffer.from(String(text), 'base64').toString('utf8'),
  base64Encode: (text: string): string => Buffer.from(String(text), 'utf8').toString('base64'),
  sha256: (text: string): string => createHash('sha256').update(String(text)).digest('hex'),
  toJson: (value: unknown): string => JSON.stringify(value) ?? 'null',
  toYaml: (value: unknown): string => dump(value, { sortKeys: true, lineWidth: -1, noRefs: true }),
  sortBy,
  unique: (values: readonly unknown[]): unknown[] => [...new Set(values)],
  isIp: (text: unknown): boolean => typeof text === 'string' && isIP(text) !== 0,
  isIpv6: (text: unknown): boolean => typeof text === 'string' && isIP(text) === 6,
  isCidr,
  identifier,
  pathKey,
  duration: (field: string, value: unknown): number =>
    quantity(field, value, DURATION_UNITS, 'a duration such as 90s or 750ms'),
  size: (field: string, value: unknown): number =>
    quantity(field, value, SIZE_UNITS, 'a number of bytes, with k, m or g behind it or without'),
  fail(field: string, reason: string): never {
    throw new TemplateFault(String(reason), String(field));
  },
} as const;

/** Stable, by code units, into a new array. */
function sortBy(values: readonly unknown[], keyOf: (value: unknown) => unknown = (value) => value): unknown[] {
  const keyed = values.map((value) => ({ value, key: keyOf(value) }));
  keyed.sort((a, b) => compare(a.key, b.key));
  return keyed.map((entry) => entry.value);
}

function compare(a: unknown, b: unknown): number {
  if (typeof a === 'number' && typeof b === 'number') return a - b;
  const left = String(a);
  const right = String(b);
  return left < right ? -1 : left > right ? 1 : 0;
}

function isCidr(text: unknown): boolean {
  if (typeof text !== 'string') return false;
  const [address = '', bits, ...rest] = text.split('/');
  const version = isIP(address);
  if (version === 0 || rest.length > 0) return false;
  return bits === undefined || (/^\d{1,3}$/.test(bits) && Number(bits) <= (version === 4 ? 32 : 128));
}

/**
 * `_` joins the parts; `__` and two digits stand for a byte, `__-` for an empty part; and no part holds `_` as it is: read
 * from the left, a name gives back its parts, so two lists never have one name.
 */
function identifier(...parts: readonly unknown[]): string {
  return parts.map((part) => identifierPart(String(part))).join('_');
}

function identifierPart(text: string): string {
  if (!text.isWellFormed()) throw new TemplateFault(`${shown(text)} holds half a surrogate pair`, undefined, text);
  return text === '' ? '__-' : text.replace(/[^A-Za-z0-9.-]/gu, escapeCharacter);
}

function escapeCharacter(character: string): string {
  return [...Buffer.from(character, 'utf8')].map((byte) => `__${byte.toString(16).padStart(2, '0')}`).join('');
}

/** A path as clients send it: what HTTP does not allow there is percent-encoded, what is encoded already stays. */
function pathKey(path: unknown): string {
  return String(path).replace(/[ "<>#?\\^`{|}]|[^\x00-\x7f]/gu, (found) => {
    if (!found.isWellFormed())
      throw new TemplateFault(`the path ${shown(String(path))} holds half a surrogate pair`, undefined, String(path));
    return encodeURIComponent(found);
  });
}

const DURATION_UNITS: Readonly<Record<string, number>> = {
  us: 0.001,
  ms: 1,
  s: 1000,
  m: 60_000,
  h: 3_600_000,
  d: 86_400_000,
};
const SIZE_UNITS: Readonly<Record<string, number>> = { '': 1, k: 1024, m: 1024 ** 2, g: 1024 ** 3 };

function quantity(field: string, value: unknown, units: Readonly<Record<string, number>>, expected: string): number {
  const text = String(value).trim();
  const [, digits, unit = ''] = /^(\d{1,15})([a-z]*)$/.exec(text.toLowerCase()) ?? [];
  const factor = Object.hasOwn(units, unit) ? units[unit] : undefined;
  if (digits === undefined || factor === undefined) throw new TemplateFault(`${shown(text)} is not ${expected}`, field);
  const amount = Math.round(Number(digits) * factor);
  if (!Number.isSafeInteger(amount)) throw new TemplateFault(`${shown(text)} is too large`, field);
  return amount;
}
