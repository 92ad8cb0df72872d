import { spawn } from 'node:child_process';
import { join } from 'node:path';
import { performance } from 'node:perf_hooks';

import { CLI } from '../support/project.js';
import { clumsyWords, haproxyRefuses, judgeAnswerForm, judgeLeaks } from './always.js';
import { fields, readOfflineAnswer, show } from './answer.js';
import type { Answer } from './answer.js';
import type { CaseReview, Expectation, KubernetesObject, PlainExpectation } from './case-schema.js';
import type { CaseWorld } from './case-world.js';
import { asksForOutput, conditional, judgeAnswer, judgeEveryAnswer, judgeTotals } from './expectations.js';
import { judgeState } from './judge-state.js';
import { fillReview } from './review-request.js';
import type { FilledReview } from './review-request.js';
import { StoredObjects } from './stored-objects.js';

const EXIT_CODES = { allowed: 0, denied: 1, unjudged: 2 } as const;

interface Ended {
  readonly code: number | null;
  readonly stdout: string;
  readonly stderr: string;
  readonly seconds: number;
}

interface Judged {
  readonly answer: Answer;
  readonly failures: readonly string[];
}

/** Runs one case through `rendergate review` and `rendergate render`. Gives one line for each failing expectation. */
export async function runOffline(world: CaseWorld): Promise<string[]> {
  return new OfflineRun(world).run();
}

/**
 * Reviews that may go as several documents of one call: one operation, and what comes later does not depend on more
 * than "the allowed ones before are stored". A deny stores nothing either way; anything else stands alone.
 */
export function groupReviews(reviews: readonly CaseReview[]): CaseReview[][] {
  const groups: CaseReview[][] = [];
  for (const review of reviews) {
    const group = groups.at(-1);
    const last = group?.at(-1);
    if (group === undefined || last === undefined || !mayFollow(last, review)) groups.push([review]);
    else group.push(review);
  }
  return groups;
}

function mayFollow(last: CaseReview, next: CaseReview): boolean {
  const settles = last.stored === true || (last.expect?.verdict?.every((verdict) => verdict === 'denied') ?? false);
  const plain = [last, next].every((review) => review.checker === undefined && review.meanwhile === undefined);
  return settles && plain && last.operation === next.operation && !asksForState(last) && !usesStored(next);
}

/** The state between two documents of one call cannot be looked at. */
function asksForState({ expect }: CaseReview): boolean {
  const parts = [expect, expect?.ifAllowed, expect?.ifDenied].filter((part) => part !== undefined);
  return parts.some((part) => asksForOutput(part) || part.routes !== undefined || part.processesLeft !== undefined);
}

function usesStored(review: CaseReview): boolean {
  return review.object === '@stored' || review.oldObject === '@stored';
}

class OfflineRun {
  private renders = 0;
  /** Release directory of the stored state; undefined once that changes. */
  private release: Promise<string> | undefined;
  private readonly faults: string[] = [];
  private leftOut = false;

  constructor(private readonly world: CaseWorld) {}

  async run(): Promise<string[]> {
    const reviews = this.world.case.reviews.filter(isForOffline);
    const judged: Judged[] = [];
    for (const group of groupReviews(reviews)) judged.push(...(await this.runGroup(group)));
    const numbered = judged.flatMap(({ failures }, index) =>
      failures.map((failure) => `review ${index + 1}: ${failure}`),
    );
    return [...numbered, ...(await this.judgeEnd(judged.map(({ answer }) => answer))), ...this.faults];
  }

  private async runGroup(group: readonly CaseReview[]): Promise<Judged[]> {
    const filled = group.map((review) => fillReview(review, (...identity) => this.world.stored.find(...identity)));
    const answers = await this.review(group, filled);
    group.forEach((review, index) => this.store(review, filled[index], answers[index]));
    const judged: Judged[] = [];
    for (const [index, review] of group.entries()) {
      const answer = answers[index];
      if (answer === undefined) return [...judged, missing(this.faults.splice(0))];
      judged.push({ answer, failures: await this.judge(review.expect ?? {}, answer) });
    }
    return judged;
  }

  private async review(group: readonly CaseReview[], filled: readonly FilledReview[]): Promise<Answer[]> {
    const standIn = group[0]?.checker;
    if (standIn !== undefined) this.world.shim.replace(standIn);
    const input = filled.map((review) => JSON.stringify(withPlace(review))).join('\n---\n');
    const operation = filled[0]?.operation ?? '';
    const args = ['review', '-f', '-', '--operation', operation, '--output', 'json'];
    const ended = await this.call(args, input).finally(() => this.world.shim.restore());
    return this.readAnswers(ended, group.length);
  }

  private readAnswers(ended: Ended, expected: number): Answer[] {
    const documents = parseList(ended.stdout);
    if (documents === undefined || documents.length !== expected) {
      const came = `exit ${ended.code}, stdout ${show(ended.stdout)}, stderr ${show(ended.stderr)}`;
      this.faults.push(`rendergate review: expected ${expected} verdicts as JSON, got ${came}`);
      return [];
    }
    const answers = documents.map((document) => readOfflineAnswer(document, ended.seconds));
    const codes = answers.map(({ verdict }) => (verdict === undefined ? 2 : EXIT_CODES[verdict]));
    if (ended.code !== Math.max(...codes)) {
      this.faults.push(`rendergate review: exit code ${ended.code} does not fit the verdicts (${codes.join(', ')})`);
    }
    return answers;
  }

  private store(review: CaseReview, filled: FilledReview | undefined, answer: Answer | undefined): void {
    const { stored } = this.world;
    for (const { store } of review.meanwhile ?? []) stored.put(store);
    const subject = filled?.subject ?? null;
    if (review.stored === true && answer?.verdict === 'allowed' && subject !== null) {
      if (filled?.operation === 'DELETE') stored.remove(subject);
      else stored.put(subject);
    }
    this.release = undefined;
  }

  private async judge(expect: Expectation, answer: Answer): Promise<string[]> {
    const failures = [...judgeAnswerForm(answer), ...judgeLeaks('the answer', answer.text, this.world.forbidden)];
    failures.push(...judgeAnswer(expect, answer));
    for (const part of [expect, ...conditional(expect, answer.verdict)])
      failures.push(...(await this.judgeState(part)));
    return failures;
  }

  private judgeState(expect: PlainExpectation): Promise<string[]> {
    return judgeState(this.world, () => this.render(), expect);
  }

  private async judgeEnd(answers: readonly Answer[]): Promise<string[]> {
    const { expect } = this.world.case;
    const failures = [...judgeEveryAnswer(expect, answers), ...judgeTotals(expect, answers, Infinity)];
    const parts = new Set([expect, ...answers.flatMap((answer) => conditional(expect, answer.verdict))]);
    for (const part of parts) failures.push(...(await this.judgeState(part)));
    const refusal = await haproxyRefuses(this.world.haproxy, await this.render());
    if (refusal !== undefined) failures.push(refusal);
    if (this.leftOut && !(await this.givenIsBroken())) {
      failures.push('rendergate render: left an object out, although nothing broken was given');
    }
    return failures;
  }

  private render(): Promise<string> {
    return (this.release ??= this.renderNow());
  }

  private async renderNow(): Promise<string> {
    const directory = this.nextDirectory();
    const ended = await this.call(['render', '-o', directory], '');
    this.leftOut = ended.code === 1;
    if (ended.code !== 0 && ended.code !== 1) {
      throw new Error(`rendergate render: exit ${ended.code}: ${show(ended.stderr)}`);
    }
    return directory;
  }

  /** Whether the objects that stood there from the beginning already had to be left out. */
  private async givenIsBroken(): Promise<boolean> {
    const folder = join(this.world.output, 'given');
    new StoredObjects(join(folder, 'resources'), join(folder, 'draft'), this.world.case.given);
    const ended = await this.call(['render', '-o', this.nextDirectory()], '', join(folder, 'resources'));
    return ended.code === 1;
  }

  private nextDirectory(): string {
    this.renders += 1;
    return join(this.world.output, `render-${this.renders}`);
  }

  private async call(args: readonly string[], input: string, resources = this.world.resources): Promise<Ended> {
    const all = [...args, '--config', this.world.config.path, '--resources', resources];
    const ended = await runCli(all, input, this.world.tmp);
    this.faults.push(
      ...judgeLeaks('stderr', ended.stderr, this.world.forbidden),
      ...clumsyWords('stderr', ended.stderr),
    );
    return ended;
  }
}

function isForOffline(review: CaseReview): boolean {
  return review.raw === undefined && (review.runners?.includes('offline') ?? true);
}

/** Offline there is no request around the object that could say its namespace. */
function withPlace({ subject, namespace }: FilledReview): KubernetesObject | null {
  if (subject === null || namespace === '') return subject;
  return { ...subject, metadata: { ...fields(subject['metadata']), namespace } };
}

function missing(failures: readonly string[]): Judged {
  return { answer: readOfflineAnswer({}, 0), failures };
}

function parseList(stdout: string): readonly unknown[] | undefined {
  try {
    const value: unknown = JSON.parse(stdout);
    return Array.isArray(value) ? value : [value];
  } catch {
    return undefined;
  }
}

function runCli(args: readonly string[], input: string, tmp: string): Promise<Ended> {
  const started = performance.now();
  const child = spawn(process.execPath, [CLI, ...args], { env: { ...process.env, NODE_OPTIONS: '', TMPDIR: tmp } });
  const stdout: Buffer[] = [];
  const stderr: Buffer[] = [];
  child.stdout.on('data', (chunk: Buffer) => stdout.push(chunk));
  child.stderr.on('data', (chunk: Buffer) => stderr.push(chunk));
  // A program that ends without reading its input closes the pipe.
  child.stdin.on('error', () => undefined);
  child.stdin.end(input);
  return new Promise((resolve, reject) => {
    child.once('error', reject);
    child.once('close', (code) => {
      const text = (chunks: readonly Buffer[]): string => Buffer.concat(chunks).toString('utf8');
      resolve({ code, stdout: text(stdout), stderr: text(stderr), seconds: (performance.now() - started) / 1000 });
    });
  });
}
