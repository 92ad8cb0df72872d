import { mkdirSync } from 'node:fs';
import { join } from 'node:path';
import { setTimeout as delay } from 'node:timers/promises';
import type { Logger } from 'pino';
import { Admission } from '../admission/admission.js';
import type { ReviewRecord } from '../admission/review-record.js';
import type { Checker } from '../check/checker.js';
import { createHaproxyChecker, type HaproxyChecker } from '../check/haproxy-checker.js';
import { VerdictCache } from '../check/verdict-cache.js';
import type { Cluster } from '../cluster/cluster.js';
import type { RenderConfig } from '../config/render-config.js';
import { Coordinator, type ReconcileReport } from '../reconcile/coordinator.js';
import { createPublisher, type Publisher } from '../reconcile/publish-directory.js';
import type { Reloader } from '../reconcile/reload.js';
import { readState, writeState } from '../reconcile/state-file.js';
import type { QuarantineEntry, StoredQuarantine } from '../render/protocol.js';
import { RenderHost } from '../render/render-host.js';

export interface RuntimeOptions {
  readonly config: RenderConfig;
  readonly cluster: Pick<Cluster, 'objects'>;
  /** Output directory; undefined for commands that publish nothing. */
  readonly output: string | undefined;
  /** Further places that accepted configurations are published to. */
  readonly publishTo?: readonly Pick<Publisher, 'publish'>[];
  /** Told after each publication that HAProxy has to take it. */
  readonly reloader?: Reloader | undefined;
  readonly log: Logger;
  /** Replaces the real checker; for benchmarks. */
  readonly checker?: Checker;
  /** True where the coordinator publishes only in terms of leadership that it is given. */
  readonly isElected?: boolean;
  readonly onReview?: (record: ReviewRecord) => void;
  readonly onReconcile?: (report: ReconcileReport) => void;
}

/** Everything between the objects and the answers, wired together: what `serve`, `review`, `render` and the demo run. */
export interface Runtime {
  readonly host: RenderHost;
  readonly coordinator: Coordinator;
  readonly admission: Admission;
  readonly checker: Checker;
  close(): Promise<void>;
}

export function createRuntime(options: RuntimeOptions): Runtime {
  const { config, cluster, output, log } = options;
  const checker =
    options.checker ??
    createHaproxyChecker({ settings: config.check, log: (message, fields) => log.warn(fields, message) });
  const verdicts = new VerdictCache();
  const state = quarantineState(output, log);
  const host = new RenderHost({
    config,
    objects: () => cluster.objects(),
    quarantine: state.read,
    onRestart: (reason, instance) => {
      log.error({ reason, instance, effect: 'a new, cold thread starts; reviews wait for it' }, 'render thread lost');
      coordinator.threadLost(instance);
    },
  });
  const admission = new Admission({
    config,
    host,
    checker,
    verdicts,
    onReview: options.onReview ?? (() => undefined),
    onInternalError: (text) => log.error({ text }, 'review failed by an error of rendergate itself'),
  });
  const coordinator = new Coordinator({
    host,
    checker,
    verdicts,
    settings: config.render,
    publisher: output === undefined ? undefined : publisherTo(output, options.publishTo ?? []),
    reloader: options.reloader,
    restored: state.read()?.entries.filter(mayBeRetried) ?? [],
    isElected: options.isElected === true,
    saveQuarantine: state.write,
    log,
    onAccepted: (revision) => admission.ledger.accepted(revision),
    ...(options.onReconcile === undefined ? {} : { onReport: options.onReconcile }),
  });
  return { host, coordinator, admission, checker, close: () => closeAll(coordinator, host, checker) };
}

/** One publication is in the directory and in every further place, or has failed and is repeated whole. */
function publisherTo(output: string, further: readonly Pick<Publisher, 'publish'>[]): Publisher {
  const directory = createPublisher({ directory: output });
  return {
    current: () => directory.current(),
    publish: async (files, occurrence, signal) => {
      const published = await directory.publish(files, occurrence, signal);
      for (const place of further) await place.publish(files, occurrence, signal);
      return published;
    },
  };
}

/** What has killed a thread would do it again: it waits until it, or what it reads, has changed. */
function mayBeRetried({ faults }: QuarantineEntry): boolean {
  return !faults.some((fault) => fault.startsWith('thread '));
}

/** A render that can be cancelled stops at its next instance, long before that. */
const STOP_MS = 2_000;

async function closeAll(coordinator: Coordinator, host: RenderHost, checker: Checker): Promise<void> {
  const stopped = coordinator.close();
  // A template that never returns reads no cancel word: then ending the thread ends the render that waits for it.
  await Promise.race([stopped, delay(STOP_MS, undefined, { ref: false })]);
  await host.close();
  await stopped;
  if ('close' in checker) await (checker as HaproxyChecker).close();
}

/** Accepted revisions of quarantined objects stand beside the output, so that a restart renders the same (DESIGN 9). */
function quarantineState(
  output: string | undefined,
  log: Logger,
): { read: () => StoredQuarantine | undefined; write: (stored: StoredQuarantine, isLeader: boolean) => void } {
  // For the thread that succeeds a lost one; a follower leaves the file to the leader, whose output it may stand beside.
  let last: StoredQuarantine | undefined;
  if (output === undefined) return { read: () => last, write: (stored) => void (last = stored) };
  mkdirSync(output, { recursive: true });
  const file = join(output, 'quarantine.json');
  let saved = '';
  return {
    read: () => last ?? (readState(file, log) as StoredQuarantine | undefined),
    write: (stored, isLeader) => {
      last = stored;
      if (!isLeader) return;
      const text = JSON.stringify(stored);
      if (text === saved) return;
      if (writeState(file, stored, log)) saved = text;
    },
  };
}
