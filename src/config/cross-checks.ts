import { type Diagnostics, type FieldPath, hintFor } from './diagnostics.js';
import { groupCircles } from './group-circles.js';
import { type ConfigDocument, shown } from './schema.js';
import { parsePath } from '../store/json-path.js';

type Spec = ConfigDocument['spec'];

/** Names that the document gives, also where the rest of an entry is wrong: they are not missing. */
export interface KnownNames {
  readonly aliases: ReadonlySet<string>;
  readonly groups: ReadonlySet<string>;
  /** Groups of which a component may publish values, as far as its effects can be read. */
  readonly publishing: ReadonlySet<string>;
}

export function namesIn(root: unknown): KnownNames {
  const spec = recordOf(recordOf(root)['spec']);
  const components = Object.values(recordOf(spec['components'])).map(recordOf);
  return {
    aliases: new Set(Object.keys(recordOf(spec['watchedResources']))),
    groups: groupsOf(components),
    publishing: groupsOf(components.filter(({ effects }) => mayPublish(effects))),
  };
}

function groupsOf(components: readonly Readonly<Record<string, unknown>>[]): ReadonlySet<string> {
  return new Set(components.map(({ group }) => group).filter((group) => typeof group === 'string'));
}

function mayPublish(effects: unknown): boolean {
  return Array.isArray(effects) ? effects.some((effect) => effect !== 'recordEvent') : Boolean(effects);
}

function recordOf(value: unknown): Readonly<Record<string, unknown>> {
  return typeof value === 'object' && value !== null ? (value as Readonly<Record<string, unknown>>) : {};
}

/** What the shape of single fields can't say: names that have to exist, combinations that can't work. */
export function crossCheck({ spec }: ConfigDocument, names: KnownNames, diagnostics: Diagnostics): void {
  checkResources(spec, diagnostics);
  checkSnippets(spec, names, diagnostics);
  checkComponents(spec, names, diagnostics);
  checkGroups(spec, diagnostics);
  checkOutputs(spec, names, diagnostics);
  checkLimits(spec, diagnostics);
}

/** An object belongs to one store, and is known there by its name. */
function checkResources(spec: Spec, diagnostics: Diagnostics): void {
  const first = new Map<string, string>();
  for (const [alias, { apiVersion, kind, ignoreFields }] of Object.entries(spec.watchedResources)) {
    const path = ['spec', 'watchedResources', alias];
    const other = first.get(`${apiVersion} ${kind}`);
    if (other === undefined) first.set(`${apiVersion} ${kind}`, alias);
    else diagnostics.add([...path, 'kind'], `${kind} of ${apiVersion} is watched already, as "${other}"`);
    ignoreFields.forEach((field, at) => {
      if (!IDENTITY.has(parsePath(field).join('.'))) return;
      diagnostics.add([...path, 'ignoreFields', at], `${field} holds the object's name, which can't be left out`);
    });
  }
}

const IDENTITY: ReadonlySet<string> = new Set(['', 'metadata', 'metadata.name', 'metadata.namespace']);

function checkSnippets(spec: Spec, names: KnownNames, diagnostics: Diagnostics): void {
  for (const [name, { requires }] of Object.entries(spec.snippets)) {
    checkAliases(requires, ['spec', 'snippets', name, 'requires'], names, diagnostics);
  }
}

function checkComponents(spec: Spec, names: KnownNames, diagnostics: Diagnostics): void {
  for (const [name, component] of Object.entries(spec.components)) {
    const path = ['spec', 'components', name];
    const { source, sources, requires } = component;
    if ((source === undefined) === (sources === undefined)) {
      diagnostics.add(path, 'needs either source or sources: the aliases whose objects it runs for');
    }
    if (source !== undefined) checkAlias(source, [...path, 'source'], names, diagnostics);
    checkAliases(sources ?? [], [...path, 'sources'], names, diagnostics);
    checkAliases(requires, [...path, 'requires'], names, diagnostics);
    checkDuplicates(component.effects, [...path, 'effects'], diagnostics);
    checkDuplicates(component.whenAnyPathExists ?? [], [...path, 'whenAnyPathExists'], diagnostics);
    for (const field of ['consumes', 'optionalConsumes'] as const) {
      checkGroupNames(component[field], [...path, field], component.group, names, diagnostics);
    }
  }
}

function checkAliases(aliases: readonly string[], path: FieldPath, names: KnownNames, diagnostics: Diagnostics): void {
  aliases.forEach((alias, at) => checkAlias(alias, [...path, at], names, diagnostics));
  checkDuplicates(aliases, path, diagnostics);
}

function checkAlias(alias: string, path: FieldPath, { aliases }: KnownNames, diagnostics: Diagnostics): void {
  if (aliases.has(alias)) return;
  const hint = hintFor(alias, aliases);
  diagnostics.add(path, `${shown(alias)} is no alias of spec.watchedResources${hint}`);
}

function checkDuplicates(values: readonly string[], path: FieldPath, diagnostics: Diagnostics): void {
  const seen = new Set<string>();
  values.forEach((value, at) => {
    if (seen.has(value)) diagnostics.add([...path, at], `${shown(value)} is named twice`);
    seen.add(value);
  });
}

function checkGroupNames(
  consumed: readonly string[],
  path: FieldPath,
  own: string,
  names: KnownNames,
  diagnostics: Diagnostics,
): void {
  checkDuplicates(consumed, path, diagnostics);
  consumed.forEach((group, at) => {
    if (group === own) diagnostics.add([...path, at], `a component can't consume its own group "${group}"`);
    else checkGroup(group, [...path, at], names, diagnostics);
  });
}

function checkGroup(group: string, path: FieldPath, { groups }: KnownNames, diagnostics: Diagnostics): void {
  if (!groups.has(group))
    diagnostics.add(path, `no component writes the group ${shown(group)}${hintFor(group, groups)}`);
}

/** One kind for each group, and no group that waits for itself. */
function checkGroups(spec: Spec, diagnostics: Diagnostics): void {
  const first = new Map<string, { name: string; kind: string }>();
  for (const [name, { group, kind }] of Object.entries(spec.components)) {
    const other = first.get(group);
    if (other === undefined) first.set(group, { name, kind });
    else if (other.kind !== kind) {
      const path = ['spec', 'components', name, 'kind'];
      diagnostics.add(path, `${kind}, but component ${other.name} writes the same group "${group}" as ${other.kind}`);
    }
  }
  for (const { groups, component, field, index } of groupCircles(spec.components)) {
    const path = ['spec', 'components', component, field, index];
    diagnostics.add(path, `the groups consume each other in a circle: ${groups.join(' -> ')}`);
  }
}

/** Relative, below the output directory, nothing hidden: `haproxy.cfg`, `certs/`. */
const OUTPUT_NAME = /^[A-Za-z0-9][A-Za-z0-9._-]*(\/[A-Za-z0-9][A-Za-z0-9._-]*)*\/?$/;

function checkOutputs(spec: Spec, names: KnownNames, diagnostics: Diagnostics): void {
  const outputs = new Map(Object.keys(spec.outputs).map((name) => [name.replace(/\/$/, ''), name]));
  for (const [name, output] of Object.entries(spec.outputs)) {
    const path = ['spec', 'outputs', name];
    if (!OUTPUT_NAME.test(name)) {
      diagnostics.addToName(path, 'is no relative file name of letters, digits, ".", "_", "-" and "/"');
    }
    const around = outputAround(name, outputs);
    if (around !== undefined) diagnostics.addToName(path, `lies inside the output "${around}"`);
    if (output.cell !== undefined) checkDirectory(name, output, names, diagnostics);
    else if (name.endsWith('/')) {
      diagnostics.addToName(path, 'ends with "/", so it needs a cell whose values are its files');
    }
  }
  checkCells(spec, diagnostics);
}

/** The output that another would be a part of: `certs/`, or a file `certs`, for `certs/a.pem`. */
function outputAround(name: string, outputs: ReadonlyMap<string, string>): string | undefined {
  const parts = name.replace(/\/$/, '').split('/');
  const folders = parts.map((_, at) => outputs.get(parts.slice(0, at + 1).join('/')));
  return folders.find((other) => other !== undefined && other !== name);
}

function checkDirectory(
  name: string,
  { cell, template, templateFile }: Spec['outputs'][string],
  names: KnownNames,
  diagnostics: Diagnostics,
): void {
  const path = ['spec', 'outputs', name];
  if (!name.endsWith('/')) diagnostics.addToName(path, 'takes its files from a cell, so its name has to end with "/"');
  if (template !== undefined || templateFile !== undefined) diagnostics.add(path, 'has a template and a cell; use one');
  if (cell === undefined) return;
  checkGroup(cell.group, [...path, 'cell', 'group'], names, diagnostics);
  if (names.groups.has(cell.group) && !names.publishing.has(cell.group)) {
    const message = `no component of the group "${cell.group}" has the effect publishValue: the folder would stay empty`;
    diagnostics.add([...path, 'cell', 'group'], message);
  }
}

/** A file is published in one place only. */
function checkCells(spec: Spec, diagnostics: Diagnostics): void {
  const cells = new Map<string, string>();
  for (const [name, { cell }] of Object.entries(spec.outputs)) {
    if (cell === undefined) continue;
    const key = `${cell.group} ${cell.name}`;
    const other = cells.get(key);
    if (other === undefined) cells.set(key, name);
    else diagnostics.add(['spec', 'outputs', name, 'cell'], `the output "${other}" takes the same cell`);
  }
}

/** HAProxy's own file, the first output. */
export const MAIN_FILE = 'haproxy.cfg';

function checkLimits(spec: Spec, diagnostics: Diagnostics): void {
  const { command } = spec.check;
  if (!Object.hasOwn(spec.outputs, MAIN_FILE) && (command === undefined || command.includes(MAIN_FILE))) {
    const reader = command === undefined ? 'the usual check.command' : 'check.command';
    diagnostics.add(['spec', 'outputs'], `${MAIN_FILE} is missing, which ${reader} reads`);
  }
  const { budget, margin } = spec.admission;
  if (margin >= budget) {
    diagnostics.add(['spec', 'admission', 'margin'], `${margin} ms leave nothing of the budget of ${budget} ms`);
  }
}
