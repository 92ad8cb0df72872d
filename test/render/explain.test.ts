import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';

import type { Explanation } from '../../src/render/explanation.js';
import type { RenderHost } from '../../src/render/render-host.js';
import { component, output, renderConfig, site } from '../support/render-config.js';
import { rootedHost } from '../support/rooted-host.js';

/** Each site publishes the key that it wants, reads another site by name and all sites of its namespace. */
const CLAIM = "<% shared.publish('door', item.spec.door, 1, { rank: item.spec.rank }); %>";
const LINES = `<% if (item.spec.friend) resources.sites.find('shop', item.spec.friend); %>
<% if (item.spec.counts) resources.sites.get('shop'); %>
<% if (shared.select('doors', 'door', item.spec.door)) event('Warning', 'Door', 'a door'); %>
one of <%= item.metadata.name %>
two
`;

let host: RenderHost;
beforeAll(async () => {
  host = await openHost();
});
afterAll(() => host.close());

function openHost(): Promise<RenderHost> {
  const config = renderConfig({
    components: [component('claim', CLAIM, { group: 'doors' }), component('lines', LINES, { consumes: ['doors'] })],
    outputs: [output('out.txt', "head\n<%~ group('lines') %>\n")],
  });
  return rootedHost(config, [
    site('a', { door: 'front', rank: '2', friend: 'b' }),
    site('b', { door: 'front', rank: '1', friend: 'ghost' }),
    site('c', { door: 'back', rank: '1', counts: true }),
  ]);
}

function explained(name: string): Promise<Explanation> {
  return host.request('explain', { object: { alias: 'sites', namespace: 'shop', name } });
}

const instance = (explanation: Explanation, name: string) =>
  explanation.instances.find(({ component: found }) => found === name);

describe('explain', () => {
  it('names the instances that read the object, and how', async () => {
    const { stored, readers } = await explained('b');
    expect(stored).toBe(true);
    expect(readers.map(({ component: by, name, through }) => [by, name, through])).toEqual([
      ['lines', 'a', 'find sites shop/b'],
      ['lines', 'c', 'get sites shop'],
    ]);
  });

  it('names those that looked for an object in vain', async () => {
    const { stored, readers, instances } = await explained('ghost');
    expect([stored, instances]).toEqual([false, []]);
    expect(readers.map(({ name, through }) => [name, through])).toEqual([['b', 'find sites shop/ghost']]);
  });

  it('says what its instances read, wrote and recorded', async () => {
    const lines = instance(await explained('b'), 'lines');
    expect(lines?.reads).toEqual(['find sites shop/b', 'find sites shop/ghost', 'select doors door front']);
    expect(lines?.wrote).toEqual([{ output: 'out.txt', from: 4, to: 5 }]);
    expect(lines?.events).toEqual(['Warning Door: a door']);
  });

  it('says who has a contested key, and who is next', async () => {
    const [won] = instance(await explained('b'), 'claim')?.claims ?? [];
    expect(won).toMatchObject({ cell: 'door', key: 'front', won: true, winner: { name: 'b' }, next: { name: 'a' } });
    const [lost] = instance(await explained('a'), 'claim')?.claims ?? [];
    expect(lost).toMatchObject({ won: false, winner: { name: 'b', rank: '1' }, next: { name: 'a', rank: '2' } });
    const [alone] = instance(await explained('c'), 'claim')?.claims ?? [];
    expect(alone).toMatchObject({ won: true, winner: { name: 'c' } });
    expect(alone?.next).toBeUndefined();
  });
});
