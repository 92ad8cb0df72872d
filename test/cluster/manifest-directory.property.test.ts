import { describe, expect, it } from '@jest/globals';
import fc from 'fast-check';
import { existsSync, renameSync, rmSync, writeFileSync } from 'node:fs';
import { dirname } from 'node:path';
import { setTimeout } from 'node:timers/promises';
import { ManifestSet } from '../../src/cluster/manifest-set.js';
import { parseManifests } from '../../src/cluster/manifest.js';
import { accepts, apply, service, WatchedFolder } from './manifest-fixture.js';

/** Few files, names and values: the same object in two files and equal texts are the point. */
const FILES = ['a.yaml', 'd/a.yml', 'd/e/b.yaml', 'x/a.json', 'z.yaml'];
const DIRECTORIES = ['d', 'd/e', 'x'];

const file = fc.constantFrom(...FILES);
const content = fc
  .array(fc.record({ name: fc.integer({ min: 0, max: 3 }), value: fc.integer({ min: 0, max: 2 }) }), { maxLength: 3 })
  .map((objects) => `# made up\n${objects.map(({ name, value }) => service(`s${name}`, value)).join('')}`);

type Operation = (folder: WatchedFolder) => void | Promise<void>;

const operation: fc.Arbitrary<{ readonly what: string; readonly run: Operation }> = fc.oneof(
  fc.tuple(file, content).map(([name, text]) => named(`write ${name}`, (folder) => folder.write(name, text))),
  fc.tuple(file, content).map(([name, text]) =>
    named(`replace ${name}`, (folder) => {
      folder.write(`${name}.tmp`, text);
      renameSync(folder.path(`${name}.tmp`), folder.path(name));
    }),
  ),
  file.map((name) => named(`half-write ${name}`, (folder) => folder.write(name, `${service('s0', 'half')}spec: [`))),
  file.map((name) => named(`empty ${name}`, (folder) => folder.write(name, ''))),
  file.map((name) => named(`delete ${name}`, (folder) => rmSync(folder.path(name), { recursive: true, force: true }))),
  fc.tuple(file, file).map(([from, to]) => named(`move ${from} to ${to}`, (folder) => move(folder, from, to))),
  fc
    .constantFrom(...DIRECTORIES)
    .map((name) => named(`delete ${name}/`, (folder) => rmSync(folder.path(name), { recursive: true, force: true }))),
  fc
    .tuple(fc.constantFrom(...DIRECTORIES), fc.constantFrom('x', 'y', 'd'))
    .map(([from, to]) => named(`move ${from}/ to ${to}/`, (folder) => move(folder, from, to))),
  fc.integer({ min: 0, max: 12 }).map((ms) => named(`let ${ms} ms pass`, () => setTimeout(ms))),
);

function named(what: string, run: Operation): { readonly what: string; readonly run: Operation } {
  return { what, run };
}

/** As far as it is possible: moving a directory onto a full one, or into itself, is not. */
function move(folder: WatchedFolder, from: string, to: string): void {
  if (!existsSync(folder.path(from)) || !existsSync(dirname(folder.path(to))) || to.startsWith(from)) return;
  rmSync(folder.path(to), { recursive: true, force: true });
  if (existsSync(folder.path(from))) renameSync(folder.path(from), folder.path(to));
}

/** A file left half-written has no fresh state to compare with. */
function repair(folder: WatchedFolder): void {
  for (const name of [
    ...FILES,
    'y/a.yml',
    'y/a.json',
    'y/e/b.yaml',
    'y/b.yaml',
    'x/a.yml',
    'x/e/b.yaml',
    'x/b.yaml',
    'd/b.yaml',
    'd/a.json',
  ]) {
    if (existsSync(folder.path(name))) writeFileSync(folder.path(name), `# repaired\n${service('s3', 'well')}`);
  }
}

describe('the changes that a watch tells', () => {
  it('add up to a fresh load of the directory, whatever happened to its files', async () => {
    const history = fc.array(operation, { minLength: 1, maxLength: 15 });
    await fc.assert(
      fc.asyncProperty(fc.array(fc.tuple(file, content), { maxLength: 3 }), history, async (initial, operations) => {
        const folder = new WatchedFolder();
        try {
          for (const [name, text] of initial) folder.write(name, text);
          // No looking again: events alone have to do.
          await folder.start({ debounceMs: 3, goneMs: 15, rescanMs: 1_000_000 });
          for (const { run } of operations) await run(folder);
          repair(folder);
          await folder.equalsDisk();
        } finally {
          await folder.stop();
        }
      }),
      { numRuns: Number(process.env['RUNS'] ?? 60) },
    );
  });
});

describe('a set of files', () => {
  it('tells exactly the differences, with the first file in path order holding', () => {
    const step = fc.tuple(file, fc.option(content, { nil: undefined }));
    fc.assert(
      fc.property(fc.array(fc.array(step, { maxLength: 4 }), { maxLength: 8 }), (batches) => {
        const set = new ManifestSet(accepts);
        const files = new Map<string, string>();
        const told = new Map<string, string>();
        for (const batch of batches) {
          for (const [name, text] of batch) {
            if (text === undefined) set.drop(name);
            else set.put(name, parseManifests(text, name).objects);
            if (text === undefined) files.delete(name);
            else files.set(name, text);
          }
          const before = new Map(told);
          const { changes } = set.settle();
          apply(told, changes);
          expect(new Map([...told].sort())).toEqual(expected(files));
          expect(changes).toHaveLength(differences(before, told));
        }
      }),
      { numRuns: 300 },
    );
  });
});

/** The obvious way: files backwards, so that the first one, and in it the first object, is written last. */
function expected(files: ReadonlyMap<string, string>): Map<string, string> {
  const objects = new Map<string, string>();
  for (const [name, text] of [...files].sort().reverse()) {
    for (const { namespace, name: object, text: json } of parseManifests(text, name).objects.toReversed()) {
      objects.set(`services ${namespace}/${object}`, json);
    }
  }
  return new Map([...objects].sort());
}

function differences(before: ReadonlyMap<string, string>, after: ReadonlyMap<string, string>): number {
  return [...new Set([...before.keys(), ...after.keys()])].filter((key) => before.get(key) !== after.get(key)).length;
}
