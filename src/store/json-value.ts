/** A value that takes more characters as JSON than it may. */
export class JsonTooLarge extends Error {
  override readonly name = 'JsonTooLarge';
  readonly code = 'JSON_TOO_LARGE';
}

/** Characters that a copy may still take; counted down while it is made, so that a value without end ends here. */
export interface JsonBudget {
  left: number;
}

/**
 * The value as `JSON.parse(JSON.stringify(value))` has it, keys sorted and deep-frozen, made in one pass: numbers that JSON
 * has no word for become null, functions and undefined are left out. `toJSON` is not called. Throws JsonTooLarge, and
 * TypeError for a bigint.
 */
export function jsonValue(value: unknown, budget: JsonBudget): unknown {
  switch (typeof value) {
    case 'string':
      take(budget, value.length + 2);
      return value;
    case 'number':
      take(budget, 8);
      return Number.isFinite(value) ? value + 0 : null;
    case 'boolean':
      take(budget, 5);
      return value;
    case 'bigint':
      throw new TypeError('a bigint has no form in JSON; write it as String(...)');
    case 'object':
      take(budget, 4);
      if (value === null) return null;
      return Array.isArray(value) ? jsonList(value, budget) : jsonObject(value as Record<string, unknown>, budget);
    default:
      return undefined;
  }
}

function jsonList(list: readonly unknown[], budget: JsonBudget): unknown {
  const copy: unknown[] = [];
  for (const entry of list) copy.push(jsonValue(entry, budget) ?? null);
  return Object.freeze(copy);
}

function jsonObject(value: Readonly<Record<string, unknown>>, budget: JsonBudget): unknown {
  const copy: Record<string, unknown> = {};
  for (const key of sortedKeys(value)) {
    const below = jsonValue(value[key], budget);
    if (below === undefined) continue;
    take(budget, key.length + 4);
    setOwn(copy, key, below);
  }
  return Object.freeze(copy);
}

function take(budget: JsonBudget, characters: number): void {
  budget.left -= characters;
  if (budget.left < 0) throw new JsonTooLarge('takes too many characters as JSON');
}

/** Most objects have their keys in order already: theirs or ours was made so. */
export function sortedKeys(value: object): string[] {
  const keys = Object.keys(value);
  for (let at = 1; at < keys.length; at++) if ((keys[at - 1] as string) > (keys[at] as string)) return keys.sort();
  return keys;
}

/** An assignment would call the setter of `__proto__`; a key from outside is data. */
export function setOwn(target: Record<string, unknown>, key: string, value: unknown): void {
  if (key !== '__proto__') target[key] = value;
  else Object.defineProperty(target, key, { value, enumerable: true, writable: true, configurable: true });
}
