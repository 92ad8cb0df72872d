import type { InstanceResult } from '../../src/render/instance-result.js';
import type { ObjectEvent } from '../../src/render/protocol.js';
import type { NaiveFile } from './naive-files.js';
import { difference, printable } from './same-state.js';

/** The engine and the answer key did not agree. */
export class Difference extends Error {}

/** Compares what the engine says with what the answer key says. Throws Difference. */
export class Comparison {
  readonly #textOfDigest = new Map<string, string>();

  same(what: string, got: unknown, expected: unknown): void {
    if (got === expected) return;
    throw new Difference(`${what}:\n  got      ${printable(String(got))}\n  expected ${printable(String(expected))}`);
  }

  runs(got: readonly string[], expected: readonly string[]): void {
    this.same('runs of instances', [...got].sort().join('\n'), [...expected].sort().join('\n'));
  }

  /** Names, order and texts; and no digest may ever stand for two contents. */
  files(got: readonly NaiveFile[], expected: readonly NaiveFile[], digest: string | undefined): void {
    const byName = (files: readonly NaiveFile[]): Map<string, string> =>
      new Map(files.map(({ name, text }) => [name, text]));
    const different = difference('outputs', byName(got), byName(expected));
    if (different !== undefined) throw new Difference(different);
    this.same('order of files', got.map(({ name }) => name).join(), expected.map(({ name }) => name).join());
    if (digest === undefined) return;
    const text = fileText(expected);
    this.same('files of one digest', this.#textOfDigest.get(digest) ?? text, text);
    this.#textOfDigest.set(digest, text);
  }
}

export function eventText({ alias, namespace, name, type, reason, message }: ObjectEvent): string {
  return `${alias} ${namespace} ${name} ${type} ${reason} ${message}`;
}

export function resultText(result: InstanceResult | undefined): string {
  return JSON.stringify(result && [result.text, partsOf(result.uniques), partsOf(result.publications), result.events]);
}

function partsOf(contributions: InstanceResult['uniques']): string[][] {
  return contributions.map(({ cell, key, rank, text }) => [cell, key, rank, text]);
}

export function fileText(files: readonly NaiveFile[] | undefined): string {
  return (files ?? []).map(({ name, text }) => `== ${name}\n${text}`).join('');
}
