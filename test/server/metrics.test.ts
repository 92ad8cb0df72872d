import { describe, expect, it } from '@jest/globals';

import type { ReviewRecord } from '../../src/admission/review-record.js';
import { createMetrics } from '../../src/server/metrics.js';
import { metricLines } from './running-server.js';

const RECORD: ReviewRecord = {
  uid: 'u-1',
  operation: 'CREATE',
  object: 'ingresses shop/web',
  verdict: 'denied',
  code: 422,
  reason: 'refused',
  message: 'tenant text',
  warnings: ['tenant warning'],
  dryRun: false,
  executed: 3,
  checkerRuns: 1,
  phasesMs: { queue: 1, overlay: 2, render: 40, check: 300 },
  totalMs: 343,
};

describe('metrics', () => {
  it('counts a review by operation, verdict and reason, and times it by phase', async () => {
    const metrics = createMetrics();
    metrics.recordReview(RECORD);
    expect(await metricLines(metrics, 'rendergate_reviews_total{')).toEqual([
      'rendergate_reviews_total{operation="CREATE",verdict="denied",reason="refused"} 1',
    ]);
    expect(await metricLines(metrics, 'rendergate_review_phase_seconds_sum')).toEqual([
      'rendergate_review_phase_seconds_sum{phase="queue",verdict="denied"} 0.001',
      'rendergate_review_phase_seconds_sum{phase="overlay",verdict="denied"} 0.002',
      'rendergate_review_phase_seconds_sum{phase="render",verdict="denied"} 0.04',
      'rendergate_review_phase_seconds_sum{phase="check",verdict="denied"} 0.3',
    ]);
    const buckets = await metricLines(metrics, 'rendergate_review_seconds_bucket{le="0.5"');
    expect(buckets).toEqual(['rendergate_review_seconds_bucket{le="0.5",verdict="denied",reason="refused"} 1']);
  });

  it('shows no name, uid or text of an object, and maps what it does not know to "other"', async () => {
    const metrics = createMetrics();
    metrics.recordReview({ ...RECORD, operation: 'shop/web', reason: 'Tenant text\n"x"' });
    const text = await metrics.registry.metrics();
    expect(text).not.toMatch(/shop|web|u-1|tenant/i);
    expect(text).toContain('operation="other",verdict="denied",reason="other"} 1');
  });

  it('never has more than a bounded number of reasons', async () => {
    const metrics = createMetrics();
    for (let index = 0; index < 500; index += 1) metrics.recordReview({ ...RECORD, reason: `r-${index}` });
    expect(await metricLines(metrics, 'rendergate_reviews_total{')).toHaveLength(65);
  });

  it('survives a time that was not measured', async () => {
    const metrics = createMetrics();
    metrics.recordReview({ ...RECORD, totalMs: Number.NaN, phasesMs: { ...RECORD.phasesMs, queue: -1 } });
    expect(await metricLines(metrics, 'rendergate_review_seconds_sum')).toEqual([
      'rendergate_review_seconds_sum{verdict="denied",reason="refused"} 0',
    ]);
  });

  it('counts checker runs by outcome and reconcile renders by kind and result', async () => {
    const metrics = createMetrics();
    metrics.recordCheckerRun('admission', { kind: 'passed', warnings: [], durationMs: 100 });
    metrics.recordCheckerRun('reconcile', { kind: 'unavailable', reason: 'killed', message: 'x', durationMs: 1 });
    metrics.recordReconcile({ kind: 'cold', result: 'published', seconds: 42 });
    expect(await metricLines(metrics, 'rendergate_checker_runs_total{')).toEqual([
      'rendergate_checker_runs_total{lane="admission",outcome="passed"} 1',
      'rendergate_checker_runs_total{lane="reconcile",outcome="killed"} 1',
    ]);
    expect(await metricLines(metrics, 'rendergate_reconcile_renders_total{')).toEqual([
      'rendergate_reconcile_renders_total{kind="cold",result="published"} 1',
    ]);
  });

  it('sets the given levels, keeps the others, and drops an alias that is gone', async () => {
    const metrics = createMetrics();
    metrics.setLevels({
      instances: 7,
      isLeader: true,
      queueLength: 2,
      storedObjects: new Map([
        ['ingresses', 3],
        ['pods', 1],
      ]),
    });
    metrics.setLevels({
      queueLength: 0,
      storedObjects: new Map([['ingresses', 4]]),
      coldRender: { done: 1, known: 9 },
    });
    expect(await metricLines(metrics, 'rendergate_stored_objects{')).toEqual([
      'rendergate_stored_objects{alias="ingresses"} 4',
    ]);
    expect(await metricLines(metrics, 'rendergate_instances ')).toEqual(['rendergate_instances 7']);
    expect(await metricLines(metrics, 'rendergate_leader ')).toEqual(['rendergate_leader 1']);
    expect(await metricLines(metrics, 'rendergate_review_queue_length ')).toEqual(['rendergate_review_queue_length 0']);
    expect(await metricLines(metrics, 'rendergate_cold_render_instances_known ')).toEqual([
      'rendergate_cold_render_instances_known 9',
    ]);
  });

  it('has the default metrics of the process in a registry of its own', async () => {
    const [first, second] = [createMetrics(), createMetrics()];
    expect(first.registry).not.toBe(second.registry);
    expect(await metricLines(first, 'process_cpu_seconds_total ')).toHaveLength(1);
  });
});
