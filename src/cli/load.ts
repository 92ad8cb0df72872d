import { loadConfig } from '../config/load-config.js';
import { ConfigError, type ConfigDiagnostic, type RenderConfig } from '../config/render-config.js';
import { TemplateCompileError } from '../template/faults.js';
import { allTemplates, BOUND_NAMES } from '../template/template-host.js';
import { compileTemplate } from '../template/compile-template.js';

/** Loads a RenderConfig and compiles its templates. Throws ConfigError with every mistake, those of templates included. */
export function loadCheckedConfig(path: string): RenderConfig {
  const config = loadConfig(path);
  const diagnostics = allTemplates(config).flatMap((source): ConfigDiagnostic[] => {
    try {
      compileTemplate(source, BOUND_NAMES);
      return [];
    } catch (error) {
      if (!(error instanceof TemplateCompileError)) throw error;
      const { file, line, column, template } = error.place;
      return [{ file, line, column, field: '', message: `template ${template}: ${error.reason}\n${error.excerpt}` }];
    }
  });
  if (diagnostics.length > 0) throw new ConfigError(diagnostics);
  return config;
}
