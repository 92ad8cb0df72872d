import { readFileSync, statSync } from 'node:fs';
import { hash } from 'node:crypto';
import { createTwoFilesPatch } from 'diff';
import type { Judgement } from '../admission/decision.js';
import { decodeReview } from '../admission/decode-review.js';
import { printable, type ReviewedChange, scopeOf } from '../admission/reviewed-change.js';
import { type ManifestObject, parseManifests } from '../cluster/manifest.js';
import { loadManifests } from '../cluster/manifest-directory.js';
import { acceptsOf } from '../cluster/embedded-cluster.js';
import type { RenderConfig } from '../config/render-config.js';
import type { FlatFile } from '../render/output-tree.js';
import { UsageError } from './failure.js';
import { loadCheckedConfig } from './load.js';
import { offline, type Offline } from './offline.js';

export interface ReviewOptions {
  readonly config: string;
  readonly resources: string;
  readonly filename: string;
  readonly operation: 'CREATE' | 'UPDATE' | 'DELETE';
  readonly output: 'text' | 'json' | 'diff';
}

/** What `--output json` prints for one review; a list of them for several. */
interface ReviewJson {
  readonly verdict: string;
  readonly code: number;
  readonly message: string;
  readonly warnings: readonly string[];
  readonly executed: number;
  readonly checkerRuns: number;
  readonly phasesMs: Judgement['phasesMs'];
  readonly object: {
    readonly apiVersion: string;
    readonly kind: string;
    readonly namespace: string;
    readonly name: string;
  };
}

/** Each change is reviewed on top of the ones allowed before. Exit code: the worst of them. */
export async function review(options: ReviewOptions): Promise<void> {
  // Before the first render, which takes a while: a mistake in the call is told at once.
  const config = loadCheckedConfig(options.config);
  const objects = changedObjects(options, config);
  if (objects.length === 0) throw new UsageError(`${options.filename} holds no object to review`);
  process.exitCode = await offline({ ...options, config }, async (ready) => {
    const results: ReviewJson[] = [];
    for (const object of objects) results.push(await reviewOne(object, options, ready));
    if (options.output === 'json')
      process.stdout.write(`${JSON.stringify(results.length === 1 ? results[0] : results, null, 2)}\n`);
    return Math.max(...results.map(exitCodeOf));
  });
}

function exitCodeOf(result: ReviewJson): number {
  return { allowed: 0, denied: 1 }[result.verdict] ?? 2;
}

function changedObjects(options: ReviewOptions, config: RenderConfig): readonly ManifestObject[] {
  if (options.filename !== '-' && statSync(options.filename, { throwIfNoEntry: false })?.isDirectory() === true) {
    const { changes, problems } = loadManifests(options.filename, acceptsOf(config.watchedResources));
    const [problem] = problems;
    if (problem !== undefined) throw new UsageError(`${problem.file}: ${problem.message}`);
    return changes.flatMap((change) => ('text' in change ? parseManifests(change.text, options.filename).objects : []));
  }
  const { objects, problems } = parseManifests(textOf(options.filename), options.filename, { nameless: true });
  const [problem] = problems;
  if (problem !== undefined) throw new UsageError(`${options.filename}:${problem.line ?? 1}: ${problem.message}`);
  return objects;
}

function textOf(filename: string): string {
  try {
    return readFileSync(filename === '-' ? 0 : filename, 'utf8');
  } catch (error) {
    throw new UsageError(`${filename} can't be read: ${error instanceof Error ? error.message : String(error)}`);
  }
}

async function reviewOne(object: ManifestObject, options: ReviewOptions, ready: Offline): Promise<ReviewJson> {
  const { judgement, reviewed } = await judge(object, options, ready);
  const result = toJson(object, judgement);
  if (options.output === 'text') printText(result);
  if (options.output === 'diff') await printDiff(result, judgement, ready);
  if (judgement.render !== undefined) ready.runtime.host.tell('release', { render: judgement.render });
  if (judgement.decision.kind === 'allowed' && reviewed !== undefined) await store(reviewed, ready);
  return result;
}

/** Offline, the change goes through the same decoding, scope and judge as a posted review. */
async function judge(
  object: ManifestObject,
  options: ReviewOptions,
  ready: Offline,
): Promise<{ judgement: Judgement; reviewed?: ReviewedChange }> {
  const { config, runtime } = ready;
  const accepted = acceptsOf(config.watchedResources)(object.apiVersion, object.kind);
  const namespace = accepted?.namespaced === false ? '' : object.namespace || 'default';
  const [group, version] = object.apiVersion.includes('/') ? object.apiVersion.split('/') : ['', object.apiVersion];
  const value = JSON.parse(object.text) as unknown;
  const body = JSON.stringify({
    apiVersion: 'admission.k8s.io/v1',
    kind: 'AdmissionReview',
    request: {
      uid: crypto.randomUUID(),
      kind: { group, version, kind: object.kind },
      namespace,
      name: object.name,
      operation: options.operation,
      object: options.operation === 'DELETE' ? null : value,
      oldObject: options.operation === 'DELETE' ? value : null,
    },
  });
  const decoded = decodeReview(body);
  if (decoded.kind === 'malformed') throw new UsageError(decoded.message);
  const scope = scopeOf(decoded.request, config);
  if (scope.kind === 'refused') throw new UsageError(scope.message);
  if (scope.kind === 'outside') return { judgement: allowedOutside(scope.reason) };
  const receivedAt = performance.now();
  const deadline = receivedAt + config.admission.budgetMs;
  const judgement = await runtime.admission.judge(scope.change, {
    receivedAt,
    deadline,
    signal: new AbortController().signal,
  });
  return { judgement: explainNoRoot(judgement, ready), reviewed: scope.change };
}

function allowedOutside(reason: string): Judgement {
  return {
    decision: { kind: 'allowed', reason },
    warnings: [],
    executed: 0,
    checkerRuns: 0,
    phasesMs: { queue: 0, overlay: 0, render: 0, check: 0 },
    render: undefined,
  };
}

/** Offline no render comes later: what kept the first one from being accepted is the answer. */
function explainNoRoot(judgement: Judgement, { runtime }: Offline): Judgement {
  const { decision } = judgement;
  const { problem } = runtime.coordinator;
  if (decision.kind !== 'unjudged' || decision.reason !== 'cold' || problem === undefined) return judgement;
  return {
    ...judgement,
    decision: { ...decision, message: `not judged: the manifests as they are could not be checked: ${problem}` },
  };
}

async function store(reviewed: ReviewedChange, { cluster, runtime }: Offline): Promise<void> {
  cluster.apply([reviewed.change]);
  const revision = runtime.coordinator.change([reviewed.change]);
  runtime.admission.shown([reviewed.change], revision);
  await runtime.coordinator.settled();
}

function toJson(object: ManifestObject, judgement: Judgement): ReviewJson {
  const { decision, warnings, executed, checkerRuns, phasesMs } = judgement;
  const { apiVersion, kind, namespace, name } = object;
  return {
    verdict: decision.kind,
    code: decision.kind === 'allowed' ? 200 : decision.code,
    message: decision.kind === 'allowed' ? '' : decision.message,
    warnings,
    executed,
    checkerRuns,
    phasesMs,
    object: { apiVersion, kind, namespace, name },
  };
}

function printText(result: ReviewJson): void {
  const { kind, namespace, name } = result.object;
  const title = `${kind} ${namespace === '' ? '' : `${printable(namespace)}/`}${printable(name)}`;
  for (const warning of result.warnings) process.stderr.write(`Warning: ${warning}\n`);
  const work = `${result.executed} instances rendered, ${result.checkerRuns === 0 ? 'no checker run' : `${result.checkerRuns} checker run(s)`}`;
  process.stdout.write(`${title}: ${result.verdict} (${work})\n`);
  if (result.message !== '') process.stdout.write(`${result.message}\n`);
}

/** A unified diff of every rendered file; of a sensitive one only its SHA-256. */
async function printDiff(result: ReviewJson, judgement: Judgement, { runtime }: Offline): Promise<void> {
  if (result.message !== '') process.stderr.write(`${result.verdict}: ${result.message}\n`);
  for (const warning of result.warnings) process.stderr.write(`Warning: ${warning}\n`);
  if (judgement.render === undefined) return;
  const before = new Map((await runtime.host.request('acceptedFiles', null)).map((file) => [file.name, file]));
  const after = new Map(
    (await runtime.host.request('files', { render: judgement.render })).map((file) => [file.name, file]),
  );
  for (const name of [...new Set([...before.keys(), ...after.keys()])].sort()) {
    process.stdout.write(fileDiff(name, before.get(name), after.get(name)));
  }
}

function fileDiff(name: string, before: FlatFile | undefined, after: FlatFile | undefined): string {
  if (before?.text === after?.text) return '';
  const from = before === undefined ? '/dev/null' : `a/${name}`;
  const to = after === undefined ? '/dev/null' : `b/${name}`;
  if (before?.sensitive === true || after?.sensitive === true) {
    return `--- ${from}\n+++ ${to}\n@@ sensitive @@\n-sha256 ${digest(before)}\n+sha256 ${digest(after)}\n`;
  }
  // The library heads each patch with a line of "=": unified diffs have none.
  return createTwoFilesPatch(from, to, before?.text ?? '', after?.text ?? '').replace(/^=+\n/, '');
}

function digest(file: FlatFile | undefined): string {
  return file === undefined ? 'none' : hash('sha256', file.text);
}
