import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';

import { component, renderConfig, site } from '../support/render-config.js';
import { openRooted, type World } from '../support/runtime-world.js';
import { ScriptedChecker } from '../support/scripted-checker.js';
import { post } from './posting.js';

/** What a Site may do: write a line, fail, warn, or need another one. */
const TEMPLATE = `<% if (item.spec.bad) fail('spec.bad', 'must not be set'); %>
<% if (item.spec.needs && !resources.sites.find('shop', item.spec.needs)) { %>
refused without <%= item.spec.needs %>
<% } %>
<% if (item.spec.warn) event('Warning', 'Warned', 'shop/' + item.metadata.name + ': ' + item.spec.warn); %>
<%= item.spec.line %>
`;

const checker = new ScriptedChecker();
let world: World;

beforeAll(async () => {
  const config = renderConfig({ components: [component('site', TEMPLATE)] });
  const objects = [
    site('old', { line: 'old' }),
    site('needy', { line: 'needy', needs: 'old' }),
    site('faulty', { line: 'faulty', bad: true }),
    site('standing', { line: 'refused standing' }),
  ];
  world = await openRooted({ config, checker, objects });
});

afterAll(() => world.close());

describe('the verdict on a change', () => {
  it('is allowed by one checker run, and executes what the change concerns', async () => {
    const reply = await post(world, 'new', { line: 'new' }, { dryRun: true });
    expect(reply).toMatchObject({ allowed: true, reason: 'passed', executed: 1, checkerRuns: 1 });
  });

  it('is allowed without a run where the same files have passed already', async () => {
    await post(world, 'twice', { line: 'twice' }, { dryRun: true });
    const again = await post(world, 'twice', { line: 'twice' }, { dryRun: true });
    expect(again).toMatchObject({ allowed: true, reason: 'known', checkerRuns: 0 });
  });

  it('is allowed without a run where no output changes', async () => {
    const labels = { labels: { a: 'b' } };
    const reply = await post(world, 'old', { line: 'old' }, { operation: 'UPDATE', metadata: labels });
    expect(reply).toMatchObject({ allowed: true, reason: 'unchanged', checkerRuns: 0 });
  });

  it('is a deny that names object, field, line and template where the checker refuses it', async () => {
    const reply = await post(world, 'new', { line: 'refused word' });
    expect(reply).toMatchObject({ allowed: false, code: 422, reason: 'refused', checkerRuns: 1 });
    expect(reply.message).toContain("sites shop/new: spec.line: unknown keyword 'refused word'");
    expect(reply.message).toMatch(/template site, test\.yaml:6/);
  });

  it('is a deny without a run where the render fails', async () => {
    const reply = await post(world, 'new', { line: 'x', bad: true });
    expect(reply).toMatchObject({ allowed: false, code: 422, reason: 'refused', checkerRuns: 0 });
    expect(reply.message).toContain('sites shop/new: spec.bad: must not be set');
  });

  it('is a deny where the object cannot be taken in', async () => {
    const deep = JSON.parse(`${'['.repeat(61)}${']'.repeat(61)}`) as unknown;
    const reply = await post(world, 'new', { line: 'x', deep: { deep: { deep } } });
    expect(reply).toMatchObject({ allowed: false, reason: expect.stringMatching(/object|malformed/) });
    expect(reply.message).toContain('64 levels');
  });

  it('shows the warnings of the object with every verdict', async () => {
    const allowed = await post(world, 'new', { line: 'x', warn: 'careful' }, { dryRun: true });
    expect(allowed.warnings).toContain('shop/new: careful');
    const denied = await post(world, 'new', { line: 'refused', warn: 'careful' }, { dryRun: true });
    expect(denied.warnings).toContain('shop/new: careful');
  });
});

describe('a fault that stood before the change', () => {
  it('is named in a warning to others of its namespace, and is not theirs', async () => {
    const reply = await post(world, 'neighbour', { line: 'fine' }, { dryRun: true });
    expect(reply.allowed).toBe(true);
    expect(reply.warnings).toEqual([
      expect.stringMatching(/^shop\/faulty is not served: spec\.bad: must not be set/),
      expect.stringMatching(/^shop\/standing is not served: .*unknown keyword/),
    ]);
  });

  it.each([
    ['faulty', { line: 'faulty', bad: true, more: 1 }],
    ['standing', { line: 'refused standing', more: 1 }],
  ])('lets an update of %s pass that leaves it as it was, with a warning', async (name, spec) => {
    const reply = await post(world, name, spec, { operation: 'UPDATE', metadata: { labels: { a: 'b' } } });
    expect(reply).toMatchObject({ allowed: true, reason: 'same-fault' });
    expect(reply.warnings[0]).toMatch(new RegExp(`^shop/${name} is still not served: `));
  });

  it('does not cover another fault', async () => {
    const reply = await post(world, 'standing', { line: 'refused otherwise' }, { operation: 'UPDATE' });
    expect(reply).toMatchObject({ allowed: false, code: 422 });
  });

  it('goes with its repair or its removal', async () => {
    const repair = await post(world, 'faulty', { line: 'mended' }, { operation: 'UPDATE', dryRun: true });
    expect(repair).toMatchObject({ allowed: true, reason: 'passed' });
    const removal = await post(world, 'standing', {}, { operation: 'DELETE', dryRun: true });
    expect(removal.allowed).toBe(true);
  });
});

describe('what is on its way out', () => {
  it('is never held up by a fault that its deletion gives another object, which a warning names', async () => {
    const reply = await post(world, 'old', { line: 'old' }, { operation: 'DELETE' });
    expect(reply).toMatchObject({ allowed: true, reason: 'deletion' });
    expect(reply.warnings[0]).toContain('sites shop/needy will not be served any more: ');
  });

  it.each([
    ['the render', { line: 'x', bad: true }],
    ['the checker', { line: 'refused dying' }],
  ])('is not held up by a fault of its own while only finalizers keep it: %s', async (_, spec) => {
    const metadata = { deletionTimestamp: '2026-01-01T00:00:00Z', finalizers: [] };
    const reply = await post(world, 'dying', spec, { operation: 'UPDATE', metadata });
    expect(reply).toMatchObject({ allowed: true, reason: 'dying' });
    expect(reply.warnings[0]).toMatch(/^shop\/dying is still not served: /);
  });

  it('does not enter the ledger with its fault, so that the next review does not answer for it', async () => {
    expect(world.runtime.admission.ledger.size).toBeLessThanOrEqual(1);
    const reply = await post(world, 'after', { line: 'fine' }, { dryRun: true });
    expect(reply.allowed).toBe(true);
  });
});
