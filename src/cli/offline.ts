import pino from 'pino';
import { acceptsOf, EmbeddedCluster } from '../cluster/embedded-cluster.js';
import type { RenderConfig } from '../config/render-config.js';
import { loadCheckedConfig } from './load.js';
import { showProgress } from './progress-bar.js';
import { createRuntime, type Runtime } from './runtime.js';

export interface Offline {
  readonly config: RenderConfig;
  readonly cluster: EmbeddedCluster;
  readonly runtime: Runtime;
}

/** Warnings and worse go to stderr as plain lines; stdout is for the result. */
const stderrLog = pino(
  { level: 'warn', base: null, timestamp: false },
  {
    write: (line: string) => {
      const { msg, ...fields } = JSON.parse(line) as Record<string, unknown>;
      const detail = Object.values(fields).filter((value) => typeof value === 'string');
      process.stderr.write(`warning: ${[msg, detail.join('; ')].filter((part) => part !== '').join(': ')}\n`);
    },
  },
);

/** Reads configuration and manifests and brings the render to its first accepted state; `work` runs on top. */
export async function offline<T>(
  options: { readonly config: string | RenderConfig; readonly resources: string },
  work: (offline: Offline) => Promise<T>,
): Promise<T> {
  const config = typeof options.config === 'string' ? loadCheckedConfig(options.config) : options.config;
  const cluster = new EmbeddedCluster(options.resources, acceptsOf(config.watchedResources));
  for (const problem of cluster.load()) process.stderr.write(`warning: ${describe(problem)}\n`);
  const runtime = createRuntime({ config, cluster, output: undefined, log: stderrLog });
  const progress = showProgress(runtime.host);
  try {
    runtime.coordinator.start();
    await runtime.coordinator.settled();
    progress.stop();
    return await work({ config, cluster, runtime });
  } finally {
    progress.stop();
    await runtime.close();
  }
}

function describe(problem: object): string {
  return Object.values(problem)
    .filter((value) => typeof value === 'string' || typeof value === 'number')
    .join(': ');
}
