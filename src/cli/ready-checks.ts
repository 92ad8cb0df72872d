import type { Cluster } from '../cluster/cluster.js';
import type { Siblings } from '../cluster/siblings.js';
import type { Coordinator } from '../reconcile/coordinator.js';
import type { RenderHost } from '../render/render-host.js';
import type { HealthCheck, HealthResult } from '../server/contract.js';

export interface ReadyParts {
  readonly host: Pick<RenderHost, 'rooted' | 'progress'>;
  readonly coordinator: Pick<Coordinator, 'problem' | 'quarantined'>;
  readonly cluster: Pick<Cluster, 'problems'>;
  /** Undefined where there is one replica. */
  readonly siblings?: Pick<Siblings, 'ask'> | undefined;
}

/** The entries of /readyz. */
export function readyChecks(parts: ReadyParts): HealthCheck[] {
  return [
    { name: 'sources', check: () => sources(parts) },
    { name: 'render-graph', check: () => renderGraph(parts), own: () => ownGraph(parts) },
    { name: 'reconcile', check: () => reconcile(parts) },
  ];
}

function sources({ cluster: { problems } }: ReadyParts): HealthResult {
  return problems.length === 0 ? { ok: true } : { ok: true, note: problems.join('; ') };
}

/**
 * Decision 0029, 4: fails while this replica has no published graph and a Ready sibling reports one, or none can be ruled
 * out. When no sibling can validate it is healthy with a note: then this replica denies with cause and fix, which is better
 * than a Service without an address. Only the cold ask; the first published graph ends it.
 */
async function renderGraph(parts: ReadyParts): Promise<HealthResult> {
  const { host, siblings } = parts;
  if (host.rooted) return { ok: true };
  if (siblings === undefined) return { ok: true, note: `${coldState(parts)}, and no sibling can validate` };
  const { kind, reason } = await siblings.ask();
  if (host.rooted) return { ok: true };
  const state = coldState(parts);
  if (kind === 'none') return { ok: true, note: `${state}, and no sibling can validate: ${reason}` };
  if (kind === 'graph') return { ok: false, reason: `${state}; a sibling validates meanwhile: ${reason}` };
  return { ok: false, reason: `${state}, and it cannot be ruled out that a sibling has one: ${reason}` };
}

function ownGraph(parts: ReadyParts): HealthResult {
  return parts.host.rooted ? { ok: true } : { ok: true, note: coldState(parts) };
}

function coldState({ host }: ReadyParts): string {
  const { done, known, stage } = host.progress;
  return `no graph yet (${stage}, ${done} of ${known} instances)`;
}

function reconcile({ coordinator: { problem, quarantined } }: ReadyParts): HealthResult {
  if (problem !== undefined) return { ok: true, note: problem.split('\n')[0] ?? problem };
  return quarantined.length === 0 ? { ok: true } : { ok: true, note: `objects in quarantine: ${quarantined.length}` };
}
