import { join } from 'node:path';
import pino, { type Logger } from 'pino';
import type { ApiClient } from '../cluster/api-client.js';
import type { ReviewRecord } from '../admission/review-record.js';
import type { Checker } from '../check/checker.js';
import type { HaproxyChecker } from '../check/haproxy-checker.js';
import type { RenderConfig } from '../config/render-config.js';
import { developmentCertificate, loadCertificate, watchCertificate } from '../server/certificates.js';
import { VersionWatch } from '../reconcile/version-watch.js';
import { startServer, type RunningServer } from '../server/https-server.js';
import { createMetrics, type Metrics } from '../server/metrics.js';
import { installShutdown } from '../server/shutdown.js';
import { type DutyFlags, openDuties } from './cluster-duties.js';
import { UsageError } from './failure.js';
import { loadCheckedConfig } from './load.js';
import { watchMemory } from './memory-watch.js';
import { type ClusterOptions, openCluster } from './open-cluster.js';
import { openSiblings, serverNames, type SiblingFlags } from './open-siblings.js';
import { openReloader, type ReloadFlags } from './open-reloader.js';
import { ownNamespace } from './own-namespace.js';
import { readyChecks } from './ready-checks.js';
import { createRuntime, type Runtime, type RuntimeOptions } from './runtime.js';

export interface ServeOptions extends ClusterOptions, SiblingFlags, ReloadFlags, DutyFlags {
  readonly config: string;
  readonly output: string;
  readonly host: string;
  readonly healthPort: number;
  readonly certs: string;
  readonly tlsCert?: string;
  readonly tlsKey?: string;
  readonly propagation: number;
  readonly logLevel: string;
  /** Accepted configurations are published to this Secret too. */
  readonly publishSecret?: string;
}

/** Reviews in flight at SIGTERM get this long; the API server's own limit is 30 s. */
const DRAIN_MS = 30_000;
/** Gauges that follow the render thread are refreshed as often as Prometheus usually scrapes. */
const LEVELS_EVERY_MS = 15_000;

export interface Service {
  readonly runtime: Runtime;
  readonly server: RunningServer;
  readonly metrics: Metrics;
  /** Path of the CA to trust for the development certificate. */
  readonly ca: string | undefined;
  close(): Promise<void>;
}

export async function serve(options: ServeOptions): Promise<void> {
  const log = pino({ level: options.logLevel, base: null });
  const service = await startService(loadCheckedConfig(options.config), options, log);
  installShutdown(
    {
      startDraining: () => service.server.startDraining(),
      propagationMs: options.propagation * 1000,
      close: () => service.close(),
    },
    log,
  );
}

/** For the demo and for benchmarks. */
export interface ServiceExtra {
  readonly onReview?: (record: ReviewRecord) => void;
  readonly checker?: Checker;
}

/** Starts everything; the server listens before the first render has ended, so that reviews meet the gate and not a closed port. */
export async function startService(
  config: RenderConfig,
  options: ServeOptions,
  log: Logger,
  extra: ServiceExtra = {},
): Promise<Service> {
  const { cluster, from, client } = await openCluster(config, options);
  const duties = await openDuties(config, options, client, log);
  const ownTls = duties.certificate === undefined ? await certificateOf(options) : undefined;
  const metrics = createMetrics();
  const siblings = await openSiblings(options, client, () => duties.certificate?.caBundle ?? ownTls?.ca, log);
  // Before the thread starts: it is fed with what the first batch brought.
  const early: ((runtime: Runtime) => void)[] = [];
  let take = (deliver: (runtime: Runtime) => void): void => void early.push(deliver);
  const { synced } = await cluster.watch(log, {
    listed: (aliases, changes) => take(({ coordinator }) => coordinator.relist(aliases, changes)),
    changed: (changes) => take(({ admission, coordinator }) => admission.shown(changes, coordinator.change(changes))),
  });
  // Read only when HAProxy was reloaded, which comes after.
  const versions = new VersionWatch(() => checkerVersion(runtime), log);
  const runtime = createRuntime({
    config,
    cluster,
    output: options.output,
    ...(await secretPublisher(options, client)),
    reloader: openReloader(options, log, (version) => void versions.compare(version)),
    isElected: duties.isElected,
    log,
    onReview: (record) => {
      logReview(log, record);
      metrics.recordReview(record);
      extra.onReview?.(record);
    },
    ...(extra.checker === undefined ? {} : { checker: extra.checker }),
    onReconcile: (report) => metrics.recordReconcile(report),
  });
  take = (deliver) => deliver(runtime);
  early.forEach(take);
  if (duties.isElected) duties.eachTerm((term) => leadIn(term, runtime, metrics));
  metrics.setLevels({ isLeader: !duties.isElected });
  // Not before: whoever can't list the objects would keep the others from publishing.
  void synced.then(() => duties.start());
  void checkerVersion(runtime).then((version) => log.info({ version: version ?? 'unknown' }, 'checker'));
  const tls = ownTls ?? { ...(await duties.ready), caFile: undefined };
  const server = await startServer({
    host: options.host,
    port: options.port,
    healthPort: options.healthPort,
    tls,
    maxBodyBytes: config.admission.maxBodyBytes,
    review: (call) => runtime.admission.handle(call),
    live: [{ name: 'ping', check: () => ({ ok: true }) }],
    ready: [...readyChecks({ ...runtime, cluster, siblings }), ...duties.checks],
    metrics,
    log,
    drainMs: DRAIN_MS,
  });
  duties.onPair = (pair) => server.setTls(pair);
  // One that came between.
  if (duties.certificate?.pair !== undefined) server.setTls(duties.certificate.pair);
  void synced.then(() => runtime.coordinator.start());
  const watch = watchTls(options, server, log);
  const memory = watchMemory({ log });
  const levels = setInterval(() => void refreshLevels(runtime, metrics), LEVELS_EVERY_MS);
  levels.unref();
  log.info(
    {
      host: options.host,
      port: server.port,
      healthPort: server.healthPort,
      ca: tls.caFile,
      resources: from,
      output: options.output,
    },
    'listening',
  );
  return {
    runtime,
    server,
    metrics,
    ca: tls.caFile,
    close: async () => {
      clearInterval(levels);
      memory.close();
      watch.close();
      await server.close();
      siblings?.close();
      // While the API server can still be called.
      await duties.close();
      await cluster.close();
      await runtime.close();
    },
  };
}

function leadIn(term: AbortSignal, { coordinator }: Runtime, metrics: Metrics): void {
  metrics.setLevels({ isLeader: true });
  term.addEventListener('abort', () => metrics.setLevels({ isLeader: false }), { once: true });
  coordinator.lead(term);
}

async function secretPublisher(
  { namespace, publishSecret: secret }: ServeOptions,
  client: ApiClient | undefined,
): Promise<Pick<RuntimeOptions, 'publishTo'>> {
  if (secret === undefined) return {};
  if (client === undefined) throw new UsageError('--publish-secret needs a cluster: give --kube or --kubeconfig');
  const { SecretPublisher } = await import('../cluster/secret-publisher.js');
  return { publishTo: [new SecretPublisher({ client, namespace: ownNamespace(namespace), secret })] };
}

async function certificateOf(
  options: ServeOptions,
): Promise<{ cert: string; key: string; ca?: string; caFile: string | undefined }> {
  const { tlsCert, tlsKey, certs } = options;
  if ((tlsCert === undefined) !== (tlsKey === undefined))
    throw new UsageError('--tls-cert and --tls-key go together: give both or neither');
  if (tlsCert !== undefined && tlsKey !== undefined)
    return { ...loadCertificate({ certFile: tlsCert, keyFile: tlsKey }), caFile: undefined };
  const made = await developmentCertificate(certs, serverNames(options));
  return { ...made, caFile: join(certs, 'ca.crt') };
}

function watchTls(options: ServeOptions, server: RunningServer, log: Logger): { close(): void } {
  const { tlsCert, tlsKey } = options;
  if (tlsCert === undefined || tlsKey === undefined) return { close: () => undefined };
  return watchCertificate({ certFile: tlsCert, keyFile: tlsKey }, (pair) => server.setTls(pair), log);
}

async function checkerVersion({ checker }: Runtime): Promise<string | undefined> {
  return 'probeVersion' in checker ? (checker as HaproxyChecker).probeVersion() : undefined;
}

function logReview(log: Logger, record: ReviewRecord): void {
  const { message, phasesMs, totalMs, ...rest } = record;
  const phases = Object.fromEntries(
    Object.entries(phasesMs).map(([phase, ms]: [string, number]) => [phase, round(ms)]),
  );
  log.info(
    {
      ...rest,
      phasesMs: phases,
      totalMs: round(totalMs),
      ...(message === '' ? {} : { cause: message.split('\n')[0] }),
    },
    'review',
  );
}

function round(ms: number): number {
  return Math.round(ms * 100) / 100;
}

async function refreshLevels(runtime: Runtime, metrics: Metrics): Promise<void> {
  const { host, admission } = runtime;
  if (!host.rooted) return metrics.setLevels({ coldRender: host.progress, queueLength: admission.queueLength });
  const status = await host.request('status', null).catch(() => undefined);
  if (status === undefined) return;
  metrics.setLevels({
    quarantinedObjects: status.quarantined.length,
    instances: status.instances,
    graphNodes: status.nodes,
    storedObjects: new Map(Object.entries(status.objects)),
    ledgerEntries: admission.ledger.size,
    queueLength: admission.queueLength,
  });
}
