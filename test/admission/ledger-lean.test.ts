import { afterEach, describe, expect, it } from '@jest/globals';

import { component, renderConfig, site } from '../support/render-config.js';
import { openRooted, type World } from '../support/runtime-world.js';
import { ScriptedChecker } from '../support/scripted-checker.js';
import { post } from './posting.js';

/** A Site writes its line only if another Site asks for it, or is there. */
const TEMPLATE = `<% const user = item.spec.user ? resources.sites.find('shop', item.spec.user) : { spec: { uses: item.metadata.name } }; %>
<% if (user?.spec.uses === item.metadata.name) { %>
<%= item.spec.line %>
<% } %>
`;

let world: World;
afterEach(() => world.close());

function open(): Promise<World> {
  const config = renderConfig({ components: [component('site', TEMPLATE)] });
  const objects = [site('part', { line: 'good', user: 'whole' }), site('whole', { line: 'whole', uses: 'part' })];
  return openRooted({ config, checker: new ScriptedChecker(), objects });
}

describe('a change that passes only with one admitted a moment ago', () => {
  it('is not admitted: that one may never be stored', async () => {
    world = await open();
    const bad = { line: 'refused', user: 'whole' };
    expect(await post(world, 'part', bad, { operation: 'UPDATE' })).toMatchObject({ allowed: false, code: 422 });
    expect(await post(world, 'whole', { line: 'whole' }, { operation: 'UPDATE' })).toMatchObject({ allowed: true });
    const reply = await post(world, 'part', bad, { operation: 'UPDATE' });
    expect(reply).toMatchObject({ allowed: false, code: 503, reason: 'ledger' });
    expect(reply.message).toContain('passes only with a change that was admitted a moment ago');
  });

  it('is admitted once it is stored', async () => {
    world = await open();
    await post(world, 'whole', { line: 'whole' }, { operation: 'UPDATE' });
    await world.store(site('whole', { line: 'whole' }));
    const reply = await post(world, 'part', { line: 'refused', user: 'whole' }, { operation: 'UPDATE' });
    expect(reply).toMatchObject({ allowed: true });
  });
});

it('a change that reads one admitted a moment ago and passes without it too is admitted', async () => {
  world = await open();
  await post(world, 'whole', { line: 'other', uses: 'part' }, { operation: 'UPDATE' });
  const reply = await post(world, 'part', { line: 'better', user: 'whole' }, { operation: 'UPDATE' });
  expect(reply).toMatchObject({ allowed: true, checkerRuns: 1 });
});

it('a change that has nothing to do with the ledger is judged by one run', async () => {
  world = await open();
  await post(world, 'first', { line: 'first' });
  const before = (world.runtime.checker as ScriptedChecker).runs;
  expect(await post(world, 'second', { line: 'second' })).toMatchObject({ allowed: true });
  expect((world.runtime.checker as ScriptedChecker).runs).toBe(before + 1);
});
