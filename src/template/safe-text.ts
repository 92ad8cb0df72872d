/** What `<%~ %>` accepts: text that a template wrote, so every value in it has been through safe interpolation. */
export interface SafeText {
  /** For joining inside templates; the text itself. */
  toString(): string;
}

const texts = new WeakMap<object, string>();

/** Only code of ours can make one: the mark is membership in a WeakMap that no template reaches. */
export function safeText(text: string): SafeText {
  const made = Object.freeze(Object.assign(Object.create(null) as object, { toString: () => text }));
  texts.set(made, text);
  return made;
}

/** The text, or undefined for anything that is no SafeText. */
export function textOf(value: unknown): string | undefined {
  return typeof value === 'object' && value !== null ? texts.get(value) : undefined;
}
