import type { ComponentSpec, RenderConfig } from './render-config.js';

/** Something that a missing resource takes out of service. */
export interface LeftOut {
  readonly what: 'resource' | 'snippet' | 'component';
  readonly name: string;
  /** One line, for the log: `requires gateways`. */
  readonly because: string;
}

export interface StrippedConfig {
  readonly config: RenderConfig;
  readonly leftOut: readonly LeftOut[];
}

/**
 * The configuration as it works without the optional resources that the cluster does not have (decision 0023: `requires`
 * strips what an unavailable optional resource is needed for). Snippets that require one go; a source that is missing
 * goes; a component that requires one, has no source left, or consumes a group that nobody writes any more gets no
 * sources: its group still exists and is empty, so outputs mount it as before. `optionalConsumes` reads nothing then.
 *
 * Missing resources that are not optional stay: that they are missing is the caller's error.
 */
export function stripUnavailable(config: RenderConfig, missingAliases: ReadonlySet<string>): StrippedConfig {
  const gone = new Set(
    config.watchedResources
      .filter(({ alias, optional }) => optional && missingAliases.has(alias))
      .map(({ alias }) => alias),
  );
  if (gone.size === 0) return { config, leftOut: [] };
  const leftOut: LeftOut[] = [...gone].map((name) => ({
    what: 'resource',
    name,
    because: 'the cluster does not have it',
  }));
  const snippets = config.snippets.filter(({ name, requires }) => {
    const alias = requires.find((one) => gone.has(one));
    if (alias !== undefined) leftOut.push({ what: 'snippet', name, because: `requires ${alias}` });
    return alias === undefined;
  });
  const watchedResources = config.watchedResources.filter(({ alias }) => !gone.has(alias));
  const components = stripComponents(config.components, gone, leftOut);
  return { config: { ...config, watchedResources, snippets, components }, leftOut };
}

function stripComponents(
  all: readonly ComponentSpec[],
  gone: ReadonlySet<string>,
  leftOut: LeftOut[],
): readonly ComponentSpec[] {
  let components = all.map((component) => ({
    ...component,
    sources: component.sources.filter((one) => !gone.has(one)),
  }));
  const known = new Set<string>();
  for (let before = -1; before !== known.size;) {
    before = known.size;
    const written = new Set(components.filter(({ name }) => !known.has(name)).map(({ group }) => group));
    components = components.map((component) => {
      const because = known.has(component.name) ? undefined : reasonToLeave(component, gone, written);
      if (because === undefined) return component;
      known.add(component.name);
      leftOut.push({ what: 'component', name: component.name, because });
      return { ...component, sources: [] };
    });
  }
  return components;
}

function reasonToLeave(
  { sources, requires, consumes }: ComponentSpec,
  gone: ReadonlySet<string>,
  written: ReadonlySet<string>,
): string | undefined {
  const alias = requires.find((one) => gone.has(one));
  if (alias !== undefined) return `requires ${alias}`;
  if (sources.length === 0) return 'has no source left';
  const group = consumes.find((one) => !written.has(one));
  return group === undefined ? undefined : `consumes ${group}, which nobody writes any more`;
}
