import { type Document, isMap, isScalar, isSeq, type LineCounter, type Node, type Scalar } from 'yaml';
import type { ConfigDiagnostic } from './render-config.js';

/** Names of the fields that lead to a place of the document, as zod gives them. */
export type FieldPath = readonly PropertyKey[];

export interface Place {
  readonly line: number;
  readonly column: number;
}

/** More than anybody reads; a generated document that is wrong all over has to end somewhere. */
export const MAX_MISTAKES = 200;

/** Collects mistakes of one document, each with the place of the field in it. */
export class Diagnostics {
  readonly list: ConfigDiagnostic[] = [];
  #told: FieldPath[] = [];
  #settled: readonly FieldPath[] = [];

  constructor(
    private readonly file: string,
    private readonly document: Document,
    private readonly lines: LineCounter,
  ) {}

  /** From now on, what may only follow from a mistake that is told already is left out. */
  settle(): void {
    this.#settled = [...this.#settled, ...this.#told];
    this.#told = [];
  }

  /** A mistake in the value of a field, or where the field should be when it is missing. */
  add(path: FieldPath, message: string): void {
    this.#push(path, message, 'value');
  }

  /** A mistake in the name of a field. */
  addToName(path: FieldPath, message: string): void {
    this.#push(path, message, 'key');
  }

  /** A mistake whose place is known better than its path tells. Where the value is not `lost`, nothing follows from it. */
  addAt(offset: number, path: FieldPath, message: string, lost: boolean): void {
    if (this.isFull) return;
    if (lost) this.#told.push(path);
    this.#list(offset, path, message);
  }

  get isFull(): boolean {
    return this.list.length >= MAX_MISTAKES;
  }

  /** The scalar at a path, for the place of a template in the file. */
  scalarAt(path: FieldPath): Scalar | undefined {
    const { node, depth } = this.#nearest(path);
    return depth === path.length && isScalar(node) ? node : undefined;
  }

  lineOf(node: Node): number {
    return this.placeAt(node.range?.[0] ?? 0).line;
  }

  #push(path: FieldPath, message: string, end: 'key' | 'value'): void {
    if (this.isFull || this.#settled.some((told) => isRelated(told, path))) return;
    this.#told.push(path);
    this.#list(this.#nearest(path)[end], path, message);
  }

  #list(offset: number, path: FieldPath, message: string): void {
    this.list.push({ file: this.file, ...this.placeAt(offset), field: fieldName(path), message });
  }

  placeAt(offset: number): Place {
    const { line, col } = this.lines.linePos(offset);
    return { line: Math.max(1, line), column: Math.max(1, col) };
  }

  /** As far as the path leads: offsets of the last name and of its value. */
  #nearest(path: FieldPath): { key: number; value: number; node: unknown; depth: number } {
    let node: unknown = this.document.contents;
    let key = startOf(node);
    let depth = 0;
    for (const step of path) {
      const next = stepInto(node, step);
      if (next === undefined) return { key, value: key, node, depth };
      key = next.key;
      node = next.node;
      depth++;
    }
    return { key, value: startOf(node) || key, node, depth };
  }
}

/** Whether one of the two leads to the other. */
function isRelated(left: FieldPath, right: FieldPath): boolean {
  const length = Math.min(left.length, right.length);
  return left.slice(0, length).every((step, at) => step === right[at]);
}

function stepInto(node: unknown, step: PropertyKey): { key: number; node: unknown } | undefined {
  if (isSeq(node)) {
    const item = typeof step === 'number' ? node.items[step] : undefined;
    return item === undefined ? undefined : { key: startOf(item), node: item };
  }
  if (!isMap(node)) return undefined;
  const pair = node.items.find(({ key }) => String(isScalar(key) ? key.value : key) === String(step));
  return pair === undefined ? undefined : { key: startOf(pair.key), node: pair.value };
}

function startOf(node: unknown): number {
  return (node as Node | null | undefined)?.range?.[0] ?? 0;
}

const PLAIN_NAME = /^[A-Za-z_][A-Za-z0-9_-]*$/;

/** `spec.components.backends.sources[0]`; a name with dots or blanks stands in brackets. */
export function fieldName(path: FieldPath): string {
  return path
    .map((step, at) => {
      if (typeof step === 'number') return `[${step}]`;
      const name = String(step);
      return PLAIN_NAME.test(name) ? `${at === 0 ? '' : '.'}${name}` : `[${JSON.stringify(name)}]`;
    })
    .join('');
}

/** `; did you mean "x"?`, or the choices when they are few; '' when nothing helps. */
export function hintFor(wrong: string, choices: Iterable<string>): string {
  // What a terminal would act on is no help.
  const names = [...choices].filter((name) => /^[\x20-\x7e]+$/.test(name));
  const near = nearest(wrong, names);
  if (near !== undefined) return `; did you mean "${near}"?`;
  return names.length > 0 && names.length <= 12 ? `; expected one of ${names.join(', ')}` : '';
}

/** Longer than any valid name; the edit distance costs the product of both lengths. */
const LONGEST_NAME = 100;

/** The name that was probably meant; undefined when none is near. */
export function nearest(wrong: string, names: readonly string[]): string | undefined {
  if (wrong.length > LONGEST_NAME) return undefined;
  const [best] = names
    .map((name) => ({ name, steps: distance(wrong.toLowerCase(), name.toLowerCase()) }))
    .sort((a, b) => a.steps - b.steps);
  return best !== undefined && best.steps <= Math.max(2, wrong.length / 3) ? best.name : undefined;
}

/** Edit distance (Levenshtein): insertions, removals and replacements of single characters. */
function distance(left: string, right: string): number {
  let row = Array.from({ length: right.length + 1 }, (_, at) => at);
  for (let i = 1; i <= left.length; i++) {
    const next = [i];
    for (let j = 1; j <= right.length; j++) {
      const replaced = (row[j - 1] ?? 0) + (left[i - 1] === right[j - 1] ? 0 : 1);
      next.push(Math.min(replaced, (row[j] ?? 0) + 1, (next[j - 1] ?? 0) + 1));
    }
    row = next;
  }
  return row[right.length] ?? 0;
}
