import { type MessagePort, parentPort, workerData } from 'node:worker_threads';
import type { RenderConfig } from '../config/render-config.js';
import { createCompartment, lockdownThread } from '../template/compartment.js';
import { TemplateHost } from '../template/template-host.js';
import { planRender } from './plan.js';
import { Doorbell } from './doorbell.js';
import { ProgressBuffer } from './progress.js';
import { Renderer } from './renderer.js';
import { type Handlers, RequestLoop } from './request-loop.js';
import { Reviewer } from './reviewer.js';

/** What the render thread is started with. */
export interface ThreadData {
  readonly config: string;
  readonly progress: SharedArrayBuffer;
  readonly doorbell: SharedArrayBuffer;
}

/** Part of the thread's heap that a render may use before it ends with a message; the rest is room for the collector. */
const SOFT_HEAP_SHARE = 0.8;

function createHandlers(renderer: Renderer, reviewer: Reviewer): Handlers {
  return {
    store: ({ changes, replace, relist }) => {
      const { stores } = renderer;
      if (relist !== undefined) return { refused: stores.relist(relist, changes) };
      return { refused: replace === undefined ? stores.apply(changes) : stores.replace(replace, changes) };
    },
    reconcile: ({ timeoutMs }, id) => renderer.reconcile(timeoutMs, id),
    review: (body) => reviewer.review(body),
    combine: (body) => reviewer.combine(body),
    files: ({ render }) => renderer.files(render),
    acceptedFiles: () => renderer.acceptedFiles(),
    explain: ({ object }) => renderer.explain(object),
    trace: ({ render, findings }) => renderer.trace(render, findings),
    accept: ({ render }) => renderer.accept(render),
    quarantine: ({ objects }) => nothing(renderer.putAside(objects)),
    unquarantine: ({ objects }) => nothing(renderer.unquarantine(objects)),
    suspects: () => renderer.suspects(),
    restore: (stored) => nothing(renderer.restore(stored)),
    remember: (body) => nothing(reviewer.remember(body)),
    forget: (body) => nothing(reviewer.forget(body)),
    release: ({ render }) => nothing(reviewer.release(render)),
    status: () => renderer.status(),
  };
}

function nothing(_done: void): null {
  return null;
}

function start(port: MessagePort): void {
  const { config: configText, progress, doorbell } = workerData as ThreadData;
  const config = JSON.parse(configText) as RenderConfig;
  lockdownThread();
  const host = new TemplateHost(createCompartment(), config, config.render.maxInstanceBytes);
  const softHeapBytes = config.render.heapMiB * 1024 * 1024 * SOFT_HEAP_SHARE;
  const renderer = new Renderer({
    plan: planRender(config),
    host,
    progress: new ProgressBuffer(progress),
    softHeapBytes,
  });
  const reviewer = new Reviewer(renderer);
  const handlers = createHandlers(renderer, reviewer);
  const loop = new RequestLoop(port, new Doorbell(doorbell), handlers, renderer, reviewer);
  port.on('message', (text: string) => loop.take(text));
}

if (parentPort !== null) start(parentPort);
