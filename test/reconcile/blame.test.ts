import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import fc from 'fast-check';

import { blameByHalving, blameByLine } from '../../src/reconcile/blame.js';
import type { ObjectRef } from '../../src/render/protocol.js';
import type { RenderHost } from '../../src/render/render-host.js';
import { component, output, renderConfig, site } from '../support/render-config.js';
import { renderReview, rootedHost } from '../support/rooted-host.js';

function suspects(count: number): readonly ObjectRef[] {
  return Array.from({ length: count }, (_, at) => ({ alias: 'sites', namespace: 'shop', name: `n${at}` }));
}

/** Passes when all of these are held back. */
function guiltyAre(names: readonly string[]): {
  tries: number;
  tryWithout(refs: readonly ObjectRef[]): Promise<boolean>;
} {
  const judge = {
    tries: 0,
    tryWithout: (refs: readonly ObjectRef[]) => {
      judge.tries++;
      return Promise.resolve(names.every((name) => refs.some((ref) => ref.name === name)));
    },
  };
  return judge;
}

async function blamed(count: number, names: readonly string[], maxTries = 1_000): Promise<readonly string[]> {
  const refs = await blameByHalving(suspects(count), maxTries, guiltyAre(names).tryWithout);
  return refs.map(({ name }) => name).sort();
}

describe('blame by halving', () => {
  it('finds one guilty object among a thousand in a dozen tries', async () => {
    const judge = guiltyAre(['n700']);
    expect(await blameByHalving(suspects(1_000), 16, judge.tryWithout)).toEqual([
      { alias: 'sites', namespace: 'shop', name: 'n700' },
    ]);
    expect(judge.tries).toBeLessThanOrEqual(13);
  });

  it('finds exactly the guilty, however many they are', async () => {
    await fc.assert(
      fc.asyncProperty(
        fc
          .integer({ min: 1, max: 40 })
          .chain((count) =>
            fc.tuple(fc.constant(count), fc.uniqueArray(fc.integer({ min: 0, max: count - 1 }), { minLength: 1 })),
          ),
        async ([count, at]) => {
          const names = at.map((index) => `n${index}`);
          expect(await blamed(count, names)).toEqual([...names].sort());
        },
      ),
      { numRuns: 100 },
    );
  });

  it('never returns fewer than let the rest pass, however few tries it has, and never takes many more', async () => {
    await fc.assert(
      fc.asyncProperty(
        fc.uniqueArray(fc.integer({ min: 0, max: 29 }), { minLength: 1 }),
        fc.integer({ min: 1, max: 12 }),
        async (at, maxTries) => {
          const judge = guiltyAre(at.map((index) => `n${index}`));
          const refs = await blameByHalving(suspects(30), maxTries, judge.tryWithout);
          expect(judge.tries).toBeLessThanOrEqual(maxTries + 1);
          expect(await judge.tryWithout(refs)).toBe(true);
        },
      ),
      { numRuns: 100 },
    );
  });

  it('blames nobody when nobody is suspect, or when the rest does not pass without all of them', async () => {
    expect(await blamed(0, [])).toEqual([]);
    expect(await blamed(8, ['somebody else'])).toEqual([]);
  });
});

describe('blame by line', () => {
  let host: RenderHost;

  beforeAll(async () => {
    const config = renderConfig({
      components: [component('site', 'first <%= item.spec.line %>\nsecond\n')],
      outputs: [output('out.txt', "# the template's own\n<%~ group('lines') %>\n")],
    });
    host = await rootedHost(
      config,
      ['a', 'b', 'c'].map((name) => site(name, { line: `line-${name}` })),
    );
  });

  afterAll(() => host.close());

  it('names each object once, with every fault of its lines, and no warning', async () => {
    const rendered = await renderReview(host, site('d', { line: 'd' }));
    const render = rendered.kind === 'rendered' ? rendered.render : 0;
    const at = (line: number, text: string, severity: 'alert' | 'warning' = 'alert') => ({
      severity,
      file: 'out.txt',
      line,
      mentions: [],
      text,
    });
    const findings = [at(4, 'bad'), at(5, 'worse'), at(8, 'odd', 'warning'), at(1, 'of the template'), at(6, '')];
    const objects = await blameByLine(host, render, findings);
    expect(objects).toEqual([
      {
        alias: 'sites',
        namespace: 'shop',
        name: 'b',
        faults: [expect.stringContaining('bad'), expect.stringContaining('worse')],
        reason: expect.stringMatching(/spec\.line: the checker refuses it: bad$/),
      },
      {
        alias: 'sites',
        namespace: 'shop',
        name: 'c',
        faults: [expect.any(String)],
        reason: expect.stringContaining('withheld'),
      },
    ]);
  });
});
