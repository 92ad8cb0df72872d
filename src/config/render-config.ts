/**
 * The loaded RenderConfig: what the rest of the program sees after `load-config.ts` has read, checked and completed
 * the document. Everything is plain JSON, so that it travels to the render thread as text.
 */

/** JSON as it comes from outside. */
export type Json = null | boolean | number | string | readonly Json[] | { readonly [key: string]: Json };

/** How interpolated words are quoted, and what may not occur in them (DESIGN.md, 6). */
export type OutputKind = 'haproxy' | 'map' | 'crtList' | 'text';

export const OUTPUT_KINDS: readonly OutputKind[] = ['haproxy', 'map', 'crtList', 'text'];

/** Effects a component may declare. Only what is declared may be called. */
export type ComponentEffect = 'publishValue' | 'recordEvent';

export const COMPONENT_EFFECTS: readonly ComponentEffect[] = ['publishValue', 'recordEvent'];

export interface WatchedResource {
  /** Short name used in templates, logs and messages: `ingresses`. */
  readonly alias: string;
  /** `networking.k8s.io/v1`, or `v1` for the core group. */
  readonly apiVersion: string;
  readonly kind: string;
  /** Plural of the REST path: `ingresses`. */
  readonly resource: string;
  /** RFC 9535 paths (names and `[*]` only) whose values form the key vector of `get(...prefix)`. */
  readonly indexBy: readonly string[];
  /** Changes to this resource are judged by the webhook; others are let through. */
  readonly review: boolean;
  /** May be missing from the cluster; whatever `requires` it is stripped then. */
  readonly optional: boolean;
  /** Paths (names only) dropped when an object is taken in, besides managedFields and resourceVersion. */
  readonly ignoreFields: readonly string[];
}

/** A template's text and where it stands, for messages. */
export interface TemplateSource {
  /** Unique name shown in messages: the component's, output's or snippet's name. */
  readonly name: string;
  readonly text: string;
  /** File the text stands in (the RenderConfig itself for an inline template). */
  readonly file: string;
  /** Line of `file`, counted from 1, on which line 1 of the text stands. */
  readonly firstLine: number;
}

export interface SnippetSpec {
  readonly name: string;
  readonly template: TemplateSource;
  readonly requires: readonly string[];
}

export interface ComponentSpec {
  readonly name: string;
  /** Aliases of watched resources: one instance for each object of each of them. */
  readonly sources: readonly string[];
  readonly group: string;
  /** Kind of output that its text is written for. */
  readonly kind: OutputKind;
  readonly template: TemplateSource;
  readonly requires: readonly string[];
  readonly consumes: readonly string[];
  readonly optionalConsumes: readonly string[];
  readonly effects: readonly ComponentEffect[];
  /** Runs only for objects that have one of these paths; undefined: for all. */
  readonly whenAnyPathExists: readonly string[] | undefined;
}

export interface OutputSpec {
  /** File name relative to the output directory; ends with `/` when it is a directory of files. */
  readonly name: string;
  readonly kind: OutputKind;
  /** Carries Secret data: mode 0600, never in an excerpt, a diff or a page. */
  readonly sensitive: boolean;
  readonly content:
    | { readonly from: 'template'; readonly template: TemplateSource }
    /** One file for each winner of the cell: its key is the file name, its value (a string) the content. */
    | { readonly from: 'cell'; readonly group: string; readonly cell: string };
}

export interface CheckSettings {
  /**
   * Program and arguments; `{dir}` stands for the directory that holds the files to check.
   * Default: `haproxy -c -C {dir} -f haproxy.cfg`.
   */
  readonly command: readonly string[];
  /** Wall-clock limit of one run, milliseconds. */
  readonly timeoutMs: number;
  /** Memory limit of one run (`haproxy -m`), MiB. */
  readonly memoryMiB: number;
  /** Checkers at once over both lanes. */
  readonly concurrency: number;
}

export interface AdmissionSettings {
  /** `enforce`: denies deny. `warn`: would-be denies become warnings. */
  readonly mode: 'enforce' | 'warn';
  /** Longest time one review may take, milliseconds; the caller's `?timeout=` may shorten it. */
  readonly budgetMs: number;
  /** Kept back from the caller's deadline for the way home, milliseconds. */
  readonly marginMs: number;
  /** Longest time the render of one review may take, milliseconds. */
  readonly renderTimeoutMs: number;
  /** Reviews waiting or running at once; one more is turned away with 503. */
  readonly queueLength: number;
  /** Largest request body, bytes. */
  readonly maxBodyBytes: number;
}

export interface RenderSettings {
  /** Limit of a warm render; a cold one only logs a warning once it passes it (decision 0029). Milliseconds. */
  readonly timeoutMs: number;
  /** Heap of the render thread, MiB. */
  readonly heapMiB: number;
  /** Most text one instance may write, bytes. */
  readonly maxInstanceBytes: number;
  /** Quiet time after a change before the next reconcile render, milliseconds. */
  readonly debounceMs: number;
}

export interface RenderConfig {
  readonly name: string;
  /** Sorted by alias. */
  readonly watchedResources: readonly WatchedResource[];
  /** Sorted by name. */
  readonly snippets: readonly SnippetSpec[];
  /** Sorted by name. */
  readonly components: readonly ComponentSpec[];
  /** `haproxy.cfg` first, the rest in the order of the document. */
  readonly outputs: readonly OutputSpec[];
  readonly check: CheckSettings;
  readonly admission: AdmissionSettings;
  readonly render: RenderSettings;
  /** Free values of the operator; templates of outputs and components see them as `extraContext`. */
  readonly extraContext: { readonly [key: string]: Json };
}

/** One mistake of a RenderConfig, placed so that an editor can jump to it. */
export interface ConfigDiagnostic {
  readonly file: string;
  /** Counted from 1. */
  readonly line: number;
  readonly column: number;
  /** `spec.components.backends.group`; empty for a mistake of the whole document. */
  readonly field: string;
  /** What is wrong, what was expected, the nearest valid name where there is one. */
  readonly message: string;
}

/** Thrown with every mistake found, never only the first. */
export class ConfigError extends Error {
  override readonly name = 'ConfigError';
  readonly code = 'CONFIG_INVALID';

  constructor(readonly diagnostics: readonly ConfigDiagnostic[]) {
    super(diagnostics.map(formatDiagnostic).join('\n'));
  }
}

/** `file:line:column: field: message`. */
export function formatDiagnostic(diagnostic: ConfigDiagnostic): string {
  const field = diagnostic.field === '' ? '' : ` ${diagnostic.field}:`;
  return `${diagnostic.file}:${diagnostic.line}:${diagnostic.column}:${field} ${diagnostic.message}`;
}
