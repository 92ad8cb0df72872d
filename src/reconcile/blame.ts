import type { CheckFinding } from '../check/checker.js';
import type { RenderHost } from '../render/render-host.js';
import type { ObjectRef, TracedFault } from '../render/protocol.js';

export interface BlamedObject extends ObjectRef {
  readonly faults: readonly string[];
  readonly reason: string;
}

/** Objects that the source map makes responsible for what the checker refused (DESIGN 9). */
export async function blameByLine(
  host: RenderHost,
  render: number,
  findings: readonly CheckFinding[],
): Promise<readonly BlamedObject[]> {
  const traced = await host.request('trace', {
    render,
    findings: findings.filter((finding) => finding.severity === 'alert'),
  });
  const blamed = new Map<string, BlamedObject>();
  for (const fault of traced) {
    if (fault.object === undefined) continue;
    const { alias, namespace, name } = fault.object;
    const key = `${alias} ${namespace}/${name}`;
    const held = blamed.get(key);
    blamed.set(key, {
      alias,
      namespace,
      name,
      faults: [...(held?.faults ?? []), fault.id],
      reason: held?.reason ?? describe(fault),
    });
  }
  return [...blamed.values()];
}

function describe(fault: TracedFault): string {
  const field = fault.field === undefined ? '' : `${fault.field}: `;
  return `${field}the checker refuses it: ${fault.text === '' ? '(its text is withheld)' : fault.text}`;
}

/**
 * Where no line leads to an object: the newest changes are held back together, half as many each time, until the
 * smallest number that still lets the rest pass is known. `tryWithout` holds these back and tells whether the rest passes.
 */
export async function blameByHalving(
  suspects: readonly ObjectRef[],
  maxTries: number,
  tryWithout: (objects: readonly ObjectRef[]) => Promise<boolean>,
): Promise<readonly ObjectRef[]> {
  let low = 0;
  let high = suspects.length;
  let tries = 0;
  if (high === 0 || !(await tryWithout(suspects))) return [];
  while (high - low > 1 && ++tries < maxTries) {
    const middle = (low + high) >> 1;
    if (await tryWithout(suspects.slice(0, middle))) high = middle;
    else low = middle;
  }
  // The last one that made the difference may be guilty alone.
  const last = suspects.slice(high - 1, high);
  if (high > 1 && (await tryWithout(last))) return last;
  return suspects.slice(0, high);
}
