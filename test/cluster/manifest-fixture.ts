import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { setTimeout } from 'node:timers/promises';
import { pino } from 'pino';
import {
  loadManifests,
  watchManifests,
  type Accepts,
  type ManifestWatch,
  type ObjectChange,
} from '../../src/cluster/manifest-directory.js';
import type { WatchTimes } from '../../src/cluster/manifest-watcher.js';

/** Services and ConfigMaps are wanted, and IngressClasses, which have no namespace. */
export const accepts: Accepts = (apiVersion, kind) => {
  if (apiVersion === 'v1' && kind === 'Service') return { alias: 'services', namespaced: true };
  if (apiVersion === 'v1' && kind === 'ConfigMap') return { alias: 'configmaps', namespaced: true };
  return kind === 'IngressClass' ? { alias: 'classes', namespaced: false } : undefined;
};

/** One Service as a YAML document. */
export function service(name: string, value: string | number = 0, namespace = 'shop'): string {
  return `---\napiVersion: v1\nkind: Service\nmetadata:\n  name: ${name}\n  namespace: ${namespace}\nspec:\n  value: ${value}\n`;
}

export type LogLine = Readonly<Record<string, unknown>>;

/** Objects by identity, as a receiver of changes would hold them. */
export type Objects = ReadonlyMap<string, string>;

export function apply(objects: Map<string, string>, changes: readonly ObjectChange[]): void {
  for (const change of changes) {
    const key = `${change.alias} ${change.namespace}/${change.name}`;
    if (change.op === 'upsert') objects.set(key, change.text);
    else objects.delete(key);
  }
}

export function freshLoad(path: string): Objects {
  const objects = new Map<string, string>();
  apply(objects, loadManifests(path, accepts).changes);
  return objects;
}

/** Waits for a condition that the system under test brings about; says what was there instead when it never comes. */
export async function eventually<T>(read: () => T, holds: (value: T) => boolean, forMs = 10_000): Promise<T> {
  const end = performance.now() + forMs;
  for (;;) {
    const value = read();
    if (holds(value)) return value;
    if (performance.now() > end) throw new Error(`Waited in vain; last seen: ${show(value)}`);
    await setTimeout(5);
  }
}

function show(value: unknown): string {
  return JSON.stringify(value instanceof Map ? [...value] : value);
}

/** A directory of manifests in the temporary folder. */
export class ManifestFolder {
  readonly base = mkdtempSync(join(tmpdir(), 'manifests-'));
  readonly root = join(this.base, 'cluster');

  constructor() {
    mkdirSync(this.root);
  }

  path(name: string): string {
    return join(this.root, name);
  }

  write(name: string, text: string): void {
    mkdirSync(dirname(this.path(name)), { recursive: true });
    writeFileSync(this.path(name), text);
  }

  remove(): void {
    rmSync(this.base, { recursive: true, force: true });
  }
}

/** A watch with everything it told. */
export class WatchedFolder extends ManifestFolder {
  readonly batches: (readonly ObjectChange[])[] = [];
  readonly objects = new Map<string, string>();
  readonly log: LogLine[] = [];
  /** Batches told before `onReady`. */
  batchesBeforeReady = -1;
  #watch: ManifestWatch | undefined;

  async start(times: Partial<WatchTimes> = {}): Promise<this> {
    this.#watch = await watchManifests(this.root, {
      ...times,
      accepts,
      log: pino({ level: 'debug' }, { write: (line: string) => this.log.push(JSON.parse(line) as LogLine) }),
      onChanges: (batch) => {
        this.batches.push(batch);
        apply(this.objects, batch);
      },
      onReady: () => {
        this.batchesBeforeReady = this.batches.length;
      },
    });
    return this;
  }

  /** Each change told since the first batch, as `+ services shop/web` or `- ...`. */
  told(): string[] {
    return this.batches
      .slice(this.batchesBeforeReady)
      .flat()
      .map(({ op, alias, namespace, name }) => `${op === 'upsert' ? '+' : '-'} ${alias} ${namespace}/${name}`);
  }

  warnings(): string[] {
    return this.log.filter(({ level }) => level === 40).map(({ msg }) => String(msg));
  }

  async equalsDisk(): Promise<void> {
    await eventually(
      () => [sorted(this.objects), sorted(freshLoad(this.root))],
      ([held, onDisk]) => held === onDisk,
    );
  }

  async stop(): Promise<void> {
    await this.#watch?.close();
    this.remove();
  }
}

function sorted(objects: Objects): string {
  return JSON.stringify([...objects].sort());
}
