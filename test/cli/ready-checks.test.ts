import { describe, expect, it } from '@jest/globals';
import { readyChecks, type ReadyParts } from '../../src/cli/ready-checks.js';
import type { SiblingReport } from '../../src/cluster/siblings.js';
import type { HealthCheck, HealthResult } from '../../src/server/contract.js';

const PROGRESS = { stage: 'instances', done: 3, known: 10, heapMiB: 50, instance: '' } as const;
const STATE = 'no graph yet (instances, 3 of 10 instances)';

function open(parts: { -readonly [Key in keyof ReadyParts]?: Partial<ReadyParts[Key]> } = {}) {
  const host = { rooted: false, progress: PROGRESS, ...parts.host };
  const coordinator = { problem: undefined, quarantined: [], ...parts.coordinator };
  const cluster = { problems: [], ...parts.cluster };
  const siblings = parts.siblings as ReadyParts['siblings'];
  const checks = readyChecks({ host, coordinator, cluster, siblings });
  const entry = (name: string): HealthCheck => {
    const check = checks.find((one) => one.name === name);
    if (check === undefined) throw new Error(`no entry ${name}`);
    return check;
  };
  return { host, result: async (name: string): Promise<HealthResult> => entry(name).check(), entry };
}

const saying = (kind: SiblingReport['kind'], reason: string) => ({ ask: () => Promise.resolve({ kind, reason }) });
const notAsked = {
  ask: () => {
    throw new Error('asked');
  },
};

describe('the render-graph entry (decision 0029, 4)', () => {
  it('is healthy with the own graph published, and asks nobody', async () => {
    const { result } = open({ host: { rooted: true }, siblings: notAsked });
    expect(await result('render-graph')).toEqual({ ok: true });
  });

  it('fails while a Ready sibling reports a graph', async () => {
    const { result } = open({ siblings: saying('graph', '10.0.0.2:8443 has one') });
    const reason = `${STATE}; a sibling validates meanwhile: 10.0.0.2:8443 has one`;
    expect(await result('render-graph')).toEqual({ ok: false, reason });
  });

  it('fails while no sibling check can rule one out', async () => {
    const { result } = open({ siblings: saying('unknown', '403') });
    const reason = `${STATE}, and it cannot be ruled out that a sibling has one: 403`;
    expect(await result('render-graph')).toEqual({ ok: false, reason });
  });

  it('is healthy with a note when no sibling can validate', async () => {
    const { result } = open({ siblings: saying('none', 'no other replica is Ready') });
    const note = `${STATE}, and no sibling can validate: no other replica is Ready`;
    expect(await result('render-graph')).toEqual({ ok: true, note });
  });

  it('is healthy with a note where there is one replica only', async () => {
    expect(await open().result('render-graph')).toEqual({ ok: true, note: `${STATE}, and no sibling can validate` });
  });

  it('is healthy when the graph was published while the siblings were asked', async () => {
    const siblings = {
      ask: () => {
        host.rooted = true;
        return saying('graph', '').ask();
      },
    };
    const { host, result } = open({ siblings });
    expect(await result('render-graph')).toEqual({ ok: true });
  });

  it('tells a sibling of the own graph alone: exactly ok, or a note', () => {
    const { host, entry } = open({ siblings: notAsked });
    expect(entry('render-graph').own?.()).toEqual({ ok: true, note: STATE });
    host.rooted = true;
    expect(entry('render-graph').own?.()).toEqual({ ok: true });
  });
});

describe('the other entries stay healthy, and note', () => {
  it.each<[string, string, Parameters<typeof open>[0], string | undefined]>([
    ['sources that are followed', 'sources', {}, undefined],
    [
      'sources that are not',
      'sources',
      { cluster: { problems: ['a not listed yet', 'b: 403'] } },
      'a not listed yet; b: 403',
    ],
    ['a reconcile that works', 'reconcile', {}, undefined],
    ['the first line of why it does not', 'reconcile', { coordinator: { problem: 'refused\nstack' } }, 'refused'],
  ])('%s', async (_what, name, parts, note) => {
    expect(await open(parts).result(name)).toEqual({ ok: true, ...(note === undefined ? {} : { note }) });
  });
});
