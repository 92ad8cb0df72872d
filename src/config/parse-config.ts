import { basename } from 'node:path';
import type { LineCounter } from 'yaml';
import { crossCheck, namesIn } from './cross-checks.js';
import { Diagnostics, type FieldPath } from './diagnostics.js';
import { parseRepairing } from './parse-repairing.js';
import {
  type ConfigDiagnostic,
  ConfigError,
  type OutputSpec,
  type RenderConfig,
  type TemplateSource,
} from './render-config.js';
import { type ConfigDocument, type RawTemplate, shown } from './schema.js';
import { parseYamlText, type SyntaxMistake } from './yaml-text.js';
import { readYamlValue } from './yaml-value.js';

/** Text of a template file beside the document, or why it can't be used. */
export type ReadTemplate = (name: string) => { readonly text: string } | { readonly problem: string };

/** What is wrong with a template itself. */
export type CheckTemplate = (source: TemplateSource) => readonly ConfigDiagnostic[];

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
  refuseProto(root, diagnostics);
  const config = parseRepairing(root, diagnostics);
  if (config === undefined) throw sortedError(diagnostics.list);
  diagnostics.settle();
  crossCheck(config, namesIn(root), diagnostics);
  const templates = new Templates(basename(file), readTemplate, checkTemplate, diagnostics);
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

/** Finds the text of each template and the line of a file on which it begins. */
class Templates {
  readonly faults: ConfigDiagnostic[] = [];

  constructor(
    private readonly document: string,
    private readonly read: ReadTemplate,
    private readonly check: CheckTemplate,
    private readonly diagnostics: Diagnostics,
  ) {}

  of(name: string, raw: RawTemplate, path: FieldPath): TemplateSource {
    const { template, templateFile } = raw;
    if ((template === undefined) === (templateFile === undefined)) {
      this.diagnostics.add(path, 'needs either template (the text) or templateFile (a file beside this one)');
    }
    if (templateFile !== undefined) return this.#fromFile(name, templateFile, [...path, 'templateFile']);
    return this.#checked({ name, text: template ?? '', file: this.document, firstLine: this.#firstLine(path) });
  }

  #firstLine(path: FieldPath): number {
    const scalar = this.diagnostics.scalarAt([...path, 'template']);
    const isBlock = scalar?.type === 'BLOCK_LITERAL' || scalar?.type === 'BLOCK_FOLDED';
    return scalar === undefined ? 1 : this.diagnostics.lineOf(scalar) + (isBlock ? 1 : 0);
  }

  #checked(source: TemplateSource): TemplateSource {
    this.faults.push(...this.check(source));
    return source;
  }

  #fromFile(name: string, file: string, path: FieldPath): TemplateSource {
    const found = this.read(file);
    if ('problem' in found) this.diagnostics.add(path, `${shown(file)} ${found.problem}`);
    return this.#checked({ name, text: 'text' in found ? found.text : '', file, firstLine: 1 });
  }
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
  const isMain = ([name]: [string, T]): boolean => name === 'haproxy.cfg';
  return [...entries.filter(isMain), ...entries.filter((entry) => !isMain(entry))];
}
