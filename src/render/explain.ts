import type { Generation } from '../graph/generation.js';
import { nodeByKey } from '../graph/generation.js';
import { type ChunkTree, linesBefore } from './chunk-tree.js';
import type { Contribution } from './contribution.js';
import { type ContributionIndex, contenders } from './contribution-index.js';
import type { InstanceResult } from './instance-result.js';
import { describeInput, inputsOfChange, instanceKey, isSignatureKey, parseInstanceKey } from './keys.js';
import type { OutputTree } from './output-tree.js';
import type { Claim, ExplainedInstance, Explanation, Reader, WrittenLines } from './explanation.js';
import type { RenderPlan } from './plan.js';
import type { ObjectRef } from './protocol.js';
import type { RenderState } from './render-state.js';

/**
 * What the committed render knows of one object, stored or not: who reads it and how, what its instances read and wrote,
 * who won each key that it contends for and who is next. Reads the graph's frames and indexes; renders nothing.
 */
export function explainObject(plan: RenderPlan, state: RenderState, ref: ObjectRef): Omit<Explanation, 'quarantine'> {
  const snapshot = state.snapshots.get(ref.alias);
  const object = snapshot?.find(ref.namespace, ref.name);
  const inputs = inputsOfChange({ ...ref, before: object, after: undefined }, snapshot?.paths ?? []);
  const components = plan.bySource.get(ref.alias) ?? [];
  const instances = components.map(({ name, group }) => ({ name, group, key: keyOf(name, ref) }));
  const own = new Set(instances.map(({ key }) => key));
  return {
    object: { alias: ref.alias, namespace: ref.namespace, name: ref.name },
    stored: object !== undefined,
    readers: inputs.flatMap((input) => readersOf(state.generation, input, own)),
    instances: object === undefined ? [] : instances.map((instance) => explainInstance(state, instance)),
  };
}

interface Instance {
  readonly name: string;
  readonly group: string;
  readonly key: string;
}

function keyOf(component: string, { alias, namespace, name }: ObjectRef): string {
  return instanceKey({ component, source: alias, namespace, name });
}

/** Instances that observed the input, the object's own left out. */
function readersOf(generation: Generation, input: string, own: ReadonlySet<string>): readonly Reader[] {
  const observers = nodeByKey(generation, input)?.observers ?? [];
  return [...observers]
    .map((id) => generation.nodes.get(id)?.key ?? '')
    .filter((key) => key !== '' && !own.has(key) && !isSignatureKey(key))
    .sort()
    .map((key) => ({ ...toRef(key), through: describeInput(input) }));
}

function explainInstance(state: RenderState, { name, group, key }: Instance): ExplainedInstance {
  const node = nodeByKey(state.generation, key);
  const result = node?.value as InstanceResult | undefined;
  const indexes = state.groups.get(group);
  return {
    component: name,
    group,
    active: node !== undefined,
    reads: (node?.frame ?? []).map((id) => describeInput(state.generation.nodes.get(id)?.key ?? '')),
    wrote: writtenLines(state, group, key),
    claims: [
      ...claims(key, 'publication', result?.publications ?? [], indexes?.publications),
      ...claims(key, 'unique', result?.uniques ?? [], indexes?.uniques),
    ],
    events: (result?.events ?? []).map(({ type, reason, message }) => `${type} ${reason}: ${message}`),
  };
}

function claims(
  owner: string,
  kind: Claim['kind'],
  contributions: readonly Contribution[],
  index: ContributionIndex | undefined,
): readonly Claim[] {
  if (index === undefined) return [];
  return contributions.map(({ cell, key, rank }) => {
    const all = contenders(index.entries, cell, key);
    const [winner] = all;
    const next = all.find((contender) => contender.owner !== winner?.owner);
    return {
      ...{ kind, cell, key, rank, won: winner?.owner === owner },
      winner: winner === undefined ? undefined : contenderRef(winner),
      next: next === undefined ? undefined : contenderRef(next),
    };
  });
}

function contenderRef({ owner, rank }: Contribution): NonNullable<Claim['winner']> {
  return { ...toRef(owner), rank };
}

function toRef(key: string): ObjectRef & { readonly component: string } {
  const { component, source, namespace, name } = parseInstanceKey(key);
  return { component, alias: source, namespace, name };
}

/** The lines of each output that mounts the instance's text. */
function writtenLines(state: RenderState, group: string, key: string): readonly WrittenLines[] {
  const tree = state.groups.get(group)?.texts;
  return [...state.outputs].flatMap(([output, written]) => linesIn(output, written, tree, key));
}

function linesIn(output: string, written: OutputTree, tree: ChunkTree, key: string): readonly WrittenLines[] {
  if (written.kind !== 'file' || tree === undefined) return [];
  const found: WrittenLines[] = [];
  let before = 0;
  for (const piece of written.pieces) {
    const inside = piece.kind === 'group' && piece.tree === tree ? linesBefore(tree, key) : undefined;
    if (inside !== undefined) {
      const from = before + inside.before + 1;
      found.push({ output, from, to: from + inside.own - 1 });
    }
    before += piece.kind === 'group' ? (piece.tree?.lines ?? 0) : piece.text.split('\n').length - 1;
  }
  return found;
}
