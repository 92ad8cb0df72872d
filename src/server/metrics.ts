import { collectDefaultMetrics, Counter, Gauge, Histogram, Registry } from 'prom-client';

import type { PhaseTimes, ReviewRecord } from '../admission/review-record.js';
import type { CheckLane, CheckOutcome } from '../check/checker.js';

export interface ReconcileRun {
  readonly kind: 'cold' | 'warm';
  /** Short machine word: `published`, `unchanged`, `refused`, `failed`, ... */
  readonly result: string;
  readonly seconds: number;
}

/** Levels that change with the data; those left out keep their value. */
export interface Levels {
  readonly quarantinedObjects?: number;
  readonly instances?: number;
  readonly graphNodes?: number;
  /** Objects by alias. The list is the whole of it: an alias that is not named is dropped. */
  readonly storedObjects?: ReadonlyMap<string, number>;
  /** Progress of the cold render, in component instances; both 0 when none runs. */
  readonly coldRender?: { readonly done: number; readonly known: number };
  readonly ledgerEntries?: number;
  /** Whether this replica publishes. */
  readonly isLeader?: boolean;
  readonly queueLength?: number;
}

export type Route = 'validate' | 'livez' | 'readyz' | 'metrics' | 'other';
export type ConnectionErrorKind = 'tls' | 'malformed' | 'headers-too-large' | 'timeout' | 'reset';

/** No label ever carries an object's name or a tenant's text: unknown words become `other`. */
export interface Metrics {
  readonly registry: Registry;
  recordReview(record: ReviewRecord): void;
  recordReconcile(run: ReconcileRun): void;
  /** One checker process that ended (a cached verdict is none). */
  recordCheckerRun(lane: CheckLane, outcome: CheckOutcome): void;
  recordRequest(route: Route, status: number): void;
  recordConnectionError(kind: ConnectionErrorKind): void;
  setLevels(levels: Levels): void;
}

/** Seconds. 0.5 is the mark from which the API server traces a call (R9), 10 its default timeout for a webhook. */
const SECONDS = [0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10];
/** A cold reconcile render may take minutes. */
const RECONCILE_SECONDS = [0.01, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10, 30, 60, 180, 600];
const INSTANCES = [0, 1, 2, 5, 10, 25, 100, 1000];

const OPERATIONS: ReadonlySet<string> = new Set(['CREATE', 'UPDATE', 'DELETE', 'CONNECT']);

/** Each word is a time series of every metric that carries it: far more than we have, few enough to store. */
const MAX_WORDS = 64;

/** A registry of its own with the process's default metrics and ours. */
export function createMetrics(): Metrics {
  const registry = new Registry();
  collectDefaultMetrics({ register: registry });
  return {
    registry,
    recordReview: reviewRecorder(registry),
    recordReconcile: reconcileRecorder(registry),
    recordCheckerRun: checkerRecorder(registry),
    recordRequest: requestRecorder(registry),
    recordConnectionError: connectionErrorRecorder(registry),
    setLevels: levelSetter(registry),
  };
}

function reviewRecorder(registry: Registry): Metrics['recordReview'] {
  const registers = [registry];
  const phases = new Histogram({
    name: 'rendergate_review_phase_seconds',
    help: 'Time of a review by phase.',
    labelNames: ['phase', 'verdict'] as const,
    buckets: SECONDS,
    registers,
  });
  const whole = new Histogram({
    name: 'rendergate_review_seconds',
    help: 'Time of a review from its headers to its answer.',
    labelNames: ['verdict', 'reason'] as const,
    buckets: SECONDS,
    registers,
  });
  const executed = new Histogram({
    name: 'rendergate_review_executed_instances',
    help: 'Component instances executed for a review.',
    buckets: INSTANCES,
    registers,
  });
  const count = new Counter({
    name: 'rendergate_reviews_total',
    help: 'Reviews answered.',
    labelNames: ['operation', 'verdict', 'reason'] as const,
    registers,
  });
  const word = boundedWords();
  return (record) => {
    const { verdict } = record;
    const reason = word(record.reason);
    for (const [phase, ms] of phaseEntries(record.phasesMs)) phases.observe({ phase, verdict }, seconds(ms));
    whole.observe({ verdict, reason }, seconds(record.totalMs));
    executed.observe(record.executed);
    count.inc({ operation: operationLabel(record.operation), verdict, reason });
  };
}

function phaseEntries(phases: PhaseTimes): readonly (readonly [keyof PhaseTimes, number])[] {
  return [
    ['queue', phases.queue],
    ['overlay', phases.overlay],
    ['render', phases.render],
    ['check', phases.check],
  ];
}

function operationLabel(operation: string): string {
  return OPERATIONS.has(operation) ? operation : 'other';
}

function reconcileRecorder(registry: Registry): Metrics['recordReconcile'] {
  const renders = new Counter({
    name: 'rendergate_reconcile_renders_total',
    help: 'Reconcile renders by kind and result.',
    labelNames: ['kind', 'result'] as const,
    registers: [registry],
  });
  const time = new Histogram({
    name: 'rendergate_reconcile_seconds',
    help: 'Time of a reconcile cycle, checker and publication included.',
    labelNames: ['kind', 'result'] as const,
    buckets: RECONCILE_SECONDS,
    registers: [registry],
  });
  const word = boundedWords();
  return (run) => {
    const labels = { kind: run.kind, result: word(run.result) };
    renders.inc(labels);
    time.observe(labels, Math.max(0, run.seconds));
  };
}

function checkerRecorder(registry: Registry): Metrics['recordCheckerRun'] {
  const runs = new Counter({
    name: 'rendergate_checker_runs_total',
    help: 'Checker processes by lane and outcome.',
    labelNames: ['lane', 'outcome'] as const,
    registers: [registry],
  });
  const time = new Histogram({
    name: 'rendergate_checker_seconds',
    help: 'Time of a checker process.',
    labelNames: ['lane'] as const,
    buckets: SECONDS,
    registers: [registry],
  });
  return (lane, outcome) => {
    runs.inc({ lane, outcome: outcome.kind === 'unavailable' ? outcome.reason : outcome.kind });
    time.observe({ lane }, seconds(outcome.durationMs));
  };
}

function requestRecorder(registry: Registry): Metrics['recordRequest'] {
  const requests = new Counter({
    name: 'rendergate_http_requests_total',
    help: 'HTTP answers by route and status code.',
    labelNames: ['route', 'code'] as const,
    registers: [registry],
  });
  return (route, status) => requests.inc({ route, code: String(status) });
}

function connectionErrorRecorder(registry: Registry): Metrics['recordConnectionError'] {
  const errors = new Counter({
    name: 'rendergate_connection_errors_total',
    help: 'Connections that failed before or between requests, by kind.',
    labelNames: ['kind'] as const,
    registers: [registry],
  });
  return (kind) => errors.inc({ kind });
}

function levelSetter(registry: Registry): Metrics['setLevels'] {
  const gauge = (name: string, help: string): Gauge => new Gauge({ name, help, registers: [registry] });
  const quarantined = gauge('rendergate_quarantined_objects', 'Stored objects that are kept out of the output.');
  const instances = gauge('rendergate_instances', 'Component instances of the committed graph.');
  const nodes = gauge('rendergate_graph_nodes', 'Nodes of the committed graph.');
  const ledger = gauge('rendergate_ledger_entries', 'Admitted objects that the watch has not shown yet.');
  const queue = gauge('rendergate_review_queue_length', 'Reviews that wait.');
  const leader = gauge('rendergate_leader', '1 while this replica leads, and publishes; else 0.');
  const done = gauge('rendergate_cold_render_instances_done', 'Instances that the running cold render has executed.');
  const known = gauge('rendergate_cold_render_instances_known', 'Instances that the running cold render knows of.');
  const stored = new Gauge({
    name: 'rendergate_stored_objects',
    help: 'Objects of the stores by alias.',
    labelNames: ['alias'] as const,
    registers: [registry],
  });
  return (levels) => {
    setIfGiven(quarantined, levels.quarantinedObjects);
    setIfGiven(instances, levels.instances);
    setIfGiven(nodes, levels.graphNodes);
    setIfGiven(ledger, levels.ledgerEntries);
    setIfGiven(queue, levels.queueLength);
    setIfGiven(leader, levels.isLeader === undefined ? undefined : Number(levels.isLeader));
    setIfGiven(done, levels.coldRender?.done);
    setIfGiven(known, levels.coldRender?.known);
    if (levels.storedObjects === undefined) return;
    stored.reset();
    for (const [alias, count] of levels.storedObjects) stored.set({ alias }, count);
  };
}

function setIfGiven(gauge: Gauge, value: number | undefined): void {
  if (value !== undefined) gauge.set(value);
}

/** Keeps machine words, at most `MAX_WORDS` different ones; anything else is `other`. */
function boundedWords(): (word: string) => string {
  const known = new Set<string>();
  return (word) => {
    if (known.has(word)) return word;
    if (known.size >= MAX_WORDS || !/^[a-z][a-z0-9-]{0,39}$/.test(word)) return 'other';
    known.add(word);
    return word;
  };
}

/** A time that a caller failed to measure counts as none; NaN would end the observation with an exception. */
function seconds(ms: number): number {
  return Number.isFinite(ms) ? Math.max(0, ms) / 1000 : 0;
}
