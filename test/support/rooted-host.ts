import type { RenderConfig } from '../../src/config/render-config.js';
import type { ObjectChange, ReviewRender } from '../../src/render/protocol.js';
import { RenderHost } from '../../src/render/render-host.js';

/** A render host with a real thread whose first render of these objects is accepted. */
export async function rootedHost(config: RenderConfig, objects: readonly ObjectChange[] = []): Promise<RenderHost> {
  const host = new RenderHost({ config, objects: () => objects });
  const reply = await host.request('reconcile', { timeoutMs: undefined });
  if (reply.kind !== 'rendered') {
    await host.close();
    throw new Error(`no first render: ${JSON.stringify(reply)}`);
  }
  await host.accept(reply.render);
  return host;
}

/** Renders a change over the accepted root, as a review does. */
export async function renderReview(host: RenderHost, change: ObjectChange): Promise<ReviewRender> {
  const body = { without: [], change, timeoutMs: 5_000, expiresAt: Date.now() + 5_000 };
  return (await host.request('review', body)).render;
}
