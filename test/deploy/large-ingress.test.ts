import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { loadConfig } from '../../src/config/load-config.js';
import type { ObjectChange } from '../../src/render/protocol.js';
import { RenderHost } from '../../src/render/render-host.js';
import { SHIPPED_CONFIG } from '../support/project.js';

const MANY = 15_000;

const ingressClass: ObjectChange = {
  alias: 'ingressclasses',
  namespace: '',
  name: 'haproxy',
  text: JSON.stringify({ metadata: { name: 'haproxy' }, spec: { controller: 'rendergate.dev/haproxy' } }),
};

function ingress(spec: object): ObjectChange {
  const object = { metadata: { name: 'web', namespace: 'shop' }, spec: { ingressClassName: 'haproxy', ...spec } };
  return { alias: 'ingresses', namespace: 'shop', name: 'web', text: JSON.stringify(object) };
}

describe('An Ingress of half a megabyte', () => {
  let host: RenderHost;

  beforeAll(async () => {
    host = new RenderHost({ config: loadConfig(SHIPPED_CONFIG), objects: () => [ingressClass] });
    const reply = await host.request('reconcile', { timeoutMs: undefined });
    if (reply.kind !== 'rendered') throw new Error(JSON.stringify(reply));
    await host.accept(reply.render);
  });

  afterAll(() => host.close());

  it('does not take the product of its hosts and its TLS entries', async () => {
    const rules = Array.from({ length: MANY }, (_, at) => ({ host: `h${at}` }));
    const tls = Array.from({ length: MANY }, () => ({ secretName: 'missing' }));
    const change = ingress({ rules, tls });
    // The product takes three times this on a fast machine, the sum a twentieth.
    const body = { without: [], change, timeoutMs: 4_000, expiresAt: Date.now() + 60_000 };
    const { render } = await host.request('review', body);
    expect(render.kind).toBe('rendered');
  });
});
