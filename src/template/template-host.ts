import type { Json, OutputKind, RenderConfig, TemplateSource } from '../config/render-config.js';
import { compileTemplate, type CompiledTemplate } from './compile-template.js';
import { ALLOWED_GLOBALS, type TemplateCompartment } from './compartment.js';
import { shown, TemplateFault } from './faults.js';
import { HELPERS } from './helpers.js';
import { formatWord, interpolate } from './interpolate.js';
import { checkRawLines } from './raw-lines.js';
import { safeText, textOf, type SafeText } from './safe-text.js';
import type { TemplateCall, TemplateIo, TracePiece } from './template-io.js';

type RenderFunction = (call: TemplateCall) => string;

/** Names that a template may use besides its call parameters. */
export const BOUND_NAMES: readonly string[] = [
  ...ALLOWED_GLOBALS.filter((name) => !['undefined', 'NaN', 'Infinity'].includes(name)),
  ...Object.keys(HELPERS),
  ...[
    'fmt',
    'rawLines',
    'text',
    'lines',
    'snippet',
    'extraContext',
    'resources',
    'shared',
    'event',
    'group',
    'values',
    'count',
  ],
];

/** Compiles every template of a configuration, or throws the first TemplateCompileError. Needs no compartment. */
export function compileAll(config: RenderConfig): ReadonlyMap<TemplateSource, CompiledTemplate> {
  return new Map(allTemplates(config).map((source) => [source, compileTemplate(source, BOUND_NAMES)]));
}

export function allTemplates(config: RenderConfig): readonly TemplateSource[] {
  return [
    ...config.snippets.map((snippet) => snippet.template),
    ...config.components.map((component) => component.template),
    ...config.outputs.flatMap((output) => (output.content.from === 'template' ? [output.content.template] : [])),
  ];
}

/**
 * All templates of one configuration, evaluated in one compartment. They reach the outside only through the TemplateIo
 * of the call that is running: when it returns, every accessor a template may have kept is dead.
 */
export class TemplateHost {
  readonly #compiled: ReadonlyMap<TemplateSource, CompiledTemplate>;
  readonly #loaded = new Map<TemplateSource, Map<string, RenderFunction>>();
  readonly #bound: Readonly<Record<string, unknown>>;
  readonly #snippets: ReadonlyMap<string, TemplateSource>;
  /** Set by rawLines(): what a tenant wrote as raw configuration is never checked together with others' changes. */
  rawLinesUsed = false;
  #io: TemplateIo | undefined;
  #call: TemplateCall = {};
  #written = 0;
  #trace: TracePiece[] | undefined;

  constructor(
    private readonly compartment: TemplateCompartment,
    config: RenderConfig,
    private readonly maxBytes: number,
  ) {
    this.#compiled = compileAll(config);
    this.#snippets = new Map(config.snippets.map((snippet) => [snippet.name, snippet.template]));
    this.#bound = { ...compartment.globals, ...withFrozenFunctions({ ...HELPERS, ...this.#accessors(config) }) };
  }

  /** Runs a template; throws TemplateFault, or whatever the template's own code throws. */
  run(template: TemplateSource, kind: OutputKind, call: TemplateCall, io: TemplateIo): string {
    // Set here and not only cleared at the end: a preempted run ends without its `finally`.
    this.#trace = undefined;
    return this.#invoke(template, kind, call, io);
  }

  /** Runs it again with each piece of text recorded: components are pure, so the text is the same (DESIGN 7). */
  trace(template: TemplateSource, kind: OutputKind, call: TemplateCall, io: TemplateIo): readonly TracePiece[] {
    const pieces: TracePiece[] = [];
    this.#trace = pieces;
    this.#invoke(template, kind, call, io);
    this.#trace = undefined;
    return pieces;
  }

  #invoke(template: TemplateSource, kind: OutputKind, call: TemplateCall, io: TemplateIo): string {
    this.#io = io;
    this.#call = call;
    this.#written = 0;
    try {
      const text = this.#load(template, kind)(call);
      if (text.length > this.maxBytes) this.#refuseSize();
      return text;
    } finally {
      this.#io = undefined;
    }
  }

  compiledOf(template: TemplateSource): CompiledTemplate | undefined {
    return this.#compiled.get(template);
  }

  #load(template: TemplateSource, kind: OutputKind): RenderFunction {
    const traced = this.#trace !== undefined;
    const variants = this.#loaded.get(template) ?? new Map<string, RenderFunction>();
    this.#loaded.set(template, variants);
    const variant = traced ? `${kind} traced` : kind;
    const held = variants.get(variant);
    if (held !== undefined) return held;
    const compiled = this.#compiled.get(template);
    if (compiled === undefined) throw new TemplateFault(`there is no template called ${template.name}`);
    const make = this.compartment.evaluate(traced ? compiled.tracedProgram : compiled.program) as (
      bound: object,
    ) => RenderFunction;
    const run = make(this.#bindingsFor(compiled, kind));
    variants.set(variant, run);
    return run;
  }

  #bindingsFor(compiled: CompiledTemplate, kind: OutputKind): object {
    const own = withFrozenFunctions({
      __w: (value: unknown, tag: number) => this.#counted(interpolate(value, kind, tag)),
      __s: (value: unknown, tag: number) => this.#counted(rawText(value, tag)),
      __t: (tag: number, text: string) => this.#traced(compiled, tag, text),
      text: (strings: readonly string[], ...values: readonly unknown[]) => safeText(taggedText(strings, values, kind)),
      snippet: (name: unknown, args: unknown) => this.#snippet(String(name), args, kind),
    });
    return Object.freeze({ ...this.#bound, ...own });
  }

  #counted(text: string): string {
    this.#written += text.length;
    if (this.#written > this.maxBytes) this.#refuseSize();
    return text;
  }

  #refuseSize(): never {
    throw new TemplateFault(`writes more than ${this.maxBytes} characters; the limit is render.maxInstanceBytes`);
  }

  #traced(compiled: CompiledTemplate, tag: number, text: string): string {
    const place = compiled.tags[tag];
    if (this.#trace === undefined || place === undefined) return text;
    const { name, file, firstLine } = compiled.source;
    this.#trace.push({
      template: name,
      file,
      line: place.line + firstLine - 1,
      column: place.column,
      code: place.code,
      text,
    });
    return text;
  }

  /** Sees what its caller sees, and `args`. It is traced as the one tag that calls it: its text may be written anywhere, or nowhere. */
  #snippet(name: string, args: unknown, kind: OutputKind): SafeText {
    const template = this.#snippets.get(name);
    if (template === undefined) throw new TemplateFault(`there is no snippet called ${shown(name)}`);
    const trace = this.#trace;
    this.#trace = undefined;
    try {
      return safeText(this.#load(template, kind)({ ...this.#call, args: args ?? {} }));
    } finally {
      this.#trace = trace;
    }
  }

  get #now(): TemplateIo {
    if (this.#io === undefined) throw new TemplateFault('an accessor was used after its instance had ended');
    return this.#io;
  }

  #accessors(config: RenderConfig): Record<string, unknown> {
    return {
      extraContext: deepFrozen(config.extraContext),
      fmt: (value: unknown) => safeText(formatWord(value)),
      lines: (texts: readonly unknown[]) => safeText(texts.map((text) => rawText(text)).join('\n')),
      rawLines: (field: unknown, value: unknown) => {
        this.rawLinesUsed = true;
        return rawLines(String(field), String(value));
      },
      resources: this.#resources(config),
      shared: this.#shared(),
      event: (type: unknown, reason: unknown, message: unknown) =>
        this.#now.event(type === 'Warning' ? 'Warning' : 'Normal', String(reason), String(message)),
      group: (name: unknown) => this.#now.mount(String(name)),
      values: (group: unknown, cell: unknown) => this.#now.selectValues(String(group), String(cell)),
      count: (group: unknown, cell: unknown) => this.#now.count(String(group), String(cell)),
    };
  }

  #resources(config: RenderConfig): object {
    const accessors = Object.create(null) as Record<string, object>;
    for (const { alias } of config.watchedResources) {
      accessors[alias] = withFrozenFunctions({
        list: () => this.#now.list(alias),
        get: (...prefix: readonly unknown[]) => this.#now.get(alias, prefix.map(String)),
        find: (namespace: unknown, name: unknown) => this.#now.find(alias, String(namespace ?? ''), String(name)),
      });
    }
    return Object.freeze(accessors);
  }

  #shared(): object {
    return withFrozenFunctions({
      publish: (cell: unknown, key: unknown, value: unknown, options?: { readonly rank?: unknown }) =>
        this.#now.publish(
          String(cell),
          String(key),
          value,
          options?.rank === undefined ? undefined : String(options.rank),
        ),
      unique: (cell: unknown, key: unknown, text: unknown) =>
        this.#now.unique(String(cell), String(key), rawText(text)),
      select: (group: unknown, cell: unknown, key: unknown) =>
        this.#now.select(String(group), String(cell), String(key)),
      selectValues: (group: unknown, cell: unknown) => this.#now.selectValues(String(group), String(cell)),
      count: (group: unknown, cell: unknown) => this.#now.count(String(group), String(cell)),
    });
  }
}

/** Else a template could keep state between calls as properties of what it calls, or of a helper's `prototype`. */
function withFrozenFunctions<T extends object>(owner: T): T {
  for (const value of Object.values(owner) as unknown[]) {
    if (typeof value === 'function') Object.freeze(Object.freeze(value).prototype);
  }
  return Object.freeze(owner);
}

function rawText(value: unknown, tag?: number): string {
  const text = textOf(value);
  if (text !== undefined) return text;
  const what = typeof value === 'string' ? `the plain text ${shown(value)}` : value === null ? 'null' : typeof value;
  throw new TemplateFault(
    `<%~ %> takes text of a template (group, snippet, text\`...\`, fmt), not ${what}; use <%= %>`,
    undefined,
    undefined,
    tag,
  );
}

/** A template's own strings stand as they are; SafeText too; everything else is interpolated safely. */
function taggedText(strings: readonly string[], values: readonly unknown[], kind: OutputKind): string {
  return strings
    .map((text, at) => (at === 0 ? text : `${textOf(values[at - 1]) ?? interpolate(values[at - 1], kind)}${text}`))
    .join('');
}

function rawLines(field: string, value: string): SafeText {
  const checked = checkRawLines(value);
  if (!checked.ok) throw new TemplateFault(checked.reason, field);
  return safeText(checked.lines.join('\n'));
}

function deepFrozen(value: Json): Json {
  if (typeof value === 'object' && value !== null) Object.values(value).forEach(deepFrozen);
  return Object.freeze(value);
}
