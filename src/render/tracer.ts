import type { CheckFinding } from '../check/checker.js';
import type { TemplateSource } from '../config/render-config.js';
import { excerptOf } from '../template/faults.js';
import type { TracePiece } from '../template/template-io.js';
import { InstanceIo, OutputIo, type ReadableRender, splitAtMarks } from './instance-io.js';
import { objectLabel, parseInstanceKey } from './keys.js';
import { fileOwner, type LineOwner, lineOwner, type Outputs, type OutputTree } from './output-tree.js';
import type { TracedFault } from './protocol.js';
import type { RenderContext } from './render-session.js';
import { fieldWithValue, findString } from './template-fault.js';

/** A finished render, still readable. */
export interface TraceableRender extends ReadableRender {
  readonly outputs: Outputs;
}

const NO_READER = { input: () => undefined };

/**
 * Maps a checker's message back to who wrote the line: source object, field, template line (DESIGN 8). The source map is
 * made when it is needed, by running the one component again with its pieces recorded; components are pure.
 */
export function traceFinding(context: RenderContext, render: TraceableRender, finding: CheckFinding): TracedFault {
  for (const file of finding.mentions) {
    const owner = fileOwner(render.outputs, file);
    if (owner !== undefined) return ofFile(context, finding, owner, file);
  }
  const tree = finding.file === undefined ? undefined : render.outputs.get(finding.file);
  if (tree === undefined || finding.line === undefined) return unplaced(finding);
  const owner = lineOwner(tree, finding.line);
  if (owner === undefined) return unplaced(finding);
  return owner.kind === 'instance'
    ? ofInstance(context, render, finding, owner)
    : ofTemplate(context, render, finding, tree, owner.line);
}

function unplaced(finding: CheckFinding): TracedFault {
  return {
    id: normalized(finding.text),
    object: undefined,
    field: undefined,
    template: undefined,
    excerpt: undefined,
    rendered: undefined,
    text: finding.text,
  };
}

/** A certificate or another whole file: no line of it is shown. */
function ofFile(context: RenderContext, finding: CheckFinding, owner: string, file: string): TracedFault {
  const { component, source, namespace, name } = parseInstanceKey(owner);
  const template = context.plan.components.get(component)?.template;
  return {
    id: `${objectLabel(source, namespace, name)} ${file} ${normalized(finding.text)}`,
    object: { alias: source, namespace, name },
    field: undefined,
    template:
      template === undefined ? undefined : { name: template.name, file: template.file, line: template.firstLine },
    excerpt: undefined,
    rendered: undefined,
    text: finding.text,
  };
}

function ofInstance(
  context: RenderContext,
  render: TraceableRender,
  finding: CheckFinding,
  owner: LineOwner & { kind: 'instance' },
): TracedFault {
  const { component: name, source, namespace, name: objectName } = parseInstanceKey(owner.owner);
  const component = context.plan.components.get(name);
  const object = { alias: source, namespace, name: objectName };
  if (component === undefined) return { ...unplaced(finding), object };
  const item = render.snapshot(source).find(namespace, objectName);
  const io = new InstanceIo(render, NO_READER, context.plan, component, owner.owner);
  const call = { item, source, props: {}, renderSubject: Object.freeze(object) };
  const pieces = context.host.trace(component.template, component.kind, call, io);
  const line = piecesOfLine(pieces, owner.line);
  const field = fieldOf(item, line, owner.text, finding.text);
  const rendered = render.outputs.get(finding.file ?? '')?.spec.sensitive === false ? owner.text.trim() : undefined;
  return placed(finding, component.template, line, {
    object,
    field,
    label: objectLabel(source, namespace, objectName),
    rendered,
  });
}

function ofTemplate(
  context: RenderContext,
  render: TraceableRender,
  finding: CheckFinding,
  tree: OutputTree,
  line: number,
): TracedFault {
  const { content, kind } = tree.spec;
  if (content.from !== 'template') return unplaced(finding);
  const io = new OutputIo(render, NO_READER, context.plan, kind);
  const pieces = context.host.trace(content.template, kind, {}, io);
  return placed(finding, content.template, ownPiecesOfLine(pieces, line), {
    object: undefined,
    field: undefined,
    label: tree.spec.name,
    rendered: undefined,
  });
}

interface Blamed {
  readonly object: TracedFault['object'];
  readonly field: string | undefined;
  readonly label: string;
  readonly rendered: string | undefined;
}

function placed(
  finding: CheckFinding,
  template: TemplateSource,
  line: readonly TracePiece[],
  blamed: Blamed,
): TracedFault {
  const piece = line.find((candidate) => candidate.code !== '') ?? line[0];
  const at = piece?.line ?? template.firstLine;
  return {
    id: `${blamed.label} ${template.name}:${at} ${normalized(finding.text)}`,
    object: blamed.object,
    field: blamed.field,
    template: { name: template.name, file: template.file, line: at },
    excerpt: excerptOf(template.text, at - template.firstLine + 1, template.firstLine),
    rendered: blamed.rendered,
    text: finding.text,
  };
}

/** The same fault has the same text wherever its line moved: numbers of lines go. */
function normalized(text: string): string {
  return text
    .replace(/\bline \d+/g, 'line')
    .replace(/:\d+\b/g, '')
    .trim();
}

/** Pieces that wrote (a part of) line `line`, counted from 0; a text piece is cut to its lines, each with its own place. */
function piecesOfLine(pieces: readonly TracePiece[], line: number): readonly TracePiece[] {
  return splitByLine(pieces)[line] ?? [];
}

function splitByLine(pieces: readonly TracePiece[]): TracePiece[][] {
  const lines: TracePiece[][] = [[]];
  for (const piece of pieces) {
    piece.text.split('\n').forEach((text, at) => {
      if (at > 0) lines.push([]);
      // An expression that writes several lines stands at one place of the template; plain text moves on with its lines.
      if (text !== '') lines.at(-1)?.push({ ...piece, text, line: piece.code === '' ? piece.line + at : piece.line });
    });
  }
  return lines;
}

/** The lines of an output's own template, as `render-outputs` leaves them: mounted groups and the newline behind them cut out. */
function ownPiecesOfLine(pieces: readonly TracePiece[], line: number): readonly TracePiece[] {
  const lines = splitByLine(pieces).filter((parts) => !isMountAlone(parts));
  return lines[line] ?? [];
}

function isMountAlone(parts: readonly TracePiece[]): boolean {
  const text = parts.map((part) => part.text).join('');
  return splitAtMarks(text).length > 1 && splitAtMarks(text).every((part, at) => at % 2 === 1 || part.trim() === '');
}

/** The field whose value the line shows: first what an expression wrote that the checker names, then any expression, then any annotation in the line. */
function fieldOf(item: unknown, line: readonly TracePiece[], text: string, message: string): string | undefined {
  const values = line.filter((piece) => piece.code !== '').map((piece) => unquoted(piece.text));
  const ordered = [
    ...values.filter((value) => message.includes(value)),
    ...values.filter((value) => !message.includes(value)).reverse(),
  ];
  const fields = ordered.map((value) => fieldWithValue(item, value)).filter((field) => field !== undefined);
  const annotation = fields.find((field) => field.startsWith('metadata.annotations'));
  return annotation ?? annotationIn(item, text) ?? fields[0];
}

function annotationIn(item: unknown, text: string): string | undefined {
  const metadata = (item as { readonly metadata?: { readonly annotations?: unknown } } | undefined)?.metadata;
  return findString(metadata?.annotations, 'metadata.annotations', (value) => value.length > 1 && text.includes(value));
}

function unquoted(word: string): string {
  return word.length > 1 && word.startsWith("'") && word.endsWith("'")
    ? word.slice(1, -1).replaceAll(String.raw`'\''`, "'")
    : word;
}
