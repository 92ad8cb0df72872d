import type { OutputKind, OutputSpec, TemplateSource } from '../config/render-config.js';
import { OutputIo, splitAtMarks } from './instance-io.js';
import type { RenderFault } from './instance-result.js';
import { type OutputPiece, type Outputs, type OutputTree, textPiece } from './output-tree.js';
import type { RenderSession } from './render-session.js';
import type { OutputRun } from './render-state.js';
import { faultOf, RenderFailure } from './template-fault.js';

/** Brings every output template up to date and puts the mounted groups in. Throws RenderFailure. */
export function renderOutputs(session: RenderSession): Outputs {
  const { config } = session.context.plan;
  const mounted = new Set<string>();
  const outputs = new Map<string, OutputTree>();
  for (const spec of config.outputs) outputs.set(spec.name, renderOutput(session, spec, mounted));
  refuseUnmounted(session, mounted);
  return outputs;
}

function renderOutput(session: RenderSession, spec: OutputSpec, mounted: Set<string>): OutputTree {
  const { content, kind, name } = spec;
  if (content.from === 'cell') {
    mounted.add(content.group);
    return { kind: 'directory', spec, files: session.fileTree(name) };
  }
  const run = session.outputRuns.held(name) ?? runTemplate(session, content.template, kind);
  session.outputRuns.keep(name, run);
  return { kind: 'file', spec, pieces: run.parts.flatMap((part) => piecesOf(session, part, mounted)) };
}

function runTemplate(session: RenderSession, template: TemplateSource, kind: OutputKind): OutputRun {
  const reads = new Set<string>();
  const io = new OutputIo(session, { input: (key) => void reads.add(key) }, session.context.plan, kind);
  try {
    const text = session.context.host.run(template, kind, {}, io);
    return { parts: partsOf(text, io.mounted), reads: [...reads] };
  } catch (error) {
    throw new RenderFailure([faultOf(error, session.context.host.compiledOf(template), undefined, undefined)]);
  }
}

/** A group's chunks end with a newline, so the one behind its tag goes; else each mount would leave an empty line. */
function partsOf(text: string, mounted: readonly string[]): OutputRun['parts'] {
  return splitAtMarks(text).flatMap((part, at, all): OutputRun['parts'] => {
    if (at % 2 === 1) return [{ kind: 'mount', group: mounted[Number(part)] ?? '' }];
    const before = at === 0 ? part : part.replace(/^\r?\n/, '');
    const own = at === all.length - 1 ? before : before.replace(/[ \t]+$/, '');
    return own === '' ? [] : [textPiece(own)];
  });
}

function piecesOf(
  session: RenderSession,
  part: OutputRun['parts'][number],
  mounted: Set<string>,
): readonly OutputPiece[] {
  if (part.kind === 'text') return [part];
  mounted.add(part.group);
  const { texts, uniqueTexts } = session.groupTrees(part.group);
  return [
    { kind: 'group', tree: texts },
    { kind: 'group', tree: uniqueTexts },
  ];
}

/** A group that writes text nobody mounts is a mistake that would else show as a missing part of the configuration. */
function refuseUnmounted(session: RenderSession, mounted: ReadonlySet<string>): void {
  const faults: RenderFault[] = [];
  for (const name of session.context.plan.groups.keys()) {
    const { texts, uniqueTexts } = session.groupTrees(name);
    if (mounted.has(name) || (texts === undefined && uniqueTexts === undefined)) continue;
    faults.push({
      instance: undefined,
      reason: `no output mounts the group ${name}, so its text would be lost; call <%~ group('${name}') %> in one`,
    });
  }
  if (faults.length > 0) throw new RenderFailure(faults);
}
