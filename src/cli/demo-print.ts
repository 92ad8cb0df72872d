import pc from 'picocolors';
import type { ReviewRecord } from '../admission/review-record.js';
import type { DemoAnswer, DemoChange } from './demo-client.js';

const DONE = { CREATE: 'created', UPDATE: 'configured', DELETE: 'deleted' } as const;

/** The verdict, where the time went, and what kubectl would show. */
export function printDemoReview(
  number: number,
  change: DemoChange,
  answer: DemoAnswer,
  record: ReviewRecord | undefined,
): void {
  const verdict = answer.allowed ? pc.green('allowed') : pc.red('denied');
  const kind = `${change.operation} ${change.kind} ${change.namespace}/${change.name}`;
  process.stdout.write(`${pc.bold(`${number}. ${kind}`)}: ${change.says}\n   ${verdict}${workOf(record)}\n`);
  if (record !== undefined) {
    const { queue, overlay, render, check } = record.phasesMs;
    process.stdout.write(
      `   time: queue ${ms(queue)}, overlay ${ms(overlay)}, render ${ms(render)}, check ${ms(check)}; ${ms(record.totalMs)} in all\n`,
    );
  }
  process.stdout.write(
    `   kubectl shows:\n${kubectlText(change, answer)
      .map((line) => `     ${line}\n`)
      .join('')}\n`,
  );
}

function workOf(record: ReviewRecord | undefined): string {
  if (record === undefined) return '';
  const runs =
    record.checkerRuns === 0
      ? 'no checker run'
      : `${record.checkerRuns} checker run${record.checkerRuns > 1 ? 's' : ''}`;
  const why =
    { unchanged: ', since no output changes', known: ', since this very output has passed already' }[record.reason] ??
    '';
  return ` (${record.reason}; ${record.executed} component instances executed, ${runs}${why})`;
}

function ms(value: number): string {
  return `${value.toFixed(1)} ms`;
}

function kubectlText(change: DemoChange, answer: DemoAnswer): string[] {
  const warnings = answer.warnings.map((warning) => `Warning: ${warning}`);
  const group = change.apiVersion.includes('/') ? `.${change.apiVersion.split('/')[0] ?? ''}` : '';
  const name = `${change.kind.toLowerCase()}${group}/${change.name}`;
  if (answer.allowed)
    return [
      ...warnings,
      change.operation === 'DELETE'
        ? `${change.kind.toLowerCase()} "${change.name}" deleted`
        : `${name} ${DONE[change.operation]}`,
    ];
  const { reason, message, details } = answer.status ?? { reason: 'Unknown', message: '', details: undefined };
  const lines =
    `Error from server (${reason}): admission webhook "validate.rendergate.dev" denied the request: ${message}`.split(
      '\n',
    );
  const retry =
    details === undefined
      ? []
      : [`(retryAfterSeconds: ${details.retryAfterSeconds}; kubectl waits and repeats it by itself)`];
  return [...warnings, ...lines, ...retry];
}
