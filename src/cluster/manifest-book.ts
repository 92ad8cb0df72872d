import { fingerprint, readManifestFile, type FileReading } from './manifest-files.js';
import type { Accepts, Settlement } from './manifest-set.js';
import { ManifestSet } from './manifest-set.js';
import { parseManifests, type ManifestProblem, type ManifestResult } from './manifest.js';

/** News of a file as a whole, told once for each state. */
export type FileNews =
  | {
      readonly kind: 'broken';
      readonly file: string;
      /** At least one. */
      readonly problems: readonly ManifestProblem[];
      /** Objects of its last good state, which stay; 0 when it never had one. */
      readonly kept: number;
    }
  | { readonly kind: 'repaired'; readonly file: string; readonly objects: number };

/**
 * The manifest files of one directory: reads them one by one and keeps, for each, the last good state. A file counts
 * whole or not at all: half of a half-written one would look like removals.
 */
export class ManifestBook {
  readonly #set: ManifestSet;
  readonly #fingerprints = new Map<string, string>();
  /** Files that do not parse now, with what was told of them. */
  readonly #broken = new Map<string, string>();

  constructor(
    private readonly root: string,
    accepts: Accepts,
    private readonly tell: (news: FileNews) => void,
  ) {
    this.#set = new ManifestSet(accepts);
  }

  /** Paths of all files that were there when they were last read. */
  paths(): readonly string[] {
    return [...this.#fingerprints.keys()];
  }

  /** Read before, and there at that time. */
  knows(path: string): boolean {
    return this.#fingerprints.has(path);
  }

  /** Something happened to the file since it was read, by its inode, size and times. */
  isStale(path: string): boolean {
    return this.#fingerprints.get(path) !== fingerprint(this.root, path);
  }

  /** Takes over what stands under the path now. */
  read(path: string): void {
    // Before the reading: what changes after it makes the file stale, what changes before is read.
    const print = fingerprint(this.root, path);
    this.take(path, readManifestFile(this.root, path));
    if (this.knows(path)) this.#fingerprints.set(path, print);
  }

  /** Takes over a reading done elsewhere. */
  take(path: string, reading: FileReading): void {
    if (reading.kind === 'gone') return this.#forget(path);
    if (!this.knows(path)) this.#fingerprints.set(path, '');
    const { objects, problems } = reading.kind === 'text' ? this.#parse(path, reading.text) : refused(reading.message);
    if (problems.length > 0) return this.#keep(path, problems);
    this.#set.put(path, objects);
    if (this.#broken.delete(path)) this.tell({ kind: 'repaired', file: path, objects: this.#set.size(path) });
  }

  /** What all that was read since the last settlement comes to. */
  settle(): Settlement {
    return this.#set.settle();
  }

  #parse(path: string, text: string): ManifestResult {
    // `some-command > shop.yaml` empties the file long before it writes it.
    if (this.#set.size(path) > 0 && text.trim() === '') return refused('is empty: taken as half-written');
    return parseManifests(text, path);
  }

  #keep(path: string, problems: readonly ManifestProblem[]): void {
    const told = JSON.stringify(problems);
    if (this.#broken.get(path) === told) return;
    this.#broken.set(path, told);
    this.tell({ kind: 'broken', file: path, problems, kept: this.#set.size(path) });
  }

  #forget(path: string): void {
    this.#fingerprints.delete(path);
    this.#broken.delete(path);
    this.#set.drop(path);
  }
}

function refused(message: string): ManifestResult {
  return { objects: [], problems: [{ message }] };
}
