import type { SafeText } from './safe-text.js';

/** Reads and effects of the instance or output that runs at the moment, as the render layer provides them. */
export interface TemplateIo {
  list(alias: string): readonly unknown[];
  get(alias: string, prefix: readonly string[]): readonly unknown[];
  find(alias: string, namespace: string, name: string): unknown;
  publish(cell: string, key: string, value: unknown, rank: string | undefined): void;
  unique(cell: string, key: string, text: string): void;
  select(group: string, cell: string, key: string): unknown;
  selectValues(group: string, cell: string): readonly unknown[];
  count(group: string, cell: string): number;
  event(type: 'Normal' | 'Warning', reason: string, message: string): void;
  /** Mounts a group in an output: the text that stands for it until the output is put together. */
  mount(group: string): SafeText;
}

/** What changes from call to call. Everything in it is frozen or a plain string. */
export interface TemplateCall {
  readonly item?: unknown;
  readonly source?: string;
  readonly props?: unknown;
  readonly renderSubject?: unknown;
  readonly args?: unknown;
}

/** One piece of text that a traced run wrote, in order. */
export interface TracePiece {
  readonly template: string;
  readonly file: string;
  readonly line: number;
  readonly column: number;
  /** Source of the expression that wrote it; '' for the template's own text. */
  readonly code: string;
  readonly text: string;
}
