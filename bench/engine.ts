import { fileURLToPath } from 'node:url';
import { loadConfig } from '../src/config/load-config.js';
import type { RenderConfig } from '../src/config/render-config.js';
import { planRender, type RenderPlan } from '../src/render/plan.js';
import { ProgressBuffer } from '../src/render/progress.js';
import type { ObjectChange, ReconcileReply } from '../src/render/protocol.js';
import { Renderer } from '../src/render/renderer.js';
import { createCompartment, lockdownThread } from '../src/template/compartment.js';
import { TemplateHost } from '../src/template/template-host.js';
import { cluster, type Manifest } from './data.js';

export type Rendered = ReconcileReply & { readonly kind: 'rendered' };

/** The configuration that is shipped, with its bounds as they are. */
export function shippedConfig(): RenderConfig {
  // This file runs from dist/bench.
  return loadConfig(fileURLToPath(new URL('../../deploy/haproxy/rendergate.yaml', import.meta.url)));
}

/** One template host in a locked-down process, as the render thread has it: both sides of every comparison run in it. */
export interface TemplateWorld {
  readonly config: RenderConfig;
  readonly plan: RenderPlan;
  readonly host: TemplateHost;
}

export function templateWorld(): TemplateWorld {
  const config = shippedConfig();
  lockdownThread();
  const host = new TemplateHost(createCompartment(), config, config.render.maxInstanceBytes);
  return { config, plan: planRender(config), host };
}

/** A renderer that has all objects of such a cluster in its stores and has rendered nothing yet. */
export function fedRenderer({ plan, host }: TemplateWorld, ingresses: number): Renderer {
  const renderer = new Renderer({ plan, host, progress: new ProgressBuffer(), softHeapBytes: Number.MAX_SAFE_INTEGER });
  const refused = renderer.stores.apply(changesOf(cluster(ingresses)));
  if (refused.length > 0) throw new Error(`the generated data was refused: ${refused[0] ?? ''}`);
  return renderer;
}

/** What a cycle of the reconcile loop asks of the render thread, but for the check: render, accept, flat text. */
export function reconcile(renderer: Renderer): Rendered {
  const reply = renderer.reconcile(renderer.context.plan.config.render.timeoutMs);
  if (reply.kind !== 'rendered') throw new Error(`the render ended as ${reply.kind}`);
  if (reply.quarantined.length > 0) throw new Error(`quarantined: ${reply.quarantined[0]?.reason ?? ''}`);
  renderer.accept(reply.render);
  return reply;
}

const ALIASES: ReadonlyMap<string, string> = new Map([
  ['Ingress', 'ingresses'],
  ['IngressClass', 'ingressclasses'],
  ['Service', 'services'],
  ['EndpointSlice', 'endpointslices'],
]);

export function changesOf(manifests: readonly Manifest[]): ObjectChange[] {
  return manifests.map((manifest) => {
    const { namespace, name } = manifest['metadata'] as { readonly namespace?: string; readonly name: string };
    const alias = ALIASES.get(String(manifest['kind'])) ?? '';
    return { alias, namespace: namespace ?? '', name, text: JSON.stringify(manifest) };
  });
}
