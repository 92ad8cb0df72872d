import pino from 'pino';

import type { ReviewRecord } from '../../src/admission/review-record.js';
import type { Checker } from '../../src/check/checker.js';
import { createRuntime, type Runtime, type RuntimeOptions } from '../../src/cli/runtime.js';
import { acceptsOf, EmbeddedCluster } from '../../src/cluster/embedded-cluster.js';
import type { RenderConfig } from '../../src/config/render-config.js';
import type { ReconcileReport } from '../../src/reconcile/coordinator.js';
import { createReloader, type ReloadTarget } from '../../src/reconcile/reload.js';
import type { ObjectChange } from '../../src/render/protocol.js';
import { ScriptedChecker } from './scripted-checker.js';

export interface WorldOptions {
  readonly config: RenderConfig;
  readonly objects?: readonly ObjectChange[];
  readonly checker?: Checker;
  /** Output directory; nothing is published without one. */
  readonly output?: string;
  /** Publishes only in the terms that its coordinator is given. */
  readonly isElected?: boolean;
  readonly reload?: ReloadTarget;
  /** Further places of publication. */
  readonly publishTo?: RuntimeOptions['publishTo'];
}

export type WorldLine = Readonly<Record<string, unknown>> & { readonly msg: string; readonly level: number };

/** All that `serve` runs but the server and the watch: a real render thread, coordinator and admission. */
export interface World {
  readonly runtime: Runtime;
  readonly records: ReviewRecord[];
  readonly reports: ReconcileReport[];
  readonly log: WorldLine[];
  /** Stores changes as the watch would, and resolves when the cycle for them is over. */
  store(...changes: ObjectChange[]): Promise<void>;
  close(): Promise<void>;
}

/** Nothing is rendered yet: `runtime.coordinator.cycle()` makes the first render. */
export function openWorld(options: WorldOptions): World {
  const {
    config,
    objects = [],
    checker = new ScriptedChecker(),
    output,
    isElected = false,
    reload,
    publishTo,
  } = options;
  const cluster = new EmbeddedCluster('.', acceptsOf(config.watchedResources));
  cluster.apply(objects);
  const records: ReviewRecord[] = [];
  const reports: ReconcileReport[] = [];
  const log: WorldLine[] = [];
  const logger = pino({ base: null }, { write: (line: string) => void log.push(JSON.parse(line) as WorldLine) });
  const runtime = createRuntime({
    config,
    cluster,
    output,
    checker,
    isElected,
    ...(publishTo === undefined ? {} : { publishTo }),
    reloader: reload === undefined ? undefined : createReloader({ target: reload, log: logger }),
    log: logger,
    onReview: (record) => records.push(record),
    onReconcile: (report) => reports.push(report),
  });
  return {
    runtime,
    records,
    reports,
    log,
    store: async (...changes) => {
      cluster.apply(changes);
      runtime.admission.shown(changes, runtime.coordinator.change(changes));
      await runtime.coordinator.settled();
    },
    close: () => runtime.close(),
  };
}

/** The same with the first render accepted. */
export async function openRooted(options: WorldOptions): Promise<World> {
  const world = openWorld(options);
  await world.runtime.coordinator.cycle();
  return world;
}
