import { KINDS } from './family.js';
import type { Chosen, FuzzConfig } from './fuzz-config.js';
import type { FuzzObject } from './world.js';
import {
  isObjectRead,
  type Instance,
  NaiveWorld,
  type NaiveResult,
  type Read,
  runNaively,
  type View,
} from './naive-world.js';

/** What is remembered of an instance's last run. `due`: something it read has changed since. */
export interface Memo {
  readonly instance: Instance;
  readonly reads: readonly Read[];
  readonly result: NaiveResult;
  due: boolean;
}

export type Memos = Map<string, Memo>;

export interface NaiveFailure {
  readonly instance: Instance;
  readonly reads: readonly Read[];
}

export type NaiveRun =
  | { readonly kind: 'done'; readonly world: NaiveWorld }
  | { readonly kind: 'faults'; readonly faults: readonly NaiveFailure[] }
  | { readonly kind: 'stopped' };

export const EMPTY_VIEW: View = new Map();

export function instanceKey(instance: Instance): string {
  return instance.join(' ');
}

/** A group's wave: one more than the latest wave that one of its components consumes from. */
export function waveOf(config: FuzzConfig, group: string): number {
  const producers = config.components.filter(consumes).filter((component) => component.group === group);
  return Math.max(
    0,
    ...producers.map(({ names }) => (exists(config, names.producer) ? waveOf(config, names.producer) : -1) + 1),
  );
}

function consumes({ kind }: Chosen): boolean {
  return KINDS[kind]?.consumes === true;
}

function exists(config: FuzzConfig, group: string): boolean {
  return config.components.some((component) => component.group === group);
}

/**
 * Says which instances a render must run. Results are made anew for every instance every time; the memory only holds what
 * each had read. An instance has to run when it is new, or when something that it read has changed since its last run; a
 * change that a later round of the same render takes back was a change all the same.
 */
export class NaiveSession {
  /** Runs that were begun, failed ones too, and those that ended well. */
  readonly attempts: string[] = [];
  executed: string[] = [];
  readonly memos: Memos;
  /** Called with the world as far as it is settled, whenever publications may have changed for readers. */
  onSettled: (world: NaiveWorld) => void = () => undefined;
  #view: View = EMPTY_VIEW;

  constructor(
    private readonly config: FuzzConfig,
    base: Memos,
    private readonly stopAfter = Infinity,
  ) {
    this.memos = new Map([...base].map(([key, memo]) => [key, copyOf(memo)]));
  }

  /** Objects as they are now. */
  moveTo(view: View): void {
    this.#view = view;
    const world = new NaiveWorld(view);
    for (const [key, { instance }] of this.memos) {
      const [component, alias, namespace, name] = instance;
      const object = world.find(alias, namespace, name);
      const chosen = this.config.components.find((one) => one.name === component);
      if (object === undefined || chosen === undefined || !isActive(chosen, object)) this.memos.delete(key);
    }
    this.#compare(world, isObjectRead);
  }

  run(): NaiveRun {
    const world = new NaiveWorld(this.#view);
    const settled = new Set<string>(['ghost']);
    const groups = [...new Set(this.config.components.map(({ group }) => group))];
    const waves = Math.max(...groups.map((group) => waveOf(this.config, group)));
    for (let wave = 0; wave <= waves; wave++) {
      const members = groups.filter((group) => waveOf(this.config, group) === wave);
      for (const group of members) world.results.set(group, new Map());
      const outcome = this.#runWave(world, new Set(members));
      if (outcome !== undefined) return outcome;
      members.forEach((group) => settled.add(group));
      this.#compare(world, (read) => !isObjectRead(read) && settled.has(read.args[0] as string));
      this.onSettled(world);
    }
    return { kind: 'done', world };
  }

  #runWave(world: NaiveWorld, groups: ReadonlySet<string>): NaiveRun | undefined {
    const faults: NaiveFailure[] = [];
    // Results of a wave are for later waves only.
    const results: (() => void)[] = [];
    for (const component of this.config.components.filter(({ group }) => groups.has(group))) {
      for (const instance of instancesOf(component, world)) {
        if (this.attempts.length >= this.stopAfter && this.#isDue(instance)) return { kind: 'stopped' };
        const { reads, result } = runNaively(world, instance, (env) =>
          KINDS[component.kind]?.run(env, component.names),
        );
        this.#remember(instance, reads, result);
        if (result === undefined) faults.push({ instance, reads });
        else results.push(() => world.results.get(component.group)?.set(instance, result));
      }
    }
    results.forEach((install) => install());
    return faults.length > 0 ? { kind: 'faults', faults } : undefined;
  }

  #isDue(instance: Instance): boolean {
    return this.memos.get(instanceKey(instance))?.due !== false;
  }

  #remember(instance: Instance, reads: readonly Read[], result: NaiveResult | undefined): void {
    const key = instanceKey(instance);
    const memo = this.memos.get(key);
    if (memo?.due === false) {
      if (JSON.stringify(memo.result) === JSON.stringify(result)) return;
      throw new Error(`the answer key contradicts itself: ${key} reads the same and gives something else`);
    }
    this.attempts.push(key);
    if (result === undefined) return;
    this.executed.push(key);
    this.memos.set(key, { instance, reads, result, due: false });
  }

  #compare(world: NaiveWorld, chosen: (read: Read) => boolean): void {
    for (const memo of this.memos.values()) {
      for (const read of memo.reads.filter(chosen)) {
        const now = world.observe(read);
        if (now !== read.seen) memo.due = true;
        read.seen = now;
      }
    }
  }
}

function copyOf(memo: Memo): Memo {
  return { ...memo, reads: memo.reads.map((read) => ({ ...read })) };
}

function instancesOf(component: Chosen, world: NaiveWorld): Instance[] {
  return component.sources.flatMap((alias) =>
    world
      .objects(alias)
      .filter((object) => isActive(component, object))
      .map(({ metadata }): Instance => [component.name, alias, metadata.namespace, metadata.name]),
  );
}

function isActive({ when }: Chosen, { spec }: FuzzObject): boolean {
  return when === undefined || when.some((gate) => (gate === 'tags' ? spec.tags.length > 0 : spec[gate] !== undefined));
}
