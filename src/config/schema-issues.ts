import type { z } from 'zod';
import { type Diagnostics, type FieldPath, hintFor, MAX_MISTAKES, nearest } from './diagnostics.js';
import { shown } from './schema.js';

type Issue = z.core.$ZodIssue;

/** Turns what zod found into sentences with the nearest valid name. */
export function reportIssues(
  issues: readonly Issue[],
  root: unknown,
  fieldsAt: (path: FieldPath) => readonly string[],
  diagnostics: Diagnostics,
): void {
  const misspelt = new Set(issues.flatMap((issue) => meantFields(issue, fieldsAt)));
  for (const issue of issues) {
    const { path } = issue;
    if (misspelt.has(keyOf(path)) && valueAt(root, path) === undefined) continue;
    switch (issue.code) {
      case 'unrecognized_keys':
        for (const key of issue.keys.slice(0, MAX_MISTAKES))
          diagnostics.addToName([...path, key], `there is no such field${hintFor(key, fieldsAt(path))}`);
        break;
      case 'invalid_key':
        diagnostics.addToName(path, issue.issues[0]?.message ?? issue.message);
        break;
      case 'invalid_value':
        diagnostics.add(path, valueMessage(issue.message, issue.values, valueAt(root, path)));
        break;
      case 'invalid_type':
        diagnostics.add(path, typeMessage(issue, valueAt(root, path)));
        break;
      default:
        diagnostics.add(path, issue.message);
    }
  }
}

/** Fields that a misspelt one stands for: they are not missing as well. */
function meantFields(issue: Issue, fieldsAt: (path: FieldPath) => readonly string[]): string[] {
  if (issue.code !== 'unrecognized_keys') return [];
  const meant = issue.keys.map((key) => nearest(key, fieldsAt(issue.path)));
  return meant.flatMap((name) => (name === undefined ? [] : [keyOf([...issue.path, name])]));
}

function keyOf(path: FieldPath): string {
  return path.map(String).join('\0');
}

function valueMessage(message: string, choices: readonly unknown[], value: unknown): string {
  if (!message.startsWith('Invalid')) return message;
  if (value === undefined) return `is missing; expected one of ${choices.join(', ')}`;
  const hint = typeof value === 'string' ? hintFor(value, choices.map(String)) : '';
  return `${shown(value)} is not one of ${choices.join(', ')}${hint.startsWith('; did') ? hint : ''}`;
}

/** A message of the schema's own stands as it is. */
function typeMessage(issue: Issue & { code: 'invalid_type' }, value: unknown): string {
  if (value === undefined) return `is missing; expected ${TYPES[issue.expected] ?? issue.expected}`;
  if (!issue.message.startsWith('Invalid')) return issue.message;
  return `${shown(value)} is not ${TYPES[issue.expected] ?? issue.expected}`;
}

const TYPES: Readonly<Record<string, string>> = {
  object: 'a mapping',
  record: 'a mapping of names to values',
  array: 'a list',
  string: 'a text',
  int: 'a whole number',
  number: 'a number',
  boolean: 'true or false',
};

/** An own property only: names come from outside. */
export function ownValue(value: unknown, step: PropertyKey): unknown {
  return typeof value === 'object' && value !== null && Object.hasOwn(value, step)
    ? (value as Record<PropertyKey, unknown>)[step]
    : undefined;
}

function valueAt(root: unknown, path: FieldPath): unknown {
  return path.reduce<unknown>(ownValue, root);
}
