import { dirname, join } from 'node:path';
import { configFileOf, loadConfig } from '../config/load-config.js';
import type { ConfigDiagnostic, RenderConfig, TemplateSource } from '../config/render-config.js';
import { compileTemplate } from '../template/compile-template.js';
import { TemplateCompileError } from '../template/faults.js';
import { BOUND_NAMES } from '../template/template-host.js';

/** Loads a RenderConfig and compiles its templates. Throws ConfigError with every mistake, those of templates included. */
export function loadCheckedConfig(path: string): RenderConfig {
  const folder = dirname(configFileOf(path));
  return loadConfig(path, (source) => faultsOf(source, folder));
}

function faultsOf(source: TemplateSource, folder: string): readonly ConfigDiagnostic[] {
  try {
    compileTemplate(source, BOUND_NAMES);
    return [];
  } catch (error) {
    if (!(error instanceof TemplateCompileError)) throw error;
    const { file, line, column, template } = error.place;
    const message = `template ${template}: ${error.reason}\n${error.excerpt}`;
    return [{ file: join(folder, file), line, column, field: '', message }];
  }
}
