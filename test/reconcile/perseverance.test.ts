import { join } from 'node:path';

import { afterEach, describe, expect, it } from '@jest/globals';

import type { CheckOutcome, CheckRequest } from '../../src/check/checker.js';
import { component, renderConfig, site } from '../support/render-config.js';
import { openRooted, openWorld, type World } from '../support/runtime-world.js';
import { makeScratch, type Scratch } from '../support/scratch.js';
import { byLine, ScriptedChecker } from '../support/scripted-checker.js';

let scratch: Scratch | undefined;
let world: World | undefined;
afterEach(async () => {
  await world?.close();
  scratch?.remove();
});

/** Like HAProxy with certificates: names one fault, whatever there are. */
async function oneAtATime(request: CheckRequest): Promise<CheckOutcome> {
  const outcome = await byLine(request);
  return outcome.kind === 'refused' ? { ...outcome, findings: outcome.findings.slice(0, 1) } : outcome;
}

describe('the reconcile loop', () => {
  it('gets on with more bad objects than one cycle may check', async () => {
    const bad = Array.from({ length: 40 }, (_, at) => site(`bad${at}`, { line: `refused ${at}` }));
    const checker = new ScriptedChecker(oneAtATime);
    world = openWorld({ config: renderConfig(), objects: [...bad, site('good', { line: 'good' })], checker });
    world.runtime.coordinator.start();
    await world.runtime.coordinator.settled();
    expect(world.runtime.coordinator.quarantined).toHaveLength(40);
    expect(world.reports.map(({ result }) => result)).toEqual(['refused', 'refused', 'unchanged']);
    const files = await world.runtime.host.request('acceptedFiles', null);
    expect(files.map(({ text }) => text)).toEqual(['good\n']);
  });

  it('gives what an earlier process put aside another try, since the configuration may have changed', async () => {
    scratch = makeScratch();
    const output = join(scratch.path, 'out');
    const template = "<% if (!extraContext.raw) fail('spec.line', 'is switched off'); %>\n<%= item.spec.line %>\n";
    const config = (raw: boolean) => renderConfig({ components: [component('site', template)], extraContext: { raw } });
    const objects = [site('a', { line: 'one' })];
    const first = await openRooted({ config: config(false), objects, output });
    expect(first.runtime.coordinator.quarantined).toHaveLength(1);
    await first.close();

    world = await openRooted({ config: config(true), objects, output });
    await world.runtime.coordinator.settled();
    expect(world.runtime.coordinator.quarantined).toEqual([]);
    const files = await world.runtime.host.request('acceptedFiles', null);
    expect(files.map(({ text }) => text)).toEqual(['one\n']);
  });
});
