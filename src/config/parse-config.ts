import { basename, dirname, join } from 'node:path';
import type { LineCounter } from 'yaml';
import { crossCheck, MAIN_FILE, namesIn } from './cross-checks.js';
import { excerptOf } from '../template/faults.js';
import { Diagnostics, fieldName, type FieldPath, hintFor, type Place } from './diagnostics.js';
import { parseRepairing } from './parse-repairing.js';
import {
  type ConfigDiagnostic,
  ConfigError,
  type OutputSpec,
  type RenderConfig,
  type TemplateSource,
} from './render-config.js';
import { API_VERSION, type ConfigDocument, KIND, type RawTemplate, shown } from './schema.js';
import { offsetInFile } from './template-place.js';
import { parseYamlText, type SyntaxMistake } from './yaml-text.js';
import { readYamlValue } from './yaml-value.js';

/** Text of a template file beside the document, or why it can't be used and which files there are. */
export type ReadTemplate = (
  name: string,
) => { readonly text: string } | { readonly problem: string; readonly files?: readonly string[] };

/** A mistake in a template, at a line and column (from 1) of its own text. */
export interface TemplateMistake {
  readonly line: number;
  readonly column: number;
  readonly message: string;
}

/** What is wrong with a template itself. */
export type CheckTemplate = (source: TemplateSource) => readonly TemplateMistake[];

/** `haproxy -m` has no effect with `-c`; the checker sets the memory limit itself. */
const USUAL_COMMAND = ['haproxy', '-c', '-C', '{dir}', '-f', 'haproxy.cfg'];

/**
 * Checks a RenderConfig document and completes it with defaults. `file` is its path, for messages. Throws ConfigError with
 * every mistake, sorted by place: of the document's shape, of names and combinations, and of templates.
 */
export function parseConfig(
  text: string,
  file: string,
  readTemplate: ReadTemplate,
  checkTemplate: CheckTemplate = () => [],
): RenderConfig {
  const yaml = parseYamlText(text);
  if (yaml.kind === 'broken') throw brokenFile(file, yaml.mistakes, yaml.lines);
  const diagnostics = new Diagnostics(file, yaml.document, yaml.lines);
  const { value: root, mistakes } = readYamlValue(yaml.document);
  for (const { offset, path, message, lost } of mistakes) diagnostics.addAt(offset, path, message, lost);
  diagnostics.settle();
  if (isOtherKind(root)) throw otherKind(root, diagnostics);
  refuseProto(root, diagnostics);
  const config = parseRepairing(root, diagnostics);
  if (config === undefined) throw sortedError(diagnostics.list);
  diagnostics.settle();
  crossCheck(config, namesIn(root), diagnostics);
  const templates = new Templates(file, text, readTemplate, checkTemplate, diagnostics);
  const loaded = complete(config, templates);
  throwAny([...diagnostics.list, ...templates.faults]);
  return loaded;
}

function brokenFile(file: string, mistakes: readonly SyntaxMistake[], lines: LineCounter): ConfigError {
  return sortedError(
    mistakes.map(({ offset, message }) => {
      const { line, col } = lines.linePos(offset);
      return { file, line: Math.max(1, line), column: Math.max(1, col), field: '', message };
    }),
  );
}

function throwAny(list: readonly ConfigDiagnostic[]): void {
  if (list.length > 0) throw sortedError(list);
}

function sortedError(list: readonly ConfigDiagnostic[]): ConfigError {
  const byPlace = (a: ConfigDiagnostic, b: ConfigDiagnostic): number => a.line - b.line || a.column - b.column;
  const files = [...new Set(list.map(({ file }) => file))];
  return new ConfigError(files.flatMap((file) => list.filter((entry) => entry.file === file).sort(byPlace)));
}

/** zod passes over this name, and a resource or component that is not seen must not be lost silently. */
function refuseProto(root: unknown, diagnostics: Diagnostics, path: FieldPath = [], depth = 0): void {
  if (typeof root !== 'object' || root === null || depth > 8 || path[1] === 'extraContext') return;
  for (const [key, value] of Object.entries(root)) {
    const at = [...path, Array.isArray(root) ? Number(key) : key];
    if (key === '__proto__') diagnostics.addToName(at, 'can be no name');
    else refuseProto(value, diagnostics, at, depth + 1);
  }
}

interface Kind {
  readonly apiVersion: string;
  readonly kind: string;
}

/** Somebody else's manifest: all else that could be said of it would hide this one mistake. */
function isOtherKind(root: unknown): root is Kind {
  const { apiVersion, kind } = (root ?? {}) as Partial<Record<keyof Kind, unknown>>;
  return typeof apiVersion === 'string' && typeof kind === 'string' && kind !== KIND && !isOurs(apiVersion);
}

function isOurs(apiVersion: string): boolean {
  return apiVersion.split('/')[0] === API_VERSION.split('/')[0];
}

function otherKind({ apiVersion, kind }: Kind, diagnostics: Diagnostics): ConfigError {
  const message = `${shown(kind)} of ${apiVersion} is not ${KIND} of ${API_VERSION}; is this the file you meant?`;
  diagnostics.add(['kind'], message);
  return sortedError(diagnostics.list);
}

/** Finds the text of each template and the line of a file on which it begins. */
class Templates {
  readonly faults: ConfigDiagnostic[] = [];

  constructor(
    private readonly file: string,
    private readonly document: string,
    private readonly read: ReadTemplate,
    private readonly check: CheckTemplate,
    private readonly diagnostics: Diagnostics,
  ) {}

  of(name: string, { template, templateFile }: RawTemplate, path: FieldPath): TemplateSource {
    if ((template === undefined) === (templateFile === undefined)) {
      this.diagnostics.add(path, 'needs either template (the text) or templateFile (a file beside this one)');
    }
    return templateFile === undefined
      ? this.#inline(name, template ?? '', [...path, 'template'])
      : this.#fromFile(name, templateFile, [...path, 'templateFile']);
  }

  #inline(name: string, text: string, path: FieldPath): TemplateSource {
    const scalar = this.diagnostics.scalarAt(path);
    const isBlock = scalar?.type === 'BLOCK_LITERAL' || scalar?.type === 'BLOCK_FOLDED';
    const firstLine = scalar === undefined ? 1 : this.diagnostics.lineOf(scalar) + (isBlock ? 1 : 0);
    const source: TemplateSource = { name, text, file: basename(this.file), firstLine };
    for (const { line, column, message } of this.#mistakesOf(source)) {
      const place =
        scalar === undefined
          ? { line: firstLine, column }
          : this.diagnostics.placeAt(offsetInFile(scalar, this.document, line, column));
      this.#tell(path, this.file, place, message, this.document);
    }
    return source;
  }

  #fromFile(name: string, file: string, path: FieldPath): TemplateSource {
    const found = this.read(file);
    if ('problem' in found) {
      this.diagnostics.add(path, `${shown(file)} ${found.problem}${hintFor(file, found.files ?? [])}`);
    }
    const source: TemplateSource = { name, text: 'text' in found ? found.text : '', file, firstLine: 1 };
    for (const { line, column, message } of this.#mistakesOf(source)) {
      this.#tell(path, join(dirname(this.file), file), { line, column }, message, source.text);
    }
    return source;
  }

  #mistakesOf(source: TemplateSource): readonly TemplateMistake[] {
    const at = source.text.indexOf('\0');
    // Renders mark the places of groups with NUL.
    if (at !== -1) return [{ ...placeOf(source.text, at), message: 'a template can hold no NUL character' }];
    return this.check(source);
  }

  #tell(path: FieldPath, file: string, place: Place, message: string, text: string): void {
    const excerpt = excerptOf(text, place.line);
    this.faults.push({ file, ...place, field: fieldName(path), message: `${message}\n${excerpt}` });
  }
}

function placeOf(text: string, at: number): Place {
  const lines = text.slice(0, at).split('\n');
  return { line: lines.length, column: (lines.at(-1)?.length ?? 0) + 1 };
}

function complete({ metadata, spec }: ConfigDocument, templates: Templates): RenderConfig {
  const { check, admission, render, extraContext } = spec;
  return {
    name: metadata.name,
    watchedResources: sorted(spec.watchedResources).map(([alias, resource]) => ({ alias, ...resource })),
    snippets: sorted(spec.snippets).map(([name, snippet]) => ({
      name,
      template: templates.of(name, snippet, ['spec', 'snippets', name]),
      requires: snippet.requires,
    })),
    components: sorted(spec.components).map(([name, component]) => ({
      name,
      sources: component.sources ?? [component.source ?? ''],
      group: component.group,
      kind: component.kind,
      template: templates.of(name, component, ['spec', 'components', name]),
      requires: component.requires,
      consumes: component.consumes,
      optionalConsumes: component.optionalConsumes,
      effects: component.effects,
      whenAnyPathExists: component.whenAnyPathExists,
    })),
    outputs: mainFirst(Object.entries(spec.outputs)).map(([name, output]) => outputOf(name, output, templates)),
    check: {
      command: check.command ?? USUAL_COMMAND,
      timeoutMs: check.timeout,
      memoryMiB: check.memory,
      concurrency: check.concurrency,
    },
    admission: {
      mode: admission.mode,
      budgetMs: admission.budget,
      marginMs: admission.margin,
      renderTimeoutMs: admission.renderTimeout,
      queueLength: admission.queueLength,
      maxBodyBytes: admission.maxBodyBytes,
    },
    render: {
      timeoutMs: render.timeout,
      heapMiB: render.heap,
      maxInstanceBytes: render.maxInstanceBytes,
      debounceMs: render.debounce,
    },
    extraContext,
  };
}

function outputOf(name: string, output: ConfigDocument['spec']['outputs'][string], templates: Templates): OutputSpec {
  const { kind, sensitive, cell } = output;
  const content: OutputSpec['content'] =
    cell === undefined
      ? { from: 'template', template: templates.of(name, output, ['spec', 'outputs', name]) }
      : { from: 'cell', group: cell.group, cell: cell.name };
  return { name, kind, sensitive, content };
}

function sorted<T>(record: Readonly<Record<string, T>>): [string, T][] {
  return Object.entries(record).sort(([a], [b]) => (a < b ? -1 : 1));
}

function mainFirst<T>(entries: [string, T][]): [string, T][] {
  const isMain = ([name]: [string, T]): boolean => name === MAIN_FILE;
  return [...entries.filter(isMain), ...entries.filter((entry) => !isMain(entry))];
}
