import type {
  ComponentSpec,
  OutputKind,
  OutputSpec,
  RenderConfig,
  TemplateSource,
} from '../../src/config/render-config.js';
import { KINDS, type Names } from './family.js';
import type { Random } from './random.js';
import { ALIASES, INDEX_BY } from './world.js';

/** A component of a history's configuration: plain data, so that a shrunk history can be printed. */
export interface Chosen {
  readonly name: string;
  readonly kind: string;
  readonly sources: readonly string[];
  readonly group: string;
  readonly names: Names;
  /** Runs only for objects that have one of these fields. */
  readonly when: readonly Gate[] | undefined;
}

/** `tags`: has one at all. */
export const GATES = ['host', 'rank', 'ref', 'tags', 'mark'] as const;
export type Gate = (typeof GATES)[number];

export interface FuzzConfig {
  /** Sorted by name. */
  readonly components: readonly Chosen[];
  /** An output that throws when a group has more than this many hosts. */
  readonly limit: number | undefined;
}

/** Text groups in the order in which they may consume each other; `map` stands aside. */
export const TEXT_GROUPS = ['g0', 'g1', 'g2'] as const;
/** Code-unit order differs from the order of a dictionary here. */
const COMPONENT_NAMES = ['B', 'a', 'a-1', 'a.b', 'constructor', 'find', 'signature', 'zeta'];

export function randomConfig(random: Random): FuzzConfig {
  const names = random.shuffled(COMPONENT_NAMES).slice(0, 4 + random.int(5));
  const components = names.map((name) => randomComponent(random, name));
  components.sort((a, b) => (a.name < b.name ? -1 : 1));
  return { components, limit: random.chance(15) ? 2 : undefined };
}

function randomComponent(random: Random, name: string): Chosen {
  const kind = random.pick(Object.keys(KINDS));
  const { consumes, map } = KINDS[kind] as (typeof KINDS)[string];
  const level = consumes ? 1 + random.int(2) : random.int(3);
  const group = map === true ? 'map' : `g${level}`;
  const sources = random.chance(25) ? random.shuffled(ALIASES).slice(0, 2).sort() : [random.pick(ALIASES)];
  return {
    name,
    kind,
    sources,
    group,
    names: { other: random.pick(ALIASES), producer: `g${random.int(Math.max(1, level))}` },
    when: random.chance(30) ? random.shuffled(GATES).slice(0, 1 + random.int(2)) : undefined,
  };
}

export function groupsOf(config: FuzzConfig): readonly string[] {
  return [...new Set(config.components.map(({ group }) => group))].sort();
}

/** The group whose cell `files` becomes a directory. */
export function filesGroup(config: FuzzConfig): string | undefined {
  return config.components.find(({ kind }) => kind === 'files')?.group;
}

function source(name: string, text: string): TemplateSource {
  return { name, text, file: 'fuzz.yaml', firstLine: 1 };
}

function componentSpec({ name, kind: kindName, sources, group, names, when }: Chosen): ComponentSpec {
  const kind = KINDS[kindName] as (typeof KINDS)[string];
  return {
    name,
    sources,
    group,
    kind: kind.map === true ? 'map' : 'text',
    template: source(name, kind.template(names)),
    requires: [],
    consumes: kind.consumes ? [names.producer] : [],
    optionalConsumes: ['ghost'],
    effects: kind.effects,
    whenAnyPathExists: when?.map((gate) => `$.spec.${gate === 'tags' ? 'tags[*]' : gate}`),
  };
}

function templateOutput(name: string, kind: OutputKind, text: string): OutputSpec {
  return { name, kind, sensitive: false, content: { from: 'template', template: source(name, text) } };
}

/** What `main.cfg` shows besides the groups: reads of an output template. */
function mainTemplate(groups: readonly string[]): string {
  const mounts = groups.map((group) => `# ${group}\n<%~ group('${group}') %>\n`).join('');
  const reads = groups.map(
    (group) =>
      `values ${group} <%= values('${group}', 'hosts').map((v) => String(v.port)).join('+') %>. <%= count('${group}', 'hosts') %>\n`,
  );
  return `${mounts}${reads.join('')}services <%= resources.services.list().length %>\n`;
}

function outputSpecs(config: FuzzConfig): OutputSpec[] {
  const groups = groupsOf(config);
  const texts = groups.filter((group) => group !== 'map');
  const outputs = [templateOutput('main.cfg', 'text', mainTemplate(texts))];
  if (groups.includes('map')) outputs.push(templateOutput('rows.map', 'map', `<%~ group('map') %>\n`));
  const files = filesGroup(config);
  if (files !== undefined) {
    const content = { from: 'cell', group: files, cell: 'files' } as const;
    outputs.push({ name: 'files/', kind: 'text', sensitive: false, content });
  }
  if (config.limit !== undefined && texts[0] !== undefined) {
    const check = `<% if (count('${texts[0]}', 'hosts') > ${config.limit}) fail('spec', 'too many'); %>\n`;
    outputs.push(templateOutput('limit.cfg', 'text', `${check}fine\n`));
  }
  return outputs;
}

export function renderConfigOf(config: FuzzConfig): RenderConfig {
  return {
    name: 'fuzz',
    watchedResources: ALIASES.map((alias) => ({
      alias,
      apiVersion: 'v1',
      kind: 'Thing',
      resource: alias,
      indexBy: INDEX_BY[alias],
      review: true,
      optional: false,
      ignoreFields: ['$.status'],
    })),
    snippets: [],
    components: config.components.map(componentSpec),
    outputs: outputSpecs(config),
    check: { command: ['true'], timeoutMs: 1000, memoryMiB: 64, concurrency: 1 },
    admission: {
      mode: 'enforce',
      budgetMs: 1000,
      marginMs: 100,
      renderTimeoutMs: 60_000,
      queueLength: 8,
      maxBodyBytes: 1_000_000,
    },
    render: { timeoutMs: 60_000, heapMiB: 1024, maxInstanceBytes: 100_000, debounceMs: 0 },
    extraContext: {},
  };
}
