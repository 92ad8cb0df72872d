import { z } from 'zod';
import type { FieldPath } from './diagnostics.js';
import { documentSchema } from './schema.js';

/** Names of the fields that the schema knows at a path, for "did you mean". */
export function fieldsOfSchema(path: FieldPath): readonly string[] {
  let schema: unknown = documentSchema;
  for (const step of path) schema = stepInto(inner(schema), step);
  const found = inner(schema);
  return found instanceof z.ZodObject ? Object.keys(found.shape) : [];
}

function stepInto(schema: unknown, step: PropertyKey): unknown {
  if (schema instanceof z.ZodObject) return (schema.shape as Record<PropertyKey, unknown>)[step];
  if (schema instanceof z.ZodRecord) return schema.valueType;
  if (schema instanceof z.ZodArray) return schema.element;
  return undefined;
}

/** What stands below a default, an "optional" or a step before it. */
function inner(schema: unknown): unknown {
  if (schema instanceof z.ZodOptional || schema instanceof z.ZodDefault || schema instanceof z.ZodPrefault) {
    return inner(schema.unwrap());
  }
  if (schema instanceof z.ZodPipe) return inner(schema.out);
  return schema;
}
