import type { ComponentSpec, OutputKind, OutputSpec, RenderConfig } from '../config/render-config.js';
import { parsePath, type Path } from '../store/json-path.js';

export interface PlannedGroup {
  readonly name: string;
  readonly kind: OutputKind;
  /** Groups are evaluated wave by wave, producers before consumers. */
  readonly wave: number;
}

/** A component with `whenAnyPathExists`. */
export interface GatedComponent {
  readonly name: string;
  readonly paths: readonly Path[];
}

/** What a configuration fixes for every render: which component runs for which source, in which wave. */
export interface RenderPlan {
  readonly config: RenderConfig;
  readonly components: ReadonlyMap<string, ComponentSpec>;
  readonly bySource: ReadonlyMap<string, readonly ComponentSpec[]>;
  /** By alias: components that run for every object of it. */
  readonly always: ReadonlyMap<string, readonly ComponentSpec[]>;
  /** By alias: components that run for those of its objects that have one of their paths. */
  readonly gated: ReadonlyMap<string, readonly GatedComponent[]>;
  readonly groups: ReadonlyMap<string, PlannedGroup>;
  readonly waves: number;
  /** Directory outputs by group and cell: each winner of that cell is a file. */
  readonly directories: ReadonlyMap<string, ReadonlyMap<string, OutputSpec>>;
}

/** The configuration has been checked: groups exist and do not consume each other in a circle. */
export function planRender(config: RenderConfig): RenderPlan {
  const waves = waveNumbers(config.components);
  const groups = new Map<string, PlannedGroup>();
  for (const { group, kind } of config.components)
    groups.set(group, { name: group, kind, wave: waves.get(group) ?? 0 });
  return {
    config,
    components: new Map(config.components.map((component) => [component.name, component])),
    bySource: componentsBySource(config.components),
    always: componentsBySource(config.components.filter(({ whenAnyPathExists }) => whenAnyPathExists === undefined)),
    gated: gatedBySource(config.components),
    groups,
    waves: Math.max(0, ...waves.values()) + 1,
    directories: directoriesOf(config.outputs),
  };
}

export function waveOf(plan: RenderPlan, component: string): number {
  const group = plan.components.get(component)?.group;
  return group === undefined ? 0 : (plan.groups.get(group)?.wave ?? 0);
}

function componentsBySource(components: readonly ComponentSpec[]): Map<string, ComponentSpec[]> {
  const bySource = new Map<string, ComponentSpec[]>();
  for (const component of components) {
    for (const source of component.sources) bySource.set(source, [...(bySource.get(source) ?? []), component]);
  }
  return bySource;
}

function gatedBySource(components: readonly ComponentSpec[]): Map<string, GatedComponent[]> {
  const gated = components.filter(({ whenAnyPathExists }) => whenAnyPathExists !== undefined);
  const parsed = ({ name, whenAnyPathExists }: ComponentSpec): GatedComponent => ({
    name,
    paths: (whenAnyPathExists ?? []).map(parsePath),
  });
  return new Map([...componentsBySource(gated)].map(([source, list]) => [source, list.map(parsed)]));
}

function directoriesOf(outputs: readonly OutputSpec[]): RenderPlan['directories'] {
  const directories = new Map<string, Map<string, OutputSpec>>();
  for (const output of outputs) {
    if (output.content.from !== 'cell') continue;
    const { group, cell } = output.content;
    directories.set(group, new Map([...(directories.get(group) ?? []), [cell, output]]));
  }
  return directories;
}

/** A group's wave is one more than the latest wave it consumes from. */
function waveNumbers(components: readonly ComponentSpec[]): Map<string, number> {
  const waves = new Map(components.map((component) => [component.group, 0]));
  for (let moved = true, round = 0; moved; round++) {
    if (round > waves.size) throw new Error('groups consume each other in a circle');
    moved = false;
    for (const { group, consumes, optionalConsumes } of components) {
      for (const producer of [...consumes, ...optionalConsumes]) {
        const needed = (waves.get(producer) ?? -1) + 1;
        if (needed <= (waves.get(group) ?? 0)) continue;
        waves.set(group, needed);
        moved = true;
      }
    }
  }
  return waves;
}
