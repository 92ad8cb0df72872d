import { describe, expect, it } from '@jest/globals';
import fc from 'fast-check';

import type { ComponentSpec, RenderConfig, SnippetSpec } from '../../src/config/render-config.js';
import { stripUnavailable } from '../../src/config/strip.js';
import { planRender } from '../../src/render/plan.js';
import { component, renderConfig, snippet } from '../support/render-config.js';

const ALIASES = ['sites', 'gateways', 'routes', 'needed'];

function configOf(components: readonly ComponentSpec[], snippets: readonly SnippetSpec[] = []): RenderConfig {
  const watchedResources = ALIASES.map((alias) => ({
    ...{ alias, apiVersion: 'v1', kind: alias, resource: alias, indexBy: [], review: true, ignoreFields: [] },
    optional: alias !== 'needed',
  }));
  return { ...renderConfig(), watchedResources, components, snippets };
}

const part = (name: string, more: Partial<ComponentSpec> = {}): ComponentSpec =>
  component(name, '', { group: name, ...more });
const strip = (config: RenderConfig, ...missing: string[]): ReturnType<typeof stripUnavailable> =>
  stripUnavailable(config, new Set(missing));
const sources = (config: RenderConfig): Record<string, readonly string[]> =>
  Object.fromEntries(config.components.map((one) => [one.name, one.sources]));

describe('stripUnavailable', () => {
  it('leaves a configuration alone when nothing is missing', () => {
    const config = configOf([part('a')]);
    expect(strip(config)).toEqual({ config, leftOut: [] });
    expect(strip(config, 'unknown').config).toBe(config);
  });

  it('does not hide that a resource is missing which is not optional', () => {
    const config = configOf([part('a', { sources: ['needed'] })]);
    expect(strip(config, 'needed')).toEqual({ config, leftOut: [] });
  });

  it('takes away the resource, the source, and what requires it', () => {
    const config = configOf(
      [
        part('by-requires', { requires: ['gateways'] }),
        part('by-source', { sources: ['gateways'] }),
        part('one-of-two', { sources: ['gateways', 'sites'] }),
        part('other'),
      ],
      [{ ...snippet('note', 'x'), requires: ['sites', 'gateways'] }, snippet('plain', 'x')],
    );
    const { config: stripped, leftOut } = strip(config, 'gateways');
    expect(stripped.watchedResources.map(({ alias }) => alias)).toEqual(['sites', 'routes', 'needed']);
    expect(stripped.snippets.map(({ name }) => name)).toEqual(['plain']);
    expect(sources(stripped)).toEqual({
      'by-requires': [],
      'by-source': [],
      'one-of-two': ['sites'],
      other: ['sites'],
    });
    expect(leftOut).toEqual([
      { what: 'resource', name: 'gateways', because: 'the cluster does not have it' },
      { what: 'snippet', name: 'note', because: 'requires gateways' },
      { what: 'component', name: 'by-requires', because: 'requires gateways' },
      { what: 'component', name: 'by-source', because: 'has no source left' },
    ]);
  });

  it('goes on with what consumes a group that nobody writes any more, through all that follow', () => {
    const config = configOf([
      part('d', { consumes: ['c'] }),
      part('c', { consumes: ['b'] }),
      part('b', { sources: ['gateways'] }),
      part('reads-if-there', { optionalConsumes: ['c'] }),
    ]);
    const { config: stripped, leftOut } = strip(config, 'gateways');
    expect(sources(stripped)).toEqual({ d: [], c: [], b: [], 'reads-if-there': ['sites'] });
    expect(leftOut.map(({ name, because }) => `${name} ${because}`)).toEqual([
      'gateways the cluster does not have it',
      'b has no source left',
      'c consumes b, which nobody writes any more',
      'd consumes c, which nobody writes any more',
    ]);
  });

  it('keeps a consumer as long as one component writes the group', () => {
    const config = configOf([
      part('first', { group: 'shared', sources: ['gateways'] }),
      part('second', { group: 'shared' }),
      part('reader', { consumes: ['shared'] }),
    ]);
    expect(sources(strip(config, 'gateways').config)).toEqual({ first: [], second: ['sites'], reader: ['sites'] });
  });

  it('keeps every group, and leaves nothing that reads what is gone', () => {
    const some = (values: readonly string[]): fc.Arbitrary<string[]> =>
      fc.subarray([...values], { maxLength: Math.min(2, values.length) });
    const parts = fc.tuple(
      ...['a', 'b', 'c', 'd', 'e'].map((name, at, names) =>
        fc
          .record({
            sources: fc.subarray(ALIASES, { minLength: 1, maxLength: 2 }),
            requires: some(ALIASES),
            consumes: some(names.slice(0, at)),
            optionalConsumes: some(names.slice(0, at)),
          })
          .map((more) => part(name, more)),
      ),
    );
    fc.assert(
      fc.property(parts, some(ALIASES), (components, missing) => {
        const before = configOf(components);
        const { config } = strip(before, ...missing);
        const gone = missing.filter((alias) => alias !== 'needed');
        expect(planRender(config).groups).toEqual(planRender(before).groups);
        const active = config.components.filter((one) => one.sources.length > 0);
        for (const { sources: own, requires, consumes } of active) {
          expect([...own, ...requires].filter((alias) => gone.includes(alias))).toEqual([]);
          expect(consumes.filter((group) => !active.some((one) => one.group === group))).toEqual([]);
        }
        expect(strip(config, ...missing).config).toEqual(config);
      }),
    );
  });
});
