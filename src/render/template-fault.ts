import type { TemplateSource } from '../config/render-config.js';
import type { CompiledTemplate } from '../template/compile-template.js';
import { excerptOf, TemplateFault } from '../template/faults.js';
import type { RenderFault } from './instance-result.js';
import { type InstanceId, objectLabel } from './keys.js';

/** A render that can't go on because of its data or templates: every fault of the wave, never only the first. */
export class RenderFailure extends Error {
  override readonly name = 'RenderFailure';
  readonly code = 'RENDER_FAILED';

  constructor(readonly faults: readonly RenderFault[]) {
    super(faults.map((fault) => fault.reason).join('; '));
  }
}

/** The render was told to end, or ran out of heap: nothing of it is kept. */
export class RenderStopped extends Error {
  override readonly name = 'RenderStopped';
  readonly code = 'RENDER_STOPPED';

  constructor(
    readonly why: 'cancelled' | 'heap',
    message: string,
  ) {
    super(message);
  }
}

/** Makes a fault of whatever a template threw: place, excerpt, and the source field that the value at fault came from. */
export function faultOf(
  error: unknown,
  compiled: CompiledTemplate | undefined,
  instance: InstanceId | undefined,
  item: unknown,
): RenderFault {
  if (error instanceof TemplateFault) return ofTemplateFault(error, compiled, instance, item);
  const reason = error instanceof Error ? `${error.name}: ${error.message}` : `the template threw ${typeof error}`;
  const place = compiled === undefined ? undefined : placeInStack(error, compiled);
  return { instance, reason: oneLine(reason), ...placed(compiled?.source, place) };
}

function ofTemplateFault(
  error: TemplateFault,
  compiled: CompiledTemplate | undefined,
  instance: InstanceId | undefined,
  item: unknown,
): RenderFault {
  const tag = error.tag === undefined ? undefined : compiled?.tags[error.tag];
  const place = tag ?? (compiled === undefined ? undefined : placeInStack(error, compiled));
  const field = error.field ?? (error.value === undefined ? undefined : fieldWithValue(item, error.value));
  const expression =
    tag !== undefined && field === undefined && tag.code !== '' ? `<%= ${oneLine(tag.code).slice(0, 80)} %>: ` : '';
  const bound = /render\.maxInstanceBytes/.test(error.reason) ? { bound: 'size' as const } : {};
  return {
    instance,
    reason: oneLine(expression + error.reason),
    ...(field === undefined ? {} : { field }),
    ...placed(compiled?.source, place),
    ...bound,
  };
}

function placed(
  source: TemplateSource | undefined,
  place: { line: number; column: number } | undefined,
): Partial<RenderFault> {
  if (source === undefined || place === undefined) return {};
  return {
    place: { template: source.name, file: source.file, line: place.line + source.firstLine - 1, column: place.column },
    excerpt: excerptOf(source.text, place.line, source.firstLine),
  };
}

/** Line n of the program is line n of the template, so the engine's stack is a place in it. */
function placeInStack(error: unknown, compiled: CompiledTemplate): { line: number; column: number } | undefined {
  const stack = error instanceof Error ? String(error.stack) : '';
  const marker = `template:${encodeURIComponent(compiled.source.name)}:`;
  const at = stack.indexOf(marker);
  if (at === -1) return undefined;
  const [, line, column] = /^(\d+):(\d+)/.exec(stack.slice(at + marker.length)) ?? [];
  if (line === undefined) return undefined;
  const tag = compiled.tags.find((candidate) => candidate.line === Number(line) && candidate.kind !== 'text');
  return { line: Number(line), column: tag?.column ?? Number(column) };
}

function oneLine(text: string): string {
  return text.replace(/\s+/g, ' ').trim().slice(0, 400);
}

/** Path of the first string in the object that is, or else contains, the value; undefined when there is none. */
export function fieldWithValue(item: unknown, value: string): string | undefined {
  if (value === '') return undefined;
  let containing: string | undefined;
  const isIt = (text: string, path: string): boolean => {
    if (text === value) return true;
    // `metadata.uid` and the like contain short values by accident.
    if (containing === undefined && value.length > 2 && text.includes(value)) containing = path;
    return false;
  };
  for (const [path, part] of mostLikelyFirst(item)) {
    const exact = findString(part, path, isIt);
    if (exact !== undefined) return exact;
  }
  return containing;
}

/** The same value may be a name in `metadata` by accident: what a person set comes first. */
function mostLikelyFirst(item: unknown): readonly (readonly [path: string, part: unknown])[] {
  if (typeof item !== 'object' || item === null) return [];
  const { metadata, ...rest } = item as { readonly metadata?: { readonly annotations?: unknown } };
  return [['metadata.annotations', metadata?.annotations], ...Object.entries(rest), ['metadata', metadata]];
}

export function findString(
  value: unknown,
  path: string,
  matches: (text: string, path: string) => boolean,
): string | undefined {
  if (typeof value === 'string' || typeof value === 'number') return matches(String(value), path) ? path : undefined;
  if (typeof value !== 'object' || value === null) return undefined;
  for (const [key, child] of Object.entries(value)) {
    const found = findString(child, childPath(path, key, Array.isArray(value)), matches);
    if (found !== undefined) return found;
  }
  return undefined;
}

function childPath(path: string, key: string, inList: boolean): string {
  if (inList) return `${path}[${key}]`;
  if (!/^[A-Za-z_][A-Za-z0-9_]*$/.test(key)) return `${path}[${JSON.stringify(key)}]`;
  return path === '' ? key : `${path}.${key}`;
}

/** Identity of a fault: object, template line and text, so that it is the same wherever its output moves (DESIGN 8). */
export function faultId(fault: RenderFault): string {
  const { instance, place, reason, field } = fault;
  const object = instance === undefined ? '' : objectLabel(instance.source, instance.namespace, instance.name);
  return `${object} ${place?.template ?? ''}:${place?.line ?? ''} ${field ?? ''} ${reason}`;
}
