import { describe, expect, it } from '@jest/globals';

import { clumsyWords, forbiddenTexts, judgeAnswerForm, judgeLeaks } from './always.js';
import type { Answer } from './answer.js';
import { readHttpAnswer, readOfflineAnswer, verdictOf } from './answer.js';
import { judgeAnswer, judgeEveryAnswer, judgeOutput, judgeTotals } from './expectations.js';
import type { Expectation } from './case-schema.js';

const ALLOWED: Answer = {
  through: 'https',
  http: 200,
  verdict: 'allowed',
  code: 200,
  uid: 'u',
  message: '',
  warnings: ['shop/web: no Service soon'],
  retryAfterSeconds: undefined,
  checkerRuns: 1,
  executed: 5,
  seconds: 0.2,
  text: '{}',
  faults: [],
};
const DENIED: Answer = {
  ...ALLOWED,
  verdict: 'denied',
  code: 422,
  message: 'Ingress shop/web: timeout-server',
  warnings: [],
};
const UNJUDGED: Answer = {
  ...DENIED,
  verdict: 'unjudged',
  code: 503,
  message: 'the first render is running',
  retryAfterSeconds: 1,
};

function failures(expectation: Expectation, answer: Answer): string[] {
  return judgeAnswer(expectation, answer).map((line) => line.slice(0, line.indexOf(':')));
}

describe('what is expected of an answer', () => {
  it.each<[Expectation, Answer]>([
    [{ verdict: ['allowed'] }, ALLOWED],
    [{ verdict: ['allowed', 'denied'] }, DENIED],
    [{ verdict: ['unjudged'], code: [503, 504], retryAfter: true }, UNJUDGED],
    [{ messageContains: ['SHOP/web', 'timeout'], messageLacks: ['BEGIN'] }, DENIED],
    [{ warningsContain: ['soon'], warningsLack: ['shop/first'], saysContain: ['service'] }, ALLOWED],
    [{ checkerRuns: [0, 1], executedAtMost: 5, answeredWithinSeconds: 1, uid: 'u' }, ALLOWED],
    [{ ifDenied: { messageContains: ['nowhere'] }, ifAllowed: { warningsContain: ['soon'] } }, ALLOWED],
    [
      { http: [415], verdict: ['denied'], messageContains: ['nothing'] },
      { ...ALLOWED, http: 415 },
    ],
    [{ retryAfter: true }, { ...UNJUDGED, through: 'offline', retryAfterSeconds: undefined }],
  ])('passes %j', (expectation, answer) => {
    expect(failures(expectation, answer)).toEqual([]);
  });

  it.each<[string, Expectation, Answer]>([
    ['verdict', { verdict: ['denied'] }, ALLOWED],
    ['verdict', { verdict: ['denied'] }, { ...DENIED, verdict: undefined, code: 500 }],
    ['code', { code: [503, 504] }, DENIED],
    ['http', {}, { ...ALLOWED, http: 400 }],
    ['http', { http: [415] }, ALLOWED],
    ['uid', { uid: 'other' }, ALLOWED],
    ['messageContains', { messageContains: ['nowhere'] }, DENIED],
    ['messageLacks', { messageLacks: ['TIMEOUT-server'] }, DENIED],
    ['warningsContain', { warningsContain: ['nowhere'] }, ALLOWED],
    ['warningsLack', { warningsLack: ['soon'] }, ALLOWED],
    ['saysContain', { saysContain: ['v9'] }, DENIED],
    ['checkerRuns', { checkerRuns: [0] }, ALLOWED],
    ['executedAtMost', { executedAtMost: 4 }, ALLOWED],
    ['executedAtMost', { executedAtMost: 4 }, { ...ALLOWED, executed: NaN }],
    ['retryAfter', { retryAfter: true }, DENIED],
    ['answeredWithinSeconds', { answeredWithinSeconds: 0.1 }, ALLOWED],
    ['messageAtMostCharacters', { messageAtMostCharacters: 5 }, DENIED],
    ['messageContains', { ifDenied: { messageContains: ['nowhere'] } }, DENIED],
  ])('fails %s', (field, expectation, answer) => {
    expect(failures(expectation, answer)).toEqual([field]);
  });

  it('says what came instead', () => {
    expect(judgeAnswer({ verdict: ['allowed'] }, DENIED)).toEqual([
      'verdict: expected allowed, got denied (code 422) "Ingress shop/web: timeout-server"',
    ]);
  });
});

describe('what is expected of a whole case', () => {
  it('finds a warning in any answer and adds up the checker runs', () => {
    const expectation = { anyWarningContains: ['soon'], checkerRunsTotalAtMost: 2 };
    expect(judgeTotals(expectation, [DENIED, ALLOWED], Infinity)).toEqual([]);
    expect(judgeTotals(expectation, [DENIED, DENIED, DENIED], Infinity)).toHaveLength(2);
  });

  it('counts a shared run once where the runs themselves were counted', () => {
    expect(judgeTotals({ checkerRunsTotalAtMost: 1 }, [ALLOWED, ALLOWED], 1)).toEqual([]);
  });

  it('asks every answer for what the end of the case says of answers', () => {
    expect(judgeEveryAnswer({ verdict: ['allowed'] }, [ALLOWED, DENIED])).toEqual([
      expect.stringContaining('review 2: verdict'),
    ]);
  });
});

describe('what is expected of the rendered files', () => {
  const rendered = { output: 'backend a\n  server s 192.0.2.10:8080\n', seen: 'lua-load x\n' };

  it('looks for words and patterns line by line, also in what a checker saw', () => {
    expect(judgeOutput({ outputContains: ['192.0.2.10:8080'], outputLacks: ['side-door'] }, rendered)).toEqual([]);
    expect(judgeOutput({ outputContains: ['192.0.2.99'] }, rendered)).toHaveLength(1);
    expect(judgeOutput({ outputLacks: ['lua-load'] }, rendered)).toEqual([expect.stringContaining('checker')]);
    expect(judgeOutput({ outputLacksPattern: ['^ +server .*:8080$'] }, rendered)).toHaveLength(1);
    expect(judgeOutput({ outputLacksPattern: ['^server'] }, rendered)).toEqual([]);
  });
});

describe('reading an answer', () => {
  const review = (response: unknown): unknown => ({
    apiVersion: 'admission.k8s.io/v1',
    kind: 'AdmissionReview',
    response,
  });
  const sent = { uid: 'u', apiVersion: 'admission.k8s.io/v1' };
  const read = (body: unknown, status = 200): Answer => {
    const bytes = Buffer.isBuffer(body) ? body : Buffer.from(JSON.stringify(body));
    return readHttpAnswer({ status, headers: {}, bytes, text: bytes.toString(), sentBytes: 0, seconds: 0 }, sent);
  };

  it('knows the verdict by its code', () => {
    expect([
      verdictOf(true, undefined),
      verdictOf(false, 422),
      verdictOf(false, 503),
      verdictOf(false, 504),
      verdictOf(false, 500),
      verdictOf(false, undefined),
    ]).toEqual(['allowed', 'denied', 'unjudged', 'unjudged', undefined, undefined]);
  });

  it('finds no fault in a good one', () => {
    const status = { code: 503, message: 'm', details: { retryAfterSeconds: 2 } };
    const answer = read(review({ uid: 'u', allowed: false, status, warnings: ['w'] }));
    expect(answer).toMatchObject({
      verdict: 'unjudged',
      retryAfterSeconds: 2,
      message: 'm',
      warnings: ['w'],
      faults: [],
    });
  });

  it('finds another uid, another kind, a patch, and bytes that are no UTF-8', () => {
    expect(read(review({ uid: 'x', allowed: true })).faults).toEqual([expect.stringContaining('uid')]);
    expect(read({ ...Object(review({ uid: 'u', allowed: true })), kind: 'Status' }).faults).toHaveLength(1);
    expect(read(review({ uid: 'u', allowed: true, patch: '' })).faults).toEqual([expect.stringContaining('patch')]);
    expect(read(Buffer.from([0x7b, 0xff, 0x7d])).faults[0]).toContain('UTF-8');
  });

  it('asks nothing of another status than 200', () => {
    expect(read('not json', 413).faults).toEqual([]);
  });

  it('reads the offline form and sees when verdict and code do not fit', () => {
    expect(
      readOfflineAnswer({ verdict: 'denied', code: 422, message: 'm', warnings: [], executed: 3 }, 1),
    ).toMatchObject({
      verdict: 'denied',
      executed: 3,
      faults: [],
    });
    expect(readOfflineAnswer({ verdict: 'denied', code: 503 }, 1).faults).toHaveLength(1);
  });
});

describe('what holds for every answer', () => {
  const faults = (more: Partial<Answer>): string[] => judgeAnswerForm({ ...ALLOWED, ...more });

  it('limits a warning to one line of 120 characters', () => {
    expect(faults({ warnings: ['x'.repeat(120), '😀'.repeat(120)] })).toEqual([]);
    expect(faults({ warnings: ['x'.repeat(121)] })).toHaveLength(1);
    expect(faults({ warnings: ['a\nb'] })).toHaveLength(1);
    expect(faults({ warnings: ['a\u001b[31m'] })).toHaveLength(1);
    expect(faults({ warnings: ['Warning: a'] })).toHaveLength(1);
  });

  it('wants no word of a value that nobody caught, and no stack trace', () => {
    expect(clumsyWords('x', 'an undefinedness, a NaNny')).toEqual([]);
    expect(clumsyWords('x', 'Service undefined/web and [object Object]')).toHaveLength(2);
    expect(clumsyWords('x', 'Error: a\n    at f (/srv/a.js:1:2)')).toHaveLength(1);
    expect(faults({ message: 'at line 5 of undefined' })).toHaveLength(1);
  });

  it('finds parts of a Secret and of a canary, encoded or decoded', () => {
    const password = 'correct horse battery staple, and 12 more words';
    const data = { key: Buffer.from(password).toString('base64') };
    const forbidden = forbiddenTexts(
      [
        { kind: 'Secret', data },
        { kind: 'ConfigMap', data: { a: 'x'.repeat(50) } },
      ],
      ['canary-1'],
    );
    expect(judgeLeaks('the log', `said ${password}`, forbidden)).toHaveLength(1);
    expect(judgeLeaks('the log', `said ${data.key.slice(0, 30)}`, forbidden)).toHaveLength(1);
    expect(judgeLeaks('the log', 'said canary-1', forbidden)).toHaveLength(1);
    expect(judgeLeaks('the log', `said ${'x'.repeat(50)}`, forbidden)).toEqual([]);
  });
});
