import type { Diagnostics } from './diagnostics.js';
import { API_VERSION, type ConfigDocument, documentSchema, KIND } from './schema.js';
import { fieldsOfSchema } from './schema-fields.js';
import { ownValue, reportIssues } from './schema-issues.js';

/** For the fields beside the spec, which can't be cut out. */
const STAND_IN = { apiVersion: API_VERSION, kind: KIND, metadata: { name: 'unknown' } };

/** Each round takes away at least one level of what can't stay; the document has fewer. */
const MAX_ROUNDS = 10;

/**
 * Parses the document and reports every mistake of its shape. What is wrong is then cut out until the rest has the right
 * shape, so that mistakes of another kind can be found in the same go; undefined when nothing useful is left.
 */
export function parseRepairing(root: unknown, diagnostics: Diagnostics): ConfigDocument | undefined {
  let rest = root;
  for (let round = 0; round < MAX_ROUNDS; round++) {
    const { success, data, error } = documentSchema.safeParse(rest);
    if (success) return data;
    if (round === 0) {
      reportIssues(error.issues, root, fieldsOfSchema, diagnostics);
      rest = { ...STAND_IN, spec: structuredClone(ownValue(root, 'spec')) };
      continue;
    }
    for (const issue of error.issues) {
      const keys = issue.code === 'unrecognized_keys' ? issue.keys : [];
      if (keys.length === 0 && !cut(rest, issue.path)) return undefined;
      for (const key of keys) cut(rest, [...issue.path, key]);
    }
  }
  return undefined;
}

/** Removes the value at the path; where it is missing already, what was to hold it. False when that is the document itself. */
function cut(root: unknown, path: readonly PropertyKey[]): boolean {
  const last = path.at(-1);
  if (last === undefined) return false;
  const owner = path.slice(0, -1).reduce<unknown>((value, step) => ownValue(value, step), root);
  if (ownValue(owner, last) === undefined) return cut(root, path.slice(0, -1));
  // A hole in a list would be the next mistake.
  if (Array.isArray(owner)) owner.splice(Number(last), 1);
  else delete (owner as Record<PropertyKey, unknown>)[last];
  return true;
}
