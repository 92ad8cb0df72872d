import type {
  ComponentSpec,
  OutputKind,
  OutputSpec,
  RenderConfig,
  SnippetSpec,
  TemplateSource,
} from '../../src/config/render-config.js';
import type { ObjectChange } from '../../src/render/protocol.js';

/** Small configurations for tests that need the real render thread and no real cluster. */

export function template(name: string, text: string, firstLine = 1): TemplateSource {
  return { name, text, file: 'test.yaml', firstLine };
}

/** A component over `sites` whose text goes into the group `lines`. */
export function component(name: string, text: string, more: Partial<ComponentSpec> = {}): ComponentSpec {
  return {
    name,
    sources: ['sites'],
    group: 'lines',
    kind: 'text',
    template: template(name, text),
    requires: [],
    consumes: [],
    optionalConsumes: [],
    effects: ['publishValue', 'recordEvent'],
    whenAnyPathExists: undefined,
    ...more,
  };
}

export function output(name: string, text: string, kind: OutputKind = 'text'): OutputSpec {
  return { name, kind, sensitive: false, content: { from: 'template', template: template(name, text) } };
}

export function snippet(name: string, text: string): SnippetSpec {
  return { name, template: template(name, text), requires: [] };
}

const WATCHED = [
  { alias: 'sites', apiVersion: 'example.org/v1', kind: 'Site', resource: 'sites', indexBy: ['$.metadata.namespace'] },
  { alias: 'switches', apiVersion: 'v1', kind: 'ConfigMap', resource: 'configmaps', indexBy: [] },
  { alias: 'zones', apiVersion: 'v1', kind: 'Namespace', resource: 'namespaces', indexBy: [] },
];

export type ConfigParts = { readonly [Key in keyof RenderConfig]?: Partial<RenderConfig[Key]> };

/** Watches `sites` (example.org/v1 Site), `switches` (ConfigMap) and `zones` (Namespace); one output of group `lines`. */
export function renderConfig(parts: ConfigParts = {}): RenderConfig {
  const admission = { mode: 'enforce', budgetMs: 8_000, marginMs: 300, renderTimeoutMs: 1_000 } as const;
  return {
    name: 'test',
    watchedResources: WATCHED.map((one) => ({ ...one, review: true, optional: false, ignoreFields: [] })),
    snippets: [],
    components: [component('site', '<%= item.spec.line %>\n')],
    outputs: [output('out.txt', "<%~ group('lines') %>\n")],
    extraContext: {},
    ...(parts as Partial<RenderConfig>),
    check: { command: ['true'], timeoutMs: 10_000, memoryMiB: 1024, concurrency: 2, ...parts.check },
    admission: { ...admission, queueLength: 256, maxBodyBytes: 7_340_032, ...parts.admission },
    render: { timeoutMs: 10_000, heapMiB: 256, maxInstanceBytes: 1_048_576, debounceMs: 0, ...parts.render },
  };
}

export function siteObject(name: string, spec: object, metadata: object = {}): Readonly<Record<string, unknown>> {
  return { apiVersion: 'example.org/v1', kind: 'Site', metadata: { namespace: 'shop', name, ...metadata }, spec };
}

export function site(name: string, spec: object, metadata: object = {}): ObjectChange {
  return { alias: 'sites', namespace: 'shop', name, text: JSON.stringify(siteObject(name, spec, metadata)) };
}

export function gone(alias: string, namespace: string, name: string): ObjectChange {
  return { alias, namespace, name, text: undefined };
}
