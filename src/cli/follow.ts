import pino, { type Logger } from 'pino';
import type { OccurrenceFile, OccurrenceIndex } from '../cluster/published-occurrence.js';
import { createPublisher } from '../reconcile/publish-directory.js';
import { ReloadLoop } from '../reconcile/reload-loop.js';
import type { HealthResult } from '../server/contract.js';
import { startHealthServer } from '../server/https-server.js';
import { createMetrics } from '../server/metrics.js';
import { installShutdown } from '../server/shutdown.js';
import { apiClient } from './open-cluster.js';
import { openReloader, type ReloadFlags } from './open-reloader.js';
import { ownNamespace } from './own-namespace.js';

export interface FollowOptions extends ReloadFlags {
  readonly namespace?: string;
  readonly secret: string;
  readonly output: string;
  readonly once: boolean;
  readonly kubeconfig?: string;
  readonly context?: string;
  readonly host: string;
  readonly healthPort: number;
  readonly logLevel: string;
}

/** Beside a HAProxy: keeps its directory at the occurrence that the leader published (issue of live clusters, part 9). */
export async function follow(options: FollowOptions): Promise<void> {
  const log = pino({ level: options.logLevel, base: null });
  const { OccurrenceFollower } = await import('../cluster/occurrence-follower.js');
  const { secret, kubeconfig, context, once } = options;
  const namespace = ownNamespace(options.namespace);
  const client = await apiClient(kubeconfig, context);
  const reloader = openReloader(options, log);
  const closing = new AbortController();
  const reloads = reloader === undefined ? undefined : new ReloadLoop(reloader, log, closing.signal);
  const follower = new OccurrenceFollower({ client, namespace, secret, log, take: taker(options, reloads, log) });
  const close = async (): Promise<void> => {
    closing.abort();
    await follower.close();
    await client.close();
  };
  follower.start();
  log.info({ secret: `${namespace}/${secret}`, output: options.output, server: client.server }, 'following');
  if (once) return follower.taken.then(close);
  const check = (): HealthResult => readiness(follower.running, follower.problem ?? reloads?.problem);
  const health = await startHealthServer({
    host: options.host,
    healthPort: options.healthPort,
    live: [{ name: 'ping', check: () => ({ ok: true }) }],
    ready: [{ name: 'configuration', check }],
    metrics: createMetrics(),
    log,
  });
  log.info({ host: options.host, healthPort: health.healthPort }, 'listening');
  const ended = async (): Promise<void> => void (await Promise.all([health.close(), close()]));
  installShutdown({ startDraining: () => undefined, propagationMs: 0, close: ended }, log);
}

function taker(options: FollowOptions, reloads: ReloadLoop | undefined, log: Logger) {
  const publisher = createPublisher({ directory: options.output, log });
  return async (files: readonly OccurrenceFile[], { occurrence }: OccurrenceIndex): Promise<void> => {
    const { path } = await publisher.publish(files, occurrence);
    log.debug({ path }, 'written');
    await reloads?.reload();
  };
}

/** Ready while HAProxy has a configuration: an old one serves better than none. */
function readiness(running: OccurrenceIndex | undefined, problem: string | undefined): HealthResult {
  if (running === undefined) return { ok: false, reason: problem ?? 'the first occurrence is being taken' };
  const inForce = `${running.occurrence} (${running.digest.slice(0, 16)})`;
  return { ok: true, note: problem === undefined ? inForce : `${inForce}; ${problem}` };
}
