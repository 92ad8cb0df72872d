import type { RenderConfig } from '../../src/config/render-config.js';
import { planRender } from '../../src/render/plan.js';
import { ProgressBuffer } from '../../src/render/progress.js';
import type { RenderContext } from '../../src/render/render-session.js';
import type { TemplateCompartment } from '../../src/template/compartment.js';
import { TemplateHost } from '../../src/template/template-host.js';

type RunArguments = Parameters<TemplateHost['run']>;

/** The real template host, with each run of a component instance noted: the engine's own counters are not trusted. */
export class RecordingHost extends TemplateHost {
  /** Component, alias, namespace and name of each run that was begun. */
  runs: string[] = [];
  onRun: (count: number) => void = () => undefined;

  override run(...[template, kind, call, io]: RunArguments): string {
    const subject = call.renderSubject as { alias: string; namespace: string; name: string } | undefined;
    if (subject !== undefined) {
      this.runs.push(`${template.name} ${subject.alias} ${subject.namespace} ${subject.name}`);
      this.onRun(this.runs.length);
    }
    return super.run(template, kind, call, io);
  }

  /** What was run while `task` did its work. */
  during<T>(task: () => T): { readonly value: T; readonly runs: readonly string[] } {
    this.runs = [];
    const value = task();
    const { runs } = this;
    return { value, runs };
  }
}

export interface RecordingContext extends RenderContext {
  readonly host: RecordingHost;
}

export function recordingContext(compartment: TemplateCompartment, config: RenderConfig): RecordingContext {
  return {
    plan: planRender(config),
    host: new RecordingHost(compartment, config, config.render.maxInstanceBytes),
    progress: new ProgressBuffer(),
    softHeapBytes: Infinity,
  };
}
