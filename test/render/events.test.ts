import { expect, it } from '@jest/globals';

import { RenderHost } from '../../src/render/render-host.js';
import { component, renderConfig, site } from '../support/render-config.js';

it('an object that gives occasion to thousands of events records a hundred, and how many more there were', async () => {
  const text = "<% for (let i = 0; i < 5000; i++) event('Warning', 'Odd', `odd ${i} ${'x'.repeat(3000)}`); %>\n";
  const config = renderConfig({ components: [component('site', text)] });
  const host = new RenderHost({ config, objects: () => [site('a', {})] });
  try {
    const reply = await host.request('reconcile', { timeoutMs: undefined });
    if (reply.kind !== 'rendered') throw new Error(reply.kind);
    expect(reply.events).toHaveLength(101);
    expect(reply.events.at(-1)).toMatchObject({
      reason: 'MoreEvents',
      message: 'and 4900 more events of component site',
    });
    expect(Math.max(...reply.events.map(({ message }) => message.length))).toBe(1_024);
  } finally {
    await host.close();
  }
});
