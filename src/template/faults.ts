/** Where in a template something stands. Lines and columns count from 1. */
export interface TemplatePlace {
  readonly template: string;
  readonly file: string;
  readonly line: number;
  readonly column: number;
}

/**
 * A fault of the data or the template that ends one instance. `field` is the path in the source object when it is
 * known. The message says what is wrong and never carries more of a value than its author wrote there.
 */
export class TemplateFault extends Error {
  override readonly name = 'TemplateFault';
  readonly code = 'INSTANCE_FAULT';

  constructor(
    readonly reason: string,
    readonly field?: string,
    /** The interpolated value at fault, to find its field in the source object. */
    readonly value?: string,
    /** Number of the tag in its template. */
    readonly tag?: number,
  ) {
    super(field === undefined ? reason : `${field}: ${reason}`);
  }
}

// A template can catch one: what hangs on the class would outlive the call.
Object.freeze(TemplateFault);
Object.freeze(TemplateFault.prototype);

/** A template that can't be compiled. */
export class TemplateCompileError extends Error {
  override readonly name = 'TemplateCompileError';
  readonly code = 'TEMPLATE_INVALID';

  constructor(
    readonly place: TemplatePlace,
    readonly reason: string,
    readonly excerpt: string,
  ) {
    super(`${place.file}:${place.line}:${place.column}: template ${place.template}: ${reason}\n${excerpt}`);
  }
}

/** The line and its neighbours, the line itself marked. */
export function excerptOf(text: string, line: number, firstLine = 1): string {
  const lines = text.split('\n');
  const from = Math.max(0, line - 2);
  return lines
    .slice(from, line + 1)
    .map((content, at) => {
      const number = from + at + 1;
      return `${number === line ? '>' : ' '} ${String(number + firstLine - 1).padStart(4)} | ${content.slice(0, 140)}`;
    })
    .join('\n');
}

/** A value as it may be shown in a message: on one line, printable, at most 60 characters. */
export function shown(value: string): string {
  const printable = value.replace(/[^\x20-\x7e\u00a0-\u2027\u202a-\ud7ff\ue000-\ufffd]/g, (found) =>
    found === '\n'
      ? '\\n'
      : found === '\t'
        ? '\\t'
        : found === '\r'
          ? '\\r'
          : `\\u{${(found.codePointAt(0) ?? 0).toString(16)}}`,
  );
  return printable.length > 60 ? `"${printable.slice(0, 57)}..."` : `"${printable}"`;
}
