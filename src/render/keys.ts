import { SEPARATOR } from '../store/snapshot.js';
import { indexVectors } from '../store/key-index.js';
import type { StoreChange } from '../store/object-store.js';
import type { Path } from '../store/json-path.js';

/**
 * Keys of graph nodes. Parts are joined by NUL, which no part may hold, so two reads never share a key and instance keys
 * sort in canonical order: component, source, namespace, name (decision 0023). The first part of every other key begins
 * with a mark that no component's name has: one may well be called `find`.
 */
const joined = (kind: string, ...parts: readonly string[]): string => [`?${kind}`, ...parts].join(SEPARATOR);

export const listKey = (alias: string): string => `?list${SEPARATOR}${alias}`;
export const getKey = (alias: string, prefix: readonly string[]): string => joined('get', alias, ...prefix);
export const findKey = (alias: string, namespace: string, name: string): string =>
  `?find${SEPARATOR}${alias}${SEPARATOR}${namespace}${SEPARATOR}${name}`;
export const selectKey = (group: string, cell: string, key: string): string => joined('select', group, cell, key);
export const selectValuesKey = (group: string, cell: string): string => joined('values', group, cell);
export const countKey = (group: string, cell: string): string => joined('count', group, cell);

/** Kind of read, and of what: `find`, alias, namespace, name. */
export function parseInputKey(key: string): readonly string[] {
  return key.slice(1).split(SEPARATOR);
}

/** An input for people: `find ingresses shop/web`, `get services shop`, `select routing route x`. */
export function describeInput(key: string): string {
  const [kind = '', first = '', ...rest] = parseInputKey(key);
  if (kind !== 'find') return [kind, first, ...rest].join(' ');
  const [namespace = '', name = ''] = rest;
  return `find ${objectLabel(first, namespace, name)}`;
}

/** Query that tells which components with `whenAnyPathExists` are active for an object. */
export const signatureKey = (alias: string, namespace: string, name: string): string =>
  `${SIGNATURE}${alias}${SEPARATOR}${namespace}${SEPARATOR}${name}`;
const SIGNATURE = `?signature${SEPARATOR}`;

export function isSignatureKey(key: string): boolean {
  return key.startsWith(SIGNATURE);
}

export function parseSignatureKey(key: string): {
  readonly alias: string;
  readonly namespace: string;
  readonly name: string;
} {
  const [alias = '', namespace = '', name = ''] = key.slice(SIGNATURE.length).split(SEPARATOR);
  return { alias, namespace, name };
}

/** One component instance: component x source x namespace x name. */
export interface InstanceId {
  readonly component: string;
  readonly source: string;
  readonly namespace: string;
  readonly name: string;
}

export function instanceKey(id: InstanceId): string {
  return `${id.component}${SEPARATOR}${id.source}${SEPARATOR}${id.namespace}${SEPARATOR}${id.name}`;
}

export function parseInstanceKey(key: string): InstanceId {
  const [component = '', source = '', namespace = '', name = ''] = key.split(SEPARATOR);
  return { component, source, namespace, name };
}

/** `ingresses shop/web`, or `ingressclasses haproxy` where there is no namespace. */
export function objectLabel(alias: string, namespace: string, name: string): string {
  return namespace === '' ? `${alias} ${name}` : `${alias} ${namespace}/${name}`;
}

/** Key of an object among all stores. */
export function identityKey(alias: string, namespace: string, name: string): string {
  return `${alias}${SEPARATOR}${namespace}${SEPARATOR}${name}`;
}

export function refKey(ref: { readonly alias: string; readonly namespace: string; readonly name: string }): string {
  return identityKey(ref.alias, ref.namespace, ref.name);
}

/**
 * The inputs that a change can affect: its identity, the list, and every prefix of its old and its new key vectors.
 * Reads that found nothing are inputs too, so a creation reaches those who missed it.
 */
export function inputsOfChange(change: StoreChange, paths: readonly Path[]): readonly string[] {
  const keys = new Set([findKey(change.alias, change.namespace, change.name), listKey(change.alias)]);
  for (const object of [change.before, change.after]) {
    if (object === undefined) continue;
    for (const vector of indexVectors(object, paths)) {
      for (let length = 1; length <= vector.length; length++) keys.add(getKey(change.alias, vector.slice(0, length)));
    }
  }
  return [...keys];
}
