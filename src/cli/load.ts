import { loadConfig } from '../config/load-config.js';
import type { TemplateMistake } from '../config/parse-config.js';
import type { RenderConfig, TemplateSource } from '../config/render-config.js';
import { compileTemplate } from '../template/compile-template.js';
import { TemplateCompileError } from '../template/faults.js';
import { BOUND_NAMES } from '../template/template-host.js';

/** Loads a RenderConfig and compiles its templates. Throws ConfigError with every mistake, those of templates included. */
export function loadCheckedConfig(path: string): RenderConfig {
  return loadConfig(path, compileMistakes);
}

function compileMistakes(source: TemplateSource): readonly TemplateMistake[] {
  try {
    compileTemplate({ ...source, firstLine: 1 }, BOUND_NAMES);
    return [];
  } catch (error) {
    if (!(error instanceof TemplateCompileError)) throw error;
    const { line, column } = error.place;
    return [{ line, column, message: `the template does not compile: ${error.reason}` }];
  }
}
