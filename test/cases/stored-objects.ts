import { mkdirSync, renameSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';

import { fields } from './answer.js';
import type { KubernetesObject } from './case-schema.js';
import { groupVersion } from './review-request.js';

/** Up to this many objects get a file each; more go into files of many, which are much faster to read. */
const SINGLE_FILES = 60;
const OBJECTS_A_FILE = 250;

interface ManifestFile {
  readonly path: string;
  readonly objects: Map<string, KubernetesObject>;
}

/** The objects of a case as manifest files in a resources directory; files change by one atomic rename each. */
export class StoredObjects {
  private readonly files = new Map<string, ManifestFile>();
  private nextFile = 0;

  constructor(
    private readonly directory: string,
    /** Files are written here first: on the same disk, and watched by nobody. */
    private readonly workshop: string,
    given: readonly KubernetesObject[],
  ) {
    mkdirSync(directory, { recursive: true });
    mkdirSync(workshop, { recursive: true });
    const size = given.length <= SINGLE_FILES ? 1 : OBJECTS_A_FILE;
    for (let at = 0; at < given.length; at += size) this.addFile(given.slice(at, at + size));
  }

  find(apiVersion: string, kind: string, namespace: string, name: string): KubernetesObject | undefined {
    const key = keyOf(apiVersion, kind, namespace, name);
    return this.files.get(key)?.objects.get(key);
  }

  /** Every stored object, for whoever has to know what must not leak. */
  all(): KubernetesObject[] {
    const objects = [...this.files].map(([key, file]) => file.objects.get(key));
    return objects.filter((object) => object !== undefined);
  }

  /** False when exactly this is stored already, so that nothing changed. */
  put(object: KubernetesObject): boolean {
    const key = identityOf(object);
    const file = this.files.get(key);
    if (file === undefined) {
      this.addFile([object]);
      return true;
    }
    if (JSON.stringify(file.objects.get(key)) === JSON.stringify(object)) return false;
    file.objects.set(key, object);
    this.write(file);
    return true;
  }

  remove(object: KubernetesObject): boolean {
    const key = identityOf(object);
    const file = this.files.get(key);
    if (file === undefined) return false;
    this.files.delete(key);
    file.objects.delete(key);
    this.write(file);
    return true;
  }

  private addFile(objects: readonly KubernetesObject[]): void {
    const name = `${String(this.nextFile).padStart(4, '0')}.${objects.length === 1 ? 'json' : 'yaml'}`;
    this.nextFile += 1;
    const file = {
      path: join(this.directory, name),
      objects: new Map(objects.map((object) => [identityOf(object), object])),
    };
    for (const key of file.objects.keys()) this.files.set(key, file);
    this.write(file);
  }

  private write({ path, objects }: ManifestFile): void {
    if (objects.size === 0) return rmSync(path, { force: true });
    const draft = join(this.workshop, 'draft');
    writeFileSync(draft, [...objects.values()].map((object) => JSON.stringify(object)).join('\n---\n'));
    renameSync(draft, path);
  }
}

function identityOf(object: KubernetesObject): string {
  const metadata = fields(object['metadata']);
  const text = (value: unknown): string => (typeof value === 'string' ? value : '');
  return keyOf(text(object['apiVersion']), text(object['kind']), text(metadata['namespace']), text(metadata['name']));
}

function keyOf(apiVersion: string, kind: string, namespace: string, name: string): string {
  return JSON.stringify([groupVersion(apiVersion).group, kind, namespace, name]);
}
