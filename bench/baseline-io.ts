import type { StoredObject } from '../src/store/canonical.js';
import type { SafeText } from '../src/template/safe-text.js';
import type { TemplateIo } from '../src/template/template-io.js';
import type { PlainStore } from './baseline.js';

export interface Published {
  readonly rank: string;
  readonly value: unknown;
}

/** What the components of one group have written. */
export interface Cells {
  text: string;
  /** cell -> key -> line of the first owner. */
  readonly uniques: Map<string, Map<string, string>>;
  /** cell -> key -> winner so far: instances run in canonical order, so the first one stays unless a rank beats it. */
  readonly publications: Map<string, Map<string, Published>>;
}

const NONE: readonly StoredObject[] = Object.freeze([]);

/** Reads and effects without any bookkeeping: plain Maps, values as they are given. */
export class BaselineIo implements TemplateIo {
  constructor(
    private readonly stores: ReadonlyMap<string, PlainStore>,
    private readonly groups: ReadonlyMap<string, Cells>,
    private readonly own: Cells | undefined,
    private readonly onMount?: (group: string) => SafeText,
  ) {}

  list(alias: string): readonly unknown[] {
    return this.stores.get(alias)?.list ?? NONE;
  }

  get(alias: string, prefix: readonly string[]): readonly unknown[] {
    return prefix.length === 0 ? this.list(alias) : (this.stores.get(alias)?.byPrefix.get(prefix.join('\0')) ?? NONE);
  }

  find(alias: string, namespace: string, name: string): unknown {
    return this.stores.get(alias)?.byIdentity.get(`${namespace}\0${name}`);
  }

  publish(cell: string, key: string, value: unknown, rank = ''): void {
    const keys = cellOf(this.own?.publications, cell);
    const winner = keys.get(key);
    if (winner === undefined || beats(rank, winner.rank)) keys.set(key, { rank, value });
  }

  unique(cell: string, key: string, text: string): void {
    const keys = cellOf(this.own?.uniques, cell);
    if (!keys.has(key)) keys.set(key, text.endsWith('\n') || text === '' ? text : `${text}\n`);
  }

  select(group: string, cell: string, key: string): unknown {
    return this.groups.get(group)?.publications.get(cell)?.get(key)?.value;
  }

  selectValues(group: string, cell: string): readonly unknown[] {
    const keys = this.groups.get(group)?.publications.get(cell) ?? new Map<string, Published>();
    return [...keys].sort(([a], [b]) => (a < b ? -1 : 1)).map(([, winner]) => winner.value);
  }

  count(group: string, cell: string): number {
    return this.groups.get(group)?.publications.get(cell)?.size ?? 0;
  }

  event(): void {
    // Only the engine tells events on.
  }

  mount(group: string): SafeText {
    if (this.onMount === undefined) throw new Error('only outputs mount groups');
    return this.onMount(group);
  }
}

/** The smallest non-empty rank wins. */
function beats(rank: string, held: string): boolean {
  return rank !== '' && (held === '' || rank < held);
}

function cellOf<T>(cells: Map<string, Map<string, T>> | undefined, cell: string): Map<string, T> {
  if (cells === undefined) throw new Error('outputs publish nothing');
  const held = cells.get(cell);
  if (held !== undefined) return held;
  const made = new Map<string, T>();
  cells.set(cell, made);
  return made;
}
