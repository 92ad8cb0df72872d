import { readFileSync } from 'node:fs';
import { basename, posix } from 'node:path';
import { CONFIG_FILE, configFileOf } from '../config/load-config.js';
import type { RenderConfig, TemplateSource } from '../config/render-config.js';
import type { ConfigFile } from './manifest.js';

/**
 * The files that a loaded configuration came from: `path` is what it was loaded from. The document is called
 * `rendergate.yaml`, whatever its name was; templates keep their paths, sorted. Throws the file system's error.
 */
export function configFiles(path: string, config: RenderConfig): ConfigFile[] {
  const file = configFileOf(path);
  const named = templatesOf(config).filter((template) => template.file !== basename(file));
  const texts = new Map(named.map((template) => [posix.normalize(template.file), template.text]));
  const templates = [...texts].map(([name, text]) => ({ path: name, text }));
  return [
    { path: CONFIG_FILE, text: readFileSync(file, 'utf8') },
    ...templates.sort((a, b) => (a.path < b.path ? -1 : 1)),
  ];
}

function templatesOf({ snippets, components, outputs }: RenderConfig): TemplateSource[] {
  return [
    ...snippets.map(({ template }) => template),
    ...components.map(({ template }) => template),
    ...outputs.flatMap(({ content }) => (content.from === 'template' ? [content.template] : [])),
  ];
}
