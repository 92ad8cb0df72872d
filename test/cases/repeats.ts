/** An expansion larger than this is a mistake in the case, not a test. */
const MAX_COPIES = 100_000;

/** Replaces each list element `@repeat: {count, of}` by that many copies of the list `of`, `{i}` counted from 0. */
export function expandRepeats(value: unknown): unknown {
  if (Array.isArray(value)) return value.flatMap((entry: unknown) => copiesOf(entry) ?? [expandRepeats(entry)]);
  if (typeof value !== 'object' || value === null) return value;
  return Object.fromEntries(Object.entries(value).map(([key, entry]) => [key, expandRepeats(entry)]));
}

function copiesOf(entry: unknown): readonly unknown[] | undefined {
  const repeat = repeatOf(entry);
  if (repeat === undefined) return undefined;
  // Inner repeats first: their {i} is their own.
  const inner = expandRepeats(repeat.of);
  const copies = Array.from({ length: repeat.count }, (_, index) => numbered(inner, String(index)));
  return copies.flat();
}

function repeatOf(entry: unknown): { readonly count: number; readonly of: readonly unknown[] } | undefined {
  if (typeof entry !== 'object' || entry === null || !Object.hasOwn(entry, '@repeat')) return undefined;
  const { count, of, ...unknown } = (entry as { '@repeat': Record<string, unknown> })['@repeat'];
  const sound = Number.isInteger(count) && Number(count) >= 0 && Number(count) <= MAX_COPIES && Array.isArray(of);
  if (!sound || Object.keys(unknown).length > 0 || Object.keys(entry).length > 1) {
    throw new Error('@repeat takes exactly {count, of: [...]}, alone in its list element');
  }
  return { count: Number(count), of: of as readonly unknown[] };
}

function numbered(value: unknown, index: string): unknown {
  if (typeof value === 'string') return value.replaceAll('{i}', index);
  if (Array.isArray(value)) return value.map((entry: unknown) => numbered(entry, index));
  if (typeof value !== 'object' || value === null) return value;
  return Object.fromEntries(
    Object.entries(value).map(([key, entry]) => [key.replaceAll('{i}', index), numbered(entry, index)]),
  );
}
