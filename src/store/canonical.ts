import { setOwn, sortedKeys } from './json-value.js';
import { ANY, parsePath, type Path } from './json-path.js';

/** A Kubernetes object as the stores hold it: deep-frozen, keys sorted, bookkeeping fields gone (DESIGN 4). */
export interface StoredObject {
  readonly [key: string]: unknown;
}

/** Text that cannot become an object. Its message is one line for a person. */
export class IngestError extends Error {
  override readonly name = 'IngestError';
  readonly code = 'OBJECT_REFUSED';
}

/** Kubernetes' own objects stay below 20 levels; a deeper one only serves to exhaust a stack. */
const MAX_DEPTH = 64;
/** An object has at most 1.5 MiB in etcd, so a million members can't be one. */
const MAX_MEMBERS = 1_000_000;

const ALWAYS_DROPPED = ['$.metadata.managedFields', '$.metadata.resourceVersion'];

/** What to leave out of every object: a tree of field names, `true` where a field goes. */
type Dropped = ReadonlyMap<string, Dropped | true>;

/** Compiles the paths (names only) that are dropped besides managedFields and resourceVersion. */
export function compileDropped(ignoreFields: readonly string[]): Dropped {
  const root = new Map<string, Dropped | true>();
  for (const path of [...ALWAYS_DROPPED, ...ignoreFields].map(parsePath)) addDropped(root, path);
  return root;
}

function addDropped(root: Map<string, Dropped | true>, path: Path): void {
  let level = root;
  path.forEach((step, index) => {
    if (step === ANY) throw new IngestError('ignoreFields takes names only, not [*]');
    const held = level.get(step);
    if (held === true) return;
    if (index === path.length - 1) level.set(step, true);
    else level.set(step, (level = new Map(held) as Map<string, Dropped | true>));
  });
}

/**
 * Parses one object and brings it into the form in which equal content means equal text.
 * Throws IngestError when the text is no JSON object, nests deeper than 64 levels or has a name no key can hold.
 */
export function ingest(text: string, dropped: Dropped): StoredObject {
  refuseDeepNesting(text);
  let value: unknown;
  try {
    value = JSON.parse(text);
  } catch (error) {
    throw new IngestError(`is not JSON: ${error instanceof Error ? error.message : String(error)}`);
  }
  if (typeof value !== 'object' || value === null || Array.isArray(value))
    throw new IngestError('is not a JSON object');
  return canonicalCopy(value, dropped, { left: MAX_MEMBERS }) as StoredObject;
}

/** Counts brackets outside strings, so that a hostile text is refused before anything recursive sees it. */
export function refuseDeepNesting(text: string): void {
  let depth = 0;
  let inString = false;
  for (let i = 0; i < text.length; i++) {
    const code = text.charCodeAt(i);
    if (inString) {
      if (code === 92) i++;
      else if (code === 34) inString = false;
    } else if (code === 34) inString = true;
    else if (code === 123 || code === 91) {
      if (++depth > MAX_DEPTH) throw new IngestError(`nests deeper than ${MAX_DEPTH} levels`);
    } else if (code === 125 || code === 93) depth--;
  }
}

function canonicalCopy(value: unknown, dropped: Dropped | undefined, budget: { left: number }): unknown {
  if (typeof value !== 'object' || value === null) return value;
  if (--budget.left < 0) throw new IngestError(`has more than ${MAX_MEMBERS} members`);
  if (Array.isArray(value)) return Object.freeze(value.map((entry) => canonicalCopy(entry, undefined, budget)));
  const copy: Record<string, unknown> = {};
  for (const key of sortedKeys(value)) {
    const below = dropped?.get(key);
    if (below === true) continue;
    setOwn(copy, key, canonicalCopy((value as Record<string, unknown>)[key], below, budget));
  }
  return Object.freeze(copy);
}

/** `namespace` and `name` of an object; '' where the object has none. */
export function identityOf(object: StoredObject): { readonly namespace: string; readonly name: string } {
  const metadata = object['metadata'];
  const own = typeof metadata === 'object' && metadata !== null ? (metadata as Record<string, unknown>) : {};
  return { namespace: textOf(own, 'namespace'), name: textOf(own, 'name') };
}

function textOf(owner: Record<string, unknown>, key: string): string {
  const value = Object.hasOwn(owner, key) ? owner[key] : undefined;
  return typeof value === 'string' ? value : '';
}
