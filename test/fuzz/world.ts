import type { Random } from './random.js';

/**
 * The small world that histories happen in. Ranges are tiny so that things collide: the same host is claimed twice, a
 * reference misses its object, a key comes and goes. Some names are hostile.
 */
export const ALIASES = ['routes', 'services', 'tags'] as const;
export type Alias = (typeof ALIASES)[number];

export const NAMESPACES = ['a', 'b', '__proto__'] as const;
export const NAMES = ['constructor', 'x', 'y', 'z'] as const;
export const HOSTS = ['h0', 'h1', 'h2', '__proto__'] as const;

/** Paths of `get(...prefix)`; `tags` gives an object several key vectors, and some objects have none. */
export const INDEX_BY: Readonly<Record<Alias, readonly string[]>> = {
  routes: ['$.metadata.namespace', '$.spec.host'],
  services: ['$.metadata.namespace'],
  tags: ['$.spec.tags[*]', '$.spec.port'],
};

export interface Ref {
  readonly namespace: string;
  readonly name: string;
}

export interface Spec {
  readonly host?: string;
  readonly port: number;
  readonly rank?: string;
  readonly ref?: Ref;
  readonly tags: readonly string[];
  /** Decides faults: `bad` throws, `mix` mixes kinds of output, `need...` throws on a miss, `refuse` is what the checker refuses. */
  readonly mark?: string;
}

export interface FuzzObject {
  readonly metadata: { readonly namespace: string; readonly name: string };
  readonly spec: Spec;
}

export interface Place extends Ref {
  readonly alias: Alias;
}

export const MARKS = ['bad', 'mix', 'need-ref', 'need-host', 'refuse', 'silent'] as const;

export function placeKey({ alias, namespace, name }: { alias: string } & Ref): string {
  return `${alias} ${namespace}/${name}`;
}

export function objectOf(place: Ref, spec: Spec): FuzzObject {
  return { metadata: { namespace: place.namespace, name: place.name }, spec };
}

export function randomPlace(random: Random): Place {
  return { alias: random.pick(ALIASES), namespace: random.pick(NAMESPACES), name: random.pick(NAMES) };
}

export function randomSpec(random: Random): Spec {
  return {
    ...(random.chance(80) ? { host: random.pick(HOSTS) } : {}),
    port: random.int(3),
    ...(random.chance(40) ? { rank: random.pick(['', '1', '10', '2']) } : {}),
    ...(random.chance(60) ? { ref: { namespace: random.pick(NAMESPACES), name: random.pick(NAMES) } } : {}),
    tags: random.some(['h0', 't1', 'constructor'], 30),
    ...(random.chance(25) ? { mark: random.pick(MARKS) } : {}),
  };
}

/** The spec with one field as another spec would have it; order of fields as always. */
export function tweaked(random: Random, spec: Spec): Spec {
  const { host, port, rank, ref, tags, mark } = { ...spec, ...oneField(random) };
  return {
    ...(host === undefined ? {} : { host }),
    port: port ?? spec.port,
    ...(rank === undefined ? {} : { rank }),
    ...(ref === undefined ? {} : { ref }),
    tags: tags ?? spec.tags,
    ...(mark === undefined ? {} : { mark }),
  };
}

function oneField(random: Random): { readonly [field in keyof Spec]?: Spec[field] | undefined } {
  const { host, port, rank, ref, tags, mark } = randomSpec(random);
  return random.pick([{ host }, { port }, { rank }, { ref }, { tags }, { mark }, { mark: undefined }]);
}

/** The object's JSON as a cluster would send it: `noise` fills fields whose change is no change. */
export function textOf(object: FuzzObject, noise: number): string {
  const { namespace, name } = object.metadata;
  const metadata = { name, namespace, resourceVersion: String(noise), managedFields: [{ manager: `m${noise}` }] };
  const body = { kind: 'Thing', metadata, status: { seen: noise }, spec: object.spec };
  // Another order of fields is no change either.
  const entries = Object.entries(body);
  return JSON.stringify(Object.fromEntries(noise % 2 === 0 ? entries : entries.reverse()));
}
