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
 * Where no line leads to an object: the fewest suspects without which the rest passes, provided that holding back more
 * never makes it fail. Halving finds them one after the other, beginning with the oldest that matters. `suspects` come
 * newest first; `tryWithout` holds these back and tells whether the rest passes. After `maxTries` those that could not be
 * told apart any more are returned together, so that the rest passes in any case. Nobody, if it does not pass without all.
 */
export async function blameByHalving(
  suspects: readonly ObjectRef[],
  maxTries: number,
  tryWithout: (objects: readonly ObjectRef[]) => Promise<boolean>,
): Promise<readonly ObjectRef[]> {
  let tries = 0;
  const passesWithout = (objects: readonly ObjectRef[]): Promise<boolean> => {
    tries++;
    return tryWithout(objects);
  };
  if (suspects.length === 0 || !(await passesWithout(suspects))) return [];
  let guilty: readonly ObjectRef[] = [];
  for (let rest = suspects; rest.length > 0; rest = rest.slice(0, -1)) {
    // The rest passes without the guilty and `high` of them, and fails without the guilty and `low` of them.
    let low = 0;
    let high = rest.length;
    while (high - low > 1 && tries < maxTries) {
      const middle = (low + high) >> 1;
      if (await passesWithout([...guilty, ...rest.slice(0, middle)])) high = middle;
      else low = middle;
    }
    rest = rest.slice(0, high);
    if (high - low > 1 || tries >= maxTries) return [...guilty, ...rest];
    guilty = [...guilty, ...rest.slice(-1)];
    if (high > 1 && (await passesWithout(guilty))) return guilty;
  }
  return guilty;
}
