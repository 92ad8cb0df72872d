import { rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';

import { startServe } from '../support/server.js';
import type { ServeProcess } from '../support/server.js';
import { validatePath } from '../support/server.js';
import { clumsyWords, haproxyRefuses, judgeAnswerForm, judgeLeaks } from './always.js';
import { readHttpAnswer, show } from './answer.js';
import type { Answer } from './answer.js';
import type { CaseReview, Expectation, KubernetesObject, PlainExpectation } from './case-schema.js';
import type { CaseWorld } from './case-world.js';
import { conditional, judgeAnswer, judgeEveryAnswer, judgeTotals } from './expectations.js';
import { judgeState } from './judge-state.js';
import { admissionReview, fillReview, rawBody, readSent } from './review-request.js';

interface Judged {
  readonly answer: Answer;
  readonly failures: readonly string[];
}

interface Posted {
  readonly answer: Answer;
  /** What to store when it was allowed: the object, or what a DELETE takes away. */
  readonly change: { readonly kind: 'put' | 'remove'; readonly object: KubernetesObject } | undefined;
}

/** Runs one case against a real `serve` over HTTPS. Gives one line for each failing expectation. */
export async function runOverHttps(world: CaseWorld): Promise<string[]> {
  const hold = join(world.tmp, 'hold-first-render');
  if (world.case.duringFirstRender) writeFileSync(hold, '');
  const server = await startServe({
    config: world.config.path,
    resources: world.resources,
    output: world.output,
    tmp: world.tmp,
    env: world.case.duringFirstRender ? { RENDERGATE_TEST_HOLD_FIRST_RENDER: hold } : {},
  });
  try {
    return await new HttpsRun(world, server, hold).run();
  } finally {
    await server.stop();
  }
}

class HttpsRun {
  private runsBefore = 0;

  constructor(
    private readonly world: CaseWorld,
    private readonly server: ServeProcess,
    private readonly hold: string,
  ) {}

  async run(): Promise<string[]> {
    const { world } = this;
    if (!world.case.duringFirstRender) await this.server.published();
    this.runsBefore = world.shim.runs();
    const reviews = world.case.reviews.filter((review) => review.runners?.includes('https') ?? true);
    const judged = world.case.parallel ? await this.runAtOnce(reviews) : await this.runInOrder(reviews);
    await this.release();
    const numbered = judged.flatMap(({ failures }, index) =>
      failures.map((failure) => `review ${index + 1}: ${failure}`),
    );
    return [...numbered, ...(await this.judgeEnd(judged.map(({ answer }) => answer)))];
  }

  private async runInOrder(reviews: readonly CaseReview[]): Promise<Judged[]> {
    const judged: Judged[] = [];
    for (const review of reviews) {
      if (review.checker !== undefined) this.world.shim.replace(review.checker);
      const posted = await this.post(review).finally(() => this.world.shim.restore());
      await this.release();
      if (review.stored === true) await this.store(posted);
      judged.push({ answer: posted.answer, failures: await this.judge(review.expect ?? {}, posted.answer) });
    }
    return judged;
  }

  /** One stand-in for all, since one checker may serve several of them. */
  private async runAtOnce(reviews: readonly CaseReview[]): Promise<Judged[]> {
    const standIn = reviews.find(({ checker }) => checker !== undefined)?.checker;
    if (standIn !== undefined) this.world.shim.replace(standIn);
    const posting = reviews.map(async (review) => ({ review, posted: await this.post(review) }));
    const all = await Promise.all(posting).finally(() => this.world.shim.restore());
    await this.release();
    for (const { review, posted } of all) if (review.stored === true) await this.store(posted);
    const judging = all.map(async ({ review, posted }) => ({
      answer: posted.answer,
      failures: await this.judge(review.expect ?? {}, posted.answer),
    }));
    return Promise.all(judging);
  }

  private async release(): Promise<void> {
    if (!this.world.case.duringFirstRender) return;
    rmSync(this.hold, { force: true });
  }

  private async post(review: CaseReview): Promise<Posted> {
    const path = validatePath(review.query?.timeout);
    if (review.raw !== undefined) {
      const http = await this.server.send({ path, ...rawBody(review.raw) });
      const sent = readSent(review.raw.body);
      return { answer: await this.withWork(readHttpAnswer(http, sent), sent.uid, review), change: undefined };
    }
    const filled = fillReview(review, (...identity) => this.world.stored.find(...identity));
    const { uid, document } = admissionReview(review, filled);
    const posting = this.server.post(document, review.query?.timeout);
    await this.storeMeanwhile(review, posting);
    const answer = readHttpAnswer(await posting, { uid, apiVersion: 'admission.k8s.io/v1' });
    const object = filled.subject;
    const kind = filled.operation === 'DELETE' ? 'remove' : 'put';
    return { answer: await this.withWork(answer, uid, review), change: object === null ? undefined : { kind, object } };
  }

  /** Reads the figures that only the log has, when somebody asks for them. */
  private async withWork(answer: Answer, uid: string | undefined, review: CaseReview): Promise<Answer> {
    const expects = [review.expect, review.expect?.ifAllowed, review.expect?.ifDenied];
    const asked = expects.some((expect) => expect?.checkerRuns !== undefined || expect?.executedAtMost !== undefined);
    const asksTotal = this.world.case.expect.checkerRunsTotalAtMost !== undefined;
    if (answer.http !== 200 || !(asked || asksTotal)) return answer;
    const line = await this.server.log.wait((entry) => entry['msg'] === 'review' && entry['uid'] === uid);
    return { ...answer, checkerRuns: Number(line['checkerRuns']), executed: Number(line['executed']) };
  }

  private async storeMeanwhile(review: CaseReview, posting: Promise<unknown>): Promise<void> {
    for (const { store } of review.meanwhile ?? []) {
      const revision = this.server.revision();
      if (!this.world.stored.put(store) || !this.world.isWatched(store)) continue;
      // While a stand-in keeps the checker busy, no reconcile can finish: the review's end is enough then.
      const seen = this.server.reconciledAfter(revision);
      await (review.checker === undefined ? seen : Promise.race([seen, posting]));
    }
  }

  /** After "allowed": stores the change and waits until the server has taken it in. */
  private async store({ answer, change }: Posted): Promise<void> {
    if (answer.verdict !== 'allowed' || change === undefined) return;
    const revision = this.server.revision();
    const { stored } = this.world;
    const changed = change.kind === 'put' ? stored.put(change.object) : stored.remove(change.object);
    if (changed && this.world.isWatched(change.object)) await this.server.reconciledAfter(revision);
  }

  private async judge(expect: Expectation, answer: Answer): Promise<string[]> {
    const failures = [...judgeAnswerForm(answer), ...judgeLeaks('the answer', answer.text, this.world.forbidden)];
    failures.push(...judgeAnswer(expect, answer));
    if (answer.http !== 200) return failures;
    for (const part of [expect, ...conditional(expect, answer.verdict)])
      failures.push(...(await this.judgeState(part)));
    return failures;
  }

  private judgeState(expect: PlainExpectation): Promise<string[]> {
    return judgeState(this.world, () => Promise.resolve(this.server.current), expect);
  }

  private async judgeEnd(answers: readonly Answer[]): Promise<string[]> {
    const { expect } = this.world.case;
    const failures = [
      ...judgeEveryAnswer(expect, answers),
      ...judgeTotals(expect, answers, this.world.shim.runs() - this.runsBefore),
    ];
    const parts = new Set([expect, ...answers.flatMap((answer) => conditional(expect, answer.verdict))]);
    for (const part of parts) failures.push(...(await this.judgeState(part)));
    failures.push(...(await this.judgeGoodReview()));
    const refusal = await haproxyRefuses(this.world.haproxy, this.server.current);
    return [...failures, ...(refusal === undefined ? [] : [refusal]), ...(await this.judgeTraces())];
  }

  private async judgeGoodReview(): Promise<string[]> {
    const { answer } = await this.post({ operation: 'CREATE', dryRun: true, object: GOOD_INGRESS });
    const good = answer.verdict === 'allowed';
    return good
      ? []
      : [`a good review at the end: expected allowed, got ${answer.http} ${answer.code} ${show(answer.message)}`];
  }

  /** Logs and metrics. */
  private async judgeTraces(): Promise<string[]> {
    const metrics = await this.server.get('/metrics');
    const log = this.server.log.text();
    return [
      ...judgeLeaks('the log', log, this.world.forbidden),
      ...judgeLeaks('the metrics', metrics.text, this.world.forbidden),
      ...clumsyWords('the log', log),
    ];
  }
}

const GOOD_INGRESS: KubernetesObject = {
  apiVersion: 'networking.k8s.io/v1',
  kind: 'Ingress',
  metadata: { name: 'good-at-the-end', namespace: 'cases', creationTimestamp: '2026-05-01T08:00:00Z' },
  spec: {
    ingressClassName: 'haproxy',
    rules: [
      {
        host: 'good-at-the-end.example.net',
        http: {
          paths: [{ path: '/', pathType: 'Prefix', backend: { service: { name: 'good', port: { number: 80 } } } }],
        },
      },
    ],
  },
};
