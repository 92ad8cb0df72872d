import { readFileSync, statSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { parse } from 'yaml';
import type { RenderConfig } from './render-config.js';

/* eslint-disable @typescript-eslint/no-explicit-any */
export function loadConfig(path: string): RenderConfig {
  const file = statSync(path).isDirectory() ? join(path, 'rendergate.yaml') : path;
  const spec = parse(readFileSync(file, 'utf8')).spec as any;
  const dir = dirname(file);
  const template = (name: string, o: any): any => ({
    name,
    text: o.template ?? readFileSync(join(dir, o.templateFile), 'utf8'),
    file: o.templateFile ?? file,
    firstLine: 1,
  });
  const ms = (t: string): number => (t.endsWith('ms') ? parseInt(t) : parseInt(t) * 1000);
  return {
    name: 'haproxy',
    watchedResources: Object.entries<any>(spec.watchedResources).map(([alias, r]) => ({
      alias,
      optional: false,
      ignoreFields: [],
      ...r,
    })),
    snippets: Object.entries<any>(spec.snippets ?? {}).map(([name, o]) => ({
      name,
      requires: [],
      template: template(name, o),
    })),
    components: Object.entries<any>(spec.components)
      .map(([name, o]) => ({
        name,
        sources: o.sources ?? [o.source],
        group: o.group,
        kind: o.kind ?? 'haproxy',
        requires: [],
        consumes: o.consumes ?? [],
        optionalConsumes: [],
        effects: o.effects ?? [],
        template: template(name, o),
      }))
      .sort((a, b) => (a.name < b.name ? -1 : 1)),
    outputs: Object.entries<any>(spec.outputs).map(([name, o]) => ({
      name,
      kind: o.kind,
      sensitive: o.sensitive ?? false,
      content: o.cell
        ? { from: 'cell', group: o.cell.group, cell: o.cell.name }
        : { from: 'template', template: template(name, o) },
    })),
    check: {
      command: spec.check?.command ?? ['haproxy', '-c', '-C', '{dir}', '-f', 'haproxy.cfg'],
      timeoutMs: 10000,
      memoryMiB: 1024,
      concurrency: 2,
    },
    admission: {
      mode: 'enforce',
      budgetMs: ms(spec.admission?.budget ?? '8s'),
      marginMs: 300,
      renderTimeoutMs: 2000,
      queueLength: 256,
      maxBodyBytes: 7340032,
    },
    render: { timeoutMs: 30000, heapMiB: 2048, maxInstanceBytes: 1048576, debounceMs: 50 },
    extraContext: spec.extraContext ?? {},
  } as RenderConfig;
}
