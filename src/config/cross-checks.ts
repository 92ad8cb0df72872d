import { type Diagnostics, type FieldPath, hintFor } from './diagnostics.js';
import type { ConfigDocument } from './schema.js';

type Spec = ConfigDocument['spec'];

/** Names that the document gives, also where the rest of an entry is wrong: they are not missing. */
export interface KnownNames {
  readonly aliases: ReadonlySet<string>;
  readonly groups: ReadonlySet<string>;
}

export function namesIn(root: unknown): KnownNames {
  const spec = recordOf(recordOf(root)['spec']);
  const groups = Object.values(recordOf(spec['components'])).map((component) => recordOf(component)['group']);
  return {
    aliases: new Set(Object.keys(recordOf(spec['watchedResources']))),
    groups: new Set(groups.filter((group) => typeof group === 'string')),
  };
}

function recordOf(value: unknown): Readonly<Record<string, unknown>> {
  return typeof value === 'object' && value !== null ? (value as Readonly<Record<string, unknown>>) : {};
}

/** What the shape of single fields can't say: names that have to exist, combinations that can't work. */
export function crossCheck({ spec }: ConfigDocument, names: KnownNames, diagnostics: Diagnostics): void {
  checkSnippets(spec, names, diagnostics);
  checkComponents(spec, names, diagnostics);
  checkGroups(spec, diagnostics);
  checkOutputs(spec, names, diagnostics);
  checkLimits(spec, diagnostics);
}

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
  diagnostics.add(path, `"${alias}" is no alias of spec.watchedResources${hint}`);
}

function checkDuplicates(values: readonly string[], path: FieldPath, diagnostics: Diagnostics): void {
  values.forEach((value, at) => {
    if (values.indexOf(value) < at) diagnostics.add([...path, at], `"${value}" is named twice`);
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
  if (!groups.has(group)) diagnostics.add(path, `no component writes the group "${group}"${hintFor(group, groups)}`);
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
  const cycle = findCycle(spec);
  if (cycle === undefined) return;
  const path = ['spec', 'components', cycle.component, 'consumes'];
  diagnostics.add(path, `the groups consume each other in a circle: ${cycle.groups.join(' -> ')}`);
}

/** A circle of groups, and a component that is part of it. A group that consumes itself is reported with its field. */
function findCycle(spec: Spec): { component: string; groups: readonly string[] } | undefined {
  const producers = new Map<string, Map<string, string>>();
  for (const [name, { group, consumes, optionalConsumes }] of Object.entries(spec.components)) {
    const known = producers.get(group) ?? new Map<string, string>();
    for (const producer of [...consumes, ...optionalConsumes]) if (producer !== group) known.set(producer, name);
    producers.set(group, known);
  }
  const done = new Set<string>();
  const walk = (group: string, trail: readonly string[]): readonly string[] | undefined => {
    if (trail.includes(group)) return [...trail.slice(trail.indexOf(group)), group];
    if (done.has(group)) return undefined;
    for (const producer of producers.get(group)?.keys() ?? []) {
      const found = walk(producer, [...trail, group]);
      if (found !== undefined) return found;
    }
    done.add(group);
    return undefined;
  };
  for (const group of producers.keys()) {
    const groups = walk(group, []);
    if (groups === undefined) continue;
    const component = producers.get(groups[0] ?? '')?.get(groups[1] ?? '') ?? '';
    return { component, groups };
  }
  return undefined;
}

/** Relative, below the output directory, nothing hidden: `haproxy.cfg`, `certs/`. */
const OUTPUT_NAME = /^[A-Za-z0-9][A-Za-z0-9._-]*(\/[A-Za-z0-9][A-Za-z0-9._-]*)*\/?$/;

function checkOutputs(spec: Spec, names: KnownNames, diagnostics: Diagnostics): void {
  const cells = new Map<string, string>();
  for (const [name, { cell, template, templateFile }] of Object.entries(spec.outputs)) {
    const path = ['spec', 'outputs', name];
    if (!OUTPUT_NAME.test(name)) {
      diagnostics.addToName(path, 'is no relative file name of letters, digits, ".", "_", "-" and "/"');
    }
    const inside = Object.keys(spec.outputs).find((other) => other !== name && name.startsWith(asFolder(other)));
    if (inside !== undefined) diagnostics.addToName(path, `lies inside the output "${inside}"`);
    if (cell === undefined) {
      if (name.endsWith('/'))
        diagnostics.addToName(path, 'ends with "/", so it needs a cell whose values are its files');
      continue;
    }
    if (!name.endsWith('/'))
      diagnostics.addToName(path, 'takes its files from a cell, so its name has to end with "/"');
    if (template !== undefined || templateFile !== undefined)
      diagnostics.add(path, 'has a template and a cell; use one');
    checkGroup(cell.group, [...path, 'cell', 'group'], names, diagnostics);
    const key = `${cell.group} ${cell.name}`;
    if (cells.has(key)) diagnostics.add([...path, 'cell'], `the output "${cells.get(key)}" takes the same cell`);
    cells.set(key, name);
  }
}

function asFolder(name: string): string {
  return name.endsWith('/') ? name : `${name}/`;
}

function checkLimits(spec: Spec, diagnostics: Diagnostics): void {
  if (spec.check.command === undefined && !Object.hasOwn(spec.outputs, 'haproxy.cfg')) {
    diagnostics.add(['spec', 'outputs'], 'haproxy.cfg is missing, which the usual check.command reads');
  }
  const { budget, margin, renderTimeout } = spec.admission;
  if (margin >= budget) {
    diagnostics.add(['spec', 'admission', 'margin'], `${margin} ms leave nothing of the budget of ${budget} ms`);
  }
  if (renderTimeout > budget) {
    const path = ['spec', 'admission', 'renderTimeout'];
    diagnostics.add(path, `${renderTimeout} ms are more than the budget of ${budget} ms`);
  }
}
