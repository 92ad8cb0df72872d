import type { Generation, GraphNode } from '../../src/graph/generation.js';
import type { ChunkTree } from '../../src/render/chunk-tree.js';
import type { ContributionIndex } from '../../src/render/contribution-index.js';
import type { GroupState } from '../../src/render/group-state.js';
import type { RenderState } from '../../src/render/render-state.js';

/** How two committed states differ in what must not depend on history; undefined when they do not. */
export function stateDifference(warm: RenderState, cold: RenderState): string | undefined {
  return (
    brokenGraph(warm.generation) ??
    difference('graph', graphOf(warm.generation), graphOf(cold.generation)) ??
    difference('groups', groupsOf(warm), groupsOf(cold)) ??
    difference('files', filesOf(warm), filesOf(cold))
  );
}

/** The first entry that is not the same on both sides. */
export function difference(
  what: string,
  left: ReadonlyMap<string, string>,
  right: ReadonlyMap<string, string>,
): string | undefined {
  for (const key of new Set([...left.keys(), ...right.keys()])) {
    if (left.get(key) === right.get(key)) continue;
    return `${what} differ at ${printable(key)}:\n  got      ${printable(left.get(key))}\n  expected ${printable(right.get(key))}`;
  }
  return undefined;
}

export function printable(text: string | undefined): string {
  return text === undefined ? 'nothing' : text.replaceAll('\0', '|').replaceAll('\n', '\\n');
}

/** Nodes by key, with their edges as keys: numbers of nodes are history. */
function graphOf({ ids, nodes }: Generation): Map<string, string> {
  const keyOf = (id: number): string => nodes.get(id)?.key ?? `missing node ${id}`;
  const describe = (node: GraphNode | undefined): string =>
    JSON.stringify([node?.kind, node?.frame.map(keyOf), [...(node?.observers ?? [])].map(keyOf).sort(), node?.value]);
  return new Map([...ids].map(([key, id]) => [key, describe(nodes.get(id))]));
}

/** Retired nodes are unreachable and their numbers free, each once. */
function brokenGraph({ ids, nodes, free }: Generation): string | undefined {
  const alive = nodes.count((node) => node !== undefined);
  const unused = new Set(free);
  if (alive !== ids.size) return `${alive} nodes are held, but ${ids.size} are known by key`;
  if (unused.size !== free.size || unused.size + alive !== nodes.size)
    return `${nodes.size} places for ${alive} nodes, but ${free.size} are free (${unused.size} different ones)`;
  return undefined;
}

function groupsOf({ groups }: RenderState): Map<string, string> {
  const entries = [...groups].flatMap(([name, group]) =>
    Object.entries(partsOf(group)).map(([part, text]) => [`${name} ${part}`, text] as const),
  );
  return new Map(entries.filter(([, text]) => text !== '[]' && text !== '[[],[]]'));
}

function partsOf({ texts, uniqueTexts, uniques, publications }: GroupState): Record<string, string> {
  return {
    texts: JSON.stringify(chunksOf(texts)),
    uniqueTexts: JSON.stringify(chunksOf(uniqueTexts)),
    uniques: indexText(uniques),
    publications: indexText(publications),
  };
}

function indexText({ entries, counts }: ContributionIndex): string {
  return JSON.stringify([entries.toArray(), [...counts].sort()]);
}

function filesOf({ files }: RenderState): Map<string, string> {
  return new Map(
    [...files].flatMap(([name, tree]) => (tree === undefined ? [] : [[name, JSON.stringify(chunksOf(tree))]])),
  );
}

function chunksOf(tree: ChunkTree): [key: string, text: string, owner: string][] {
  if (tree === undefined) return [];
  return [...chunksOf(tree.left), [tree.key, tree.text, tree.owner], ...chunksOf(tree.right)];
}
