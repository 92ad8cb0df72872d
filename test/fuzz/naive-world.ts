import { INDEX_BY, type Alias, type FuzzObject } from './world.js';

/** Objects by alias and `namespace/name`. */
export type View = ReadonlyMap<string, ReadonlyMap<string, FuzzObject>>;

export interface NaiveContribution {
  readonly cell: string;
  readonly key: string;
  readonly rank: string;
  readonly text: string;
}

export interface NaiveResult {
  readonly text: string;
  readonly uniques: readonly NaiveContribution[];
  readonly publications: readonly NaiveContribution[];
  readonly events: readonly { readonly type: string; readonly reason: string; readonly message: string }[];
}

/** Component, alias, namespace, name. */
export type Instance = readonly [component: string, alias: string, namespace: string, name: string];

/** One observation of an instance, and what it saw. */
export interface Read {
  readonly kind: 'list' | 'get' | 'find' | 'select' | 'values' | 'count';
  readonly args: readonly string[];
  seen: string;
}

/** What an instance sees and may do; the plain-function twin of the template environment. */
export interface Env {
  readonly item: FuzzObject;
  readonly namespace: string;
  readonly name: string;
  list(alias: string): readonly FuzzObject[];
  get(alias: string, ...prefix: readonly string[]): readonly FuzzObject[];
  find(alias: string, namespace: string, name: string): FuzzObject | undefined;
  select(group: string, cell: string, key: string): unknown;
  selectValues(group: string, cell: string): readonly unknown[];
  count(group: string, cell: string): number;
  publish(cell: string, key: string, value: unknown, rank?: string): void;
  unique(cell: string, key: string, line: string): void;
  event(type: string, reason: string, message: string): void;
  write(line: string): void;
  fail(): never;
}

export class NaiveFault extends Error {}

export interface Winner extends NaiveContribution {
  readonly owner: Instance;
}

export function byTuple(left: readonly string[], right: readonly string[]): number {
  for (let at = 0; at < left.length; at++) {
    const [a, b] = [left[at] as string, right[at] as string];
    if (a !== b) return a < b ? -1 : 1;
  }
  return 0;
}

/**
 * Everything one render can see, worked out anew at every question: no index, no cache, no change ever told to anyone. This
 * is the answer key, so it is written to be obviously right.
 */
export class NaiveWorld {
  /** Results by group; an instance that has not run yet in this render has none. */
  readonly results = new Map<string, Map<Instance, NaiveResult>>();

  constructor(readonly view: View) {}

  objects(alias: string): FuzzObject[] {
    const objects = [...(this.view.get(alias)?.values() ?? [])];
    return objects.sort((a, b) => byTuple(nameOf(a), nameOf(b)));
  }

  get(alias: string, prefix: readonly string[]): FuzzObject[] {
    return this.objects(alias).filter((object) =>
      vectorsOf(alias as Alias, object).some((vector) => prefix.every((part, at) => vector[at] === part)),
    );
  }

  find(alias: string, namespace: string, name: string): FuzzObject | undefined {
    return this.view.get(alias)?.get(`${namespace}/${name}`);
  }

  /** The first of each key: by rank (ranked before unranked), owner, call. */
  winners(group: string, list: 'publications' | 'uniques', cell: string): Winner[] {
    const all = [...(this.results.get(group) ?? [])]
      .sort(([a], [b]) => byTuple(a, b))
      .flatMap(([owner, result]) => result[list].map((entry) => ({ ...entry, owner })))
      .filter((entry) => entry.cell === cell);
    const first = new Map<string, Winner>();
    for (const entry of all) {
      const held = first.get(entry.key);
      if (held === undefined || beats(entry.rank, held.rank)) first.set(entry.key, entry);
    }
    return [...first.values()].sort((a, b) => (a.key < b.key ? -1 : 1));
  }

  cells(group: string, list: 'publications' | 'uniques'): string[] {
    const results = [...(this.results.get(group)?.values() ?? [])];
    return [...new Set(results.flatMap((result) => result[list].map(({ cell }) => cell)))].sort();
  }

  winner(group: string, cell: string, key: string): Winner | undefined {
    return this.winners(group, 'publications', cell).find((entry) => entry.key === key);
  }

  /** What a read sees here, as text. */
  observe({ kind, args }: Pick<Read, 'kind' | 'args'>): string {
    const [first = '', second = '', third = ''] = args;
    switch (kind) {
      case 'list':
        return JSON.stringify(this.objects(first));
      case 'get':
        return JSON.stringify(this.get(first, args.slice(1)));
      case 'find':
        return JSON.stringify(this.find(first, second, third)) ?? 'nothing';
      case 'select':
        return this.winner(first, second, third)?.text ?? 'nothing';
      case 'values':
        return JSON.stringify(this.winners(first, 'publications', second).map(({ key, text }) => [key, text]));
      case 'count':
        return String(this.winners(first, 'publications', second).length);
    }
  }
}

/** Whether the read sees objects (and not publications). */
export function isObjectRead({ kind }: Pick<Read, 'kind'>): boolean {
  return kind === 'list' || kind === 'get' || kind === 'find';
}

function beats(rank: string, held: string): boolean {
  return rank !== '' && (held === '' || rank < held);
}

function nameOf({ metadata }: FuzzObject): [string, string] {
  return [metadata.namespace, metadata.name];
}

/** Key vectors by hand: the family's three indexes. */
export function vectorsOf(alias: Alias, { metadata, spec }: FuzzObject): string[][] {
  switch (alias) {
    case 'routes':
      return spec.host === undefined ? [] : [[metadata.namespace, spec.host]];
    case 'services':
      return [[metadata.namespace]];
    case 'tags':
      return [...new Set(spec.tags)].map((tag) => [tag, String(spec.port)]);
    default:
      throw new Error(`no index of ${String(alias satisfies never)} among ${Object.keys(INDEX_BY).join()}`);
  }
}

/** Runs one instance and records every read with what it saw, up to a fault. */
export function runNaively(
  world: NaiveWorld,
  instance: Instance,
  run: (env: Env) => void,
): { readonly reads: Read[]; readonly result: NaiveResult | undefined } {
  const [, alias, namespace, name] = instance;
  const reads: Read[] = [];
  const note = (kind: Read['kind'], ...args: string[]): void => {
    reads.push({ kind, args, seen: world.observe({ kind, args }) });
  };
  note('find', alias, namespace, name);
  const item = world.find(alias, namespace, name);
  if (item === undefined) throw new Error(`the answer key asks for ${instance.join(' ')}, which is not there`);
  const uniques: NaiveContribution[] = [];
  const publications: NaiveContribution[] = [];
  const events: { type: string; reason: string; message: string }[] = [];
  let text = '';
  const env: Env = {
    item,
    namespace,
    name,
    list: (other) => (note('list', other), world.objects(other)),
    get: (other, ...prefix) => (note('get', other, ...prefix), world.get(other, prefix)),
    find: (other, ns, n) => (note('find', other, ns, n), world.find(other, ns, n)),
    select: (group, cell, key) => (note('select', group, cell, key), parsed(world.winner(group, cell, key))),
    selectValues: (group, cell) => (
      note('values', group, cell),
      world.winners(group, 'publications', cell).map(parsed)
    ),
    count: (group, cell) => (note('count', group, cell), world.winners(group, 'publications', cell).length),
    publish: (cell, key, value, rank = '') => publications.push({ cell, key, rank, text: JSON.stringify(value) }),
    unique: (cell, key, line) => uniques.push({ cell, key, rank: '', text: `${line}\n` }),
    event: (type, reason, message) => events.push({ type, reason, message }),
    write: (line) => void (text += `${line}\n`),
    fail: () => {
      throw new NaiveFault();
    },
  };
  try {
    run(env);
  } catch (error) {
    if (!(error instanceof NaiveFault)) throw error;
    return { reads, result: undefined };
  }
  const kinds = [text !== '', uniques.length > 0, publications.length > 0].filter(Boolean).length;
  return { reads, result: kinds > 1 ? undefined : { text, uniques, publications, events } };
}

function parsed(winner: Winner | undefined): unknown {
  return winner === undefined ? undefined : JSON.parse(winner.text);
}
