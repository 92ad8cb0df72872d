import { afterAll, afterEach, beforeAll, describe, expect, it } from '@jest/globals';

import { CheckDesk, type CheckedJob, type CheckJob } from '../../src/admission/check-desk.js';
import { VerdictCache } from '../../src/check/verdict-cache.js';
import type { RenderHost } from '../../src/render/render-host.js';
import { component, renderConfig, site } from '../support/render-config.js';
import { renderReview, rootedHost } from '../support/rooted-host.js';
import { byLine, Held, PASSED, ScriptedChecker, silently, unavailable } from '../support/scripted-checker.js';

/** `spec.claim` writes a key of a cell that other sites may write too, `spec.raw` raw lines. */
const CLAIMS = "<% if (item.spec.claim) shared.publish('claims', item.spec.claim, item.metadata.name); %>\n";

let host: RenderHost;
const callers: AbortController[] = [];

beforeAll(async () => {
  const raw = component('raw', "<% if (item.spec.raw) { %>\n<%~ rawLines('spec.raw', item.spec.raw) %>\n<% } %>\n");
  host = await rootedHost(
    renderConfig({
      components: [component('claims', CLAIMS, { group: 'claims' }), component('site', '<%= item.spec.line %>\n'), raw],
    }),
    [site('old', { line: 'old' })],
  );
});

afterEach(hangUp);
afterAll(() => host.close());

/** Every caller goes. */
function hangUp(): void {
  for (const caller of callers.splice(0)) caller.abort();
}

function deskWith(checker: ScriptedChecker): CheckDesk {
  return new CheckDesk(host, checker, new VerdictCache());
}

async function jobOf(name: string, spec: object, more: Partial<CheckJob> = {}): Promise<CheckJob> {
  const render = await renderReview(host, site(name, spec));
  if (render.kind !== 'rendered') throw new Error(JSON.stringify(render));
  const { digest, shareable } = render;
  const caller = new AbortController();
  callers.push(caller);
  return { render: render.render, digest, shareable, label: `sites shop/${name}`, signal: caller.signal, ...more };
}

async function jobs(...specs: readonly (readonly [name: string, spec: object])[]): Promise<readonly CheckJob[]> {
  const made: CheckJob[] = [];
  for (const [name, spec] of specs) made.push(await jobOf(name, spec));
  return made;
}

function kinds(results: readonly CheckedJob[]): string[] {
  return results.map(({ outcome }) => outcome.kind);
}

describe('reviews that wait for the checker', () => {
  it('share one run when they are independent, and its pass is a pass of each', async () => {
    const checker = new ScriptedChecker();
    const desk = deskWith(checker);
    const waiting = await jobs(['a', { line: 'one' }], ['b', { line: 'two' }], ['c', { line: 'three' }]);
    const results = await Promise.all(waiting.map((job) => desk.check(job)));
    expect(results).toEqual(waiting.map(() => ({ outcome: PASSED, runs: 1 })));
    expect(checker.runs).toBe(1);
    expect(checker.texts).toEqual(['one\ntwo\nthree\nold\n']);
    expect(desk.length).toBe(0);
  });

  it('find the verdict of the same files without a run', async () => {
    const checker = new ScriptedChecker();
    const desk = deskWith(checker);
    const [first, again] = await jobs(['a', { line: 'one' }], ['a', { line: 'one' }]);
    if (first === undefined || again === undefined) throw new Error('no jobs');
    expect(await desk.check(first)).toEqual({ outcome: PASSED, runs: 1 });
    expect(await desk.check(again)).toEqual({ outcome: PASSED, runs: 0 });
    expect(checker.runs).toBe(1);
  });

  it('have a pass of their own remembered after a shared one', async () => {
    const checker = new ScriptedChecker();
    const desk = deskWith(checker);
    const waiting = await jobs(['a', { line: 'one' }], ['b', { line: 'two' }]);
    await Promise.all(waiting.map((job) => desk.check(job)));
    const again = await Promise.all(waiting.map((job) => desk.check(job)));
    expect(again.map(({ runs }) => runs)).toEqual([0, 0]);
  });

  it('are parted from the one that the source map blames, and the rest share again', async () => {
    const checker = new ScriptedChecker();
    const desk = deskWith(checker);
    const good = Array.from({ length: 9 }, (_, at) => [`g${at}`, { line: `line ${at}` }] as const);
    const waiting = await jobs(...good.slice(0, 4), ['bad', { line: 'refused' }], ...good.slice(4));
    const results = await Promise.all(waiting.map((job) => desk.check(job)));
    expect(kinds(results)).toEqual(waiting.map(({ label }) => (label.endsWith('bad') ? 'refused' : 'passed')));
    expect(checker.runs).toBe(3);
  });

  it('are halved when the checker does not say whom it means', async () => {
    const checker = new ScriptedChecker(silently);
    const desk = deskWith(checker);
    const waiting = await jobs(
      ['a', { line: 'one' }],
      ['b', { line: 'two' }],
      ['c', { line: 'refused' }],
      ['d', { line: 'four' }],
    );
    const results = await Promise.all(waiting.map((job) => desk.check(job)));
    expect(kinds(results)).toEqual(['passed', 'passed', 'refused', 'passed']);
    expect(checker.runs).toBeLessThanOrEqual(6);
  });

  it('never take the blame of another', async () => {
    const checker = new ScriptedChecker();
    const desk = deskWith(checker);
    const waiting = await jobs(...Array.from({ length: 6 }, (_, at) => [`r${at}`, { line: `refused ${at}` }] as const));
    const results = await Promise.all(waiting.map((job) => desk.check(job)));
    results.forEach(({ outcome }, at) => {
      expect(outcome.kind === 'refused' && outcome.findings.map(({ text }) => text)).toEqual([
        `unknown keyword 'refused ${at}'`,
      ]);
    });
  });

  it('do not share when they write the same key', async () => {
    const checker = new ScriptedChecker();
    const desk = deskWith(checker);
    const waiting = await jobs(['a', { line: 'one', claim: 'host' }], ['b', { line: 'two', claim: 'host' }]);
    await Promise.all(waiting.map((job) => desk.check(job)));
    expect(checker.runs).toBe(2);
  });

  it('do not share with raw lines, nor when they say so (a dry run)', async () => {
    const checker = new ScriptedChecker();
    const desk = deskWith(checker);
    const raw = await jobOf('a', { line: 'one', raw: 'timeout server 5s' });
    expect(raw.shareable).toBe(false);
    const waiting = [raw, await jobOf('b', { line: 'two' }), await jobOf('c', { line: 'three' }, { shareable: false })];
    await Promise.all(waiting.map((job) => desk.check(job)));
    expect(checker.runs).toBe(3);
  });

  it('that come while a run is under way share the next one', async () => {
    const held = new Held();
    const checker = new ScriptedChecker(held.verdict);
    const desk = deskWith(checker);
    const [first, ...later] = await jobs(
      ['a', { line: '1' }],
      ['b', { line: '2' }],
      ['c', { line: '3' }],
      ['d', { line: '4' }],
    );
    if (first === undefined) throw new Error('no job');
    const early = desk.check(first);
    await held.started;
    const late = later.map((job) => desk.check(job));
    checker.verdict = byLine;
    held.end();
    expect((await early).runs).toBe(1);
    expect((await Promise.all(late)).map(({ runs }) => runs)).toEqual([1, 1, 1]);
    expect(checker.runs).toBe(2);
  });
});

describe('a review that ends before its check', () => {
  it('leaves the others to theirs', async () => {
    const held = new Held();
    const desk = deskWith(new ScriptedChecker(held.verdict));
    const impatient = new AbortController();
    const [leaving, staying] = [
      await jobOf('a', { line: 'one' }, { signal: impatient.signal }),
      await jobOf('b', { line: 'two' }),
    ];
    const left = desk.check(leaving);
    const stayed = desk.check(staying);
    await held.started;
    impatient.abort();
    expect((await left).outcome).toMatchObject({ kind: 'unavailable', reason: 'aborted' });
    held.end();
    expect((await stayed).outcome).toEqual(PASSED);
  });

  it('ends the run when it was the last that waited', async () => {
    const held = new Held();
    const checker = new ScriptedChecker(held.verdict);
    const desk = deskWith(checker);
    const waiting = await jobs(['a', { line: 'one' }], ['b', { line: 'two' }]);
    const results = Promise.all(waiting.map((job) => desk.check(job)));
    await held.started;
    hangUp();
    expect(kinds(await results)).toEqual(['unavailable', 'unavailable']);
    expect(checker.seen[0]?.signal.aborted).toBe(true);
  });

  it('takes its run with it, but not the verdict of a twin that came for the same files', async () => {
    const held = new Held();
    const checker = new ScriptedChecker(held.verdict);
    const desk = deskWith(checker);
    const [first, twin] = await jobs(['a', { line: 'one' }], ['a', { line: 'one' }]);
    if (first === undefined || twin === undefined) throw new Error('no jobs');
    const impatient = new AbortController();
    const left = desk.check({ ...first, signal: impatient.signal, shareable: false });
    await held.started;
    impatient.abort();
    checker.verdict = byLine;
    const stayed = desk.check(twin);
    expect((await left).outcome).toMatchObject({ reason: 'aborted' });
    expect((await stayed).outcome).toEqual(PASSED);
  });

  it('starts none when it has ended already', async () => {
    const checker = new ScriptedChecker();
    const desk = deskWith(checker);
    const [job] = await jobs(['a', { line: 'one' }]);
    hangUp();
    expect(job === undefined ? undefined : (await desk.check(job)).outcome).toMatchObject({ reason: 'aborted' });
    expect(checker.runs).toBe(0);
  });
});

describe('a checker that gives no verdict', () => {
  it('gives none to any of those that shared it, and nothing is remembered', async () => {
    const checker = new ScriptedChecker(() => unavailable('killed'));
    const desk = deskWith(checker);
    const waiting = await jobs(['a', { line: 'one' }], ['b', { line: 'two' }]);
    expect(kinds(await Promise.all(waiting.map((job) => desk.check(job))))).toEqual(['unavailable', 'unavailable']);
    checker.verdict = byLine;
    expect(kinds(await Promise.all(waiting.map((job) => desk.check(job))))).toEqual(['passed', 'passed']);
  });

  it('because it threw ends each review, and the desk works on', async () => {
    const checker = new ScriptedChecker(() => Promise.reject(new Error('broken')));
    const desk = deskWith(checker);
    const waiting = await jobs(['a', { line: 'one' }], ['b', { line: 'two' }]);
    expect(kinds(await Promise.all(waiting.map((job) => desk.check(job))))).toEqual(['unavailable', 'unavailable']);
    checker.verdict = byLine;
    const [again] = waiting;
    expect(again === undefined ? undefined : (await desk.check(again)).outcome.kind).toBe('passed');
  });

  it('because the render is not kept any more ends the review', async () => {
    const desk = deskWith(new ScriptedChecker());
    const [job] = await jobs(['a', { line: 'one' }]);
    if (job === undefined) throw new Error('no job');
    await host.request('release', { render: job.render });
    expect((await desk.check(job)).outcome).toMatchObject({ kind: 'unavailable', reason: 'failed' });
  });
});
