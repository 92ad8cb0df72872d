import type { ComponentSpec, OutputSpec } from '../src/config/render-config.js';
import type { RenderPlan } from '../src/render/plan.js';
import { indexVectors } from '../src/store/key-index.js';
import { parsePath, pathExists } from '../src/store/json-path.js';
import type { StoredObject } from '../src/store/canonical.js';
import { identityOf } from '../src/store/canonical.js';
import { safeText } from '../src/template/safe-text.js';
import type { TemplateHost } from '../src/template/template-host.js';
import { BaselineIo, type Cells } from './baseline-io.js';

/** The objects of one alias: plain Maps, made anew whenever the objects are. */
export interface PlainStore {
  readonly list: readonly StoredObject[];
  readonly byIdentity: ReadonlyMap<string, StoredObject>;
  readonly byPrefix: ReadonlyMap<string, readonly StoredObject[]>;
}

export interface PlainFile {
  readonly name: string;
  readonly text: string;
}

/** Objects in canonical order, as a snapshot lists them. */
export function plainStore(objects: readonly StoredObject[], indexBy: readonly string[]): PlainStore {
  const paths = indexBy.map(parsePath);
  const byPrefix = new Map<string, StoredObject[]>();
  for (const object of objects) {
    for (const vector of indexVectors(object, paths)) {
      for (let length = 1; length <= vector.length; length++)
        push(byPrefix, vector.slice(0, length).join('\0'), object);
    }
  }
  const keyed = objects.map((object): [string, StoredObject] => {
    const { namespace, name } = identityOf(object);
    return [`${namespace}\0${name}`, object];
  });
  return { list: objects, byIdentity: new Map(keyed), byPrefix };
}

/**
 * Baseline A: every template over every object, without graph, sessions, recorded reads or chunk trees. It shares with the
 * engine the template host (so the same compiled functions in the same compartment, with the same JIT state), the objects
 * and the plan, and nothing else.
 */
export function renderPlain(
  host: TemplateHost,
  plan: RenderPlan,
  stores: ReadonlyMap<string, PlainStore>,
): PlainFile[] {
  const groups = new Map<string, Cells>();
  for (const name of plan.groups.keys()) groups.set(name, { text: '', uniques: new Map(), publications: new Map() });
  for (let wave = 0; wave < plan.waves; wave++) {
    for (const component of plan.config.components) {
      if (plan.groups.get(component.group)?.wave === wave) runComponent(host, component, stores, groups);
    }
  }
  return plan.config.outputs.flatMap((output) => renderOutput(host, output, stores, groups));
}

function runComponent(
  host: TemplateHost,
  component: ComponentSpec,
  stores: ReadonlyMap<string, PlainStore>,
  groups: Map<string, Cells>,
): void {
  const group = groups.get(component.group);
  if (group === undefined) throw new Error(`there is no group ${component.group}`);
  const io = new BaselineIo(stores, groups, group);
  const gates = component.whenAnyPathExists?.map(parsePath);
  for (const source of component.sources) {
    for (const item of stores.get(source)?.list ?? []) {
      if (gates?.some((path) => pathExists(item, path)) === false) continue;
      const { namespace, name } = identityOf(item);
      const renderSubject = Object.freeze({ alias: source, namespace, name });
      const text = host.run(component.template, component.kind, { item, source, props: NO_PROPS, renderSubject }, io);
      if (text.trim() !== '') group.text += text.endsWith('\n') ? text : `${text}\n`;
    }
  }
}

function renderOutput(
  host: TemplateHost,
  output: OutputSpec,
  stores: ReadonlyMap<string, PlainStore>,
  groups: Map<string, Cells>,
): PlainFile[] {
  const { content, kind, name } = output;
  if (content.from === 'cell') {
    const cell = groups.get(content.group)?.publications.get(content.cell) ?? new Map<string, never>();
    return sorted(cell).map(([key, winner]) => ({ name: name + key, text: String(winner.value) }));
  }
  const mounted: string[] = [];
  const io = new BaselineIo(stores, groups, undefined, (group) => {
    mounted.push(group);
    return safeText(`${MARK}${mounted.length - 1}${MARK}`);
  });
  return [{ name, text: assembled(host.run(content.template, kind, {}, io), mounted, groups) }];
}

/** A mounted group ends with a newline of its own: the one behind its tag goes, and blanks before it. */
function assembled(text: string, mounted: readonly string[], groups: ReadonlyMap<string, Cells>): string {
  const parts = text.split(MARK);
  return parts
    .map((part, at) => {
      if (at % 2 === 1) return groupText(groups.get(mounted[Number(part)] ?? ''));
      const before = at === 0 ? part : part.replace(/^\r?\n/, '');
      return at === parts.length - 1 ? before : before.replace(/[ \t]+$/, '');
    })
    .join('');
}

function groupText(group: Cells | undefined): string {
  if (group === undefined) return '';
  const uniques = sorted(group.uniques).flatMap(([, cell]) => sorted(cell).map(([, text]) => text));
  return [group.text, ...uniques].join('');
}

function sorted<T>(map: ReadonlyMap<string, T>): [string, T][] {
  return [...map].sort(([a], [b]) => (a < b ? -1 : 1));
}

function push<T>(lists: Map<string, T[]>, key: string, value: T): void {
  const list = lists.get(key);
  if (list === undefined) lists.set(key, [value]);
  else list.push(value);
}

/** NUL comes from no template and no value. */
const MARK = '\0';
const NO_PROPS = Object.freeze({});
