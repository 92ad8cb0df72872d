import { compileDropped, ingest, type StoredObject } from '../../src/store/canonical.js';

const DROPPED = compileDropped(['$.status']);

/** An object as the stores take it in. */
export function stored(namespace: string, name: string, content: Readonly<Record<string, unknown>> = {}): StoredObject {
  return ingest(JSON.stringify({ ...content, metadata: { namespace, name } }), DROPPED);
}

export function fromText(text: string): StoredObject {
  return ingest(text, DROPPED);
}

/** `namespace/name` of each, in order. */
export function names(objects: readonly StoredObject[]): readonly string[] {
  return objects.map(({ metadata }) => {
    const { namespace, name } = metadata as { namespace: string; name: string };
    return `${namespace}/${name}`;
  });
}

export function isDeepFrozen(value: unknown): boolean {
  if (typeof value !== 'object' || value === null) return true;
  return Object.isFrozen(value) && Object.values(value).every(isDeepFrozen);
}
