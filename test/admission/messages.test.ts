import { describe, expect, it } from '@jest/globals';

import {
  coldMessage,
  denyMessage,
  standingWarning,
  unjudgedMessage,
  warningLine,
  warningLines,
} from '../../src/admission/messages.js';
import type { ReviewedChange } from '../../src/admission/reviewed-change.js';
import type { TracedFault } from '../../src/render/protocol.js';
import { site } from '../support/render-config.js';

const REVIEWED: ReviewedChange = {
  change: site('web', {}),
  operation: 'CREATE',
  label: 'sites shop/web',
  title: 'shop/web',
  objectUid: '',
  dying: false,
  dryRun: false,
};

function fault(more: Partial<TracedFault> = {}): TracedFault {
  return {
    id: 'f',
    object: { alias: 'sites', namespace: 'shop', name: 'web' },
    field: 'spec.line',
    template: { name: 'site', file: 'site.eta', line: 3 },
    excerpt: '>    3 | <%= item.spec.line %>',
    rendered: 'timeout server parsecs',
    text: "unexpected character 'p'",
    ...more,
  };
}

const UNFIT = /[\u0000-\u0009\u000b-\u001f\u007f-\u009f\u2028\u2029\ufffd]|\p{Surrogate}/u;

describe('a warning', () => {
  it.each([
    ['a\nb\r\n  c', 'a b c'],
    ['\u001b[31mred\u0007', '[31mred'],
    ['a\u2028b\u0085c\u00a0d', 'a b c d'],
    ['half \ud800 pair', 'half pair'],
    ['  ', ''],
  ])('is one printable line: %j', (text, line) => {
    expect(warningLine(text)).toBe(line);
  });

  it('has at most 120 characters and no half of a pair at its end', () => {
    expect(warningLine('x'.repeat(120))).toBe('x'.repeat(120));
    expect(warningLine('x'.repeat(121))).toBe(`${'x'.repeat(119)}…`);
    const line = warningLine(`${'x'.repeat(118)}😀${'y'.repeat(9)}`);
    expect(line.length).toBeLessThanOrEqual(120);
    expect(line.isWellFormed()).toBe(true);
  });

  it('is given once, and all of them stay below what the API server drops', () => {
    expect(warningLines(['a', 'a ', '', 'b'])).toEqual(['a', 'b']);
    const many = warningLines(Array.from({ length: 500 }, (_, at) => `${at} ${'w'.repeat(200)}`));
    expect(many.join('').length).toBeLessThanOrEqual(4_096);
    expect(many.at(-1)).toBe('and 481 more warnings of this kind');
  });
});

describe('a deny', () => {
  it('says object, field, cause, line, template, effect and fix', () => {
    expect(denyMessage(REVIEWED, [fault()])).toBe(
      [
        "sites shop/web: spec.line: unexpected character 'p'",
        'line:   timeout server parsecs',
        'from:   template site, site.eta:3',
        '>    3 | <%= item.spec.line %>',
        'effect: with this change the load balancer could not take its configuration, so it was not admitted; what is served stays as it is',
        'fix:    correct spec.line and apply it again',
      ].join('\n'),
    );
  });

  it('names the other object that breaks', () => {
    const message = denyMessage(REVIEWED, [
      fault({ object: { alias: 'sites', namespace: 'blog', name: 'old' }, field: undefined }),
    ]);
    expect(message).toContain('sites shop/web: breaks blog/old: unexpected');
    expect(message).toContain('fix:    correct blog/old first, or leave this change out');
  });

  it('sends whoever meets a fault of the template to the operator', () => {
    const message = denyMessage(REVIEWED, [fault({ object: undefined, field: undefined })]);
    expect(message).toContain('whoever runs rendergate');
    expect(message).not.toContain('undefined');
  });

  it('says that a text is withheld', () => {
    expect(denyMessage(REVIEWED, [fault({ text: '', rendered: undefined, excerpt: undefined })])).toContain('withheld');
  });

  it('lists three further faults and counts the rest', () => {
    const message = denyMessage(
      REVIEWED,
      Array.from({ length: 9 }, (_, at) => fault({ text: `cause ${at}` })),
    );
    expect(message.match(/^also: /gm)).toHaveLength(3);
    expect(message).toContain('and 5 more');
  });

  it('stays on one screen and printable, whatever is in it', () => {
    const hostile = `\u001b[2J\ud800\u2028${'é\n😀'.repeat(3_000)}`;
    const message = denyMessage({ ...REVIEWED, label: hostile, title: hostile }, [
      fault({ text: hostile, rendered: hostile, excerpt: hostile, field: hostile }),
      fault({ text: hostile }),
    ]);
    expect(message.length).toBeLessThanOrEqual(1_800);
    expect(message).not.toMatch(UNFIT);
  });

  it('has words even when the checker named nothing', () => {
    expect(denyMessage(REVIEWED, [])).toContain('sites shop/web: the checker refuses the configuration');
  });
});

describe('what could not be judged', () => {
  const progress = {
    stage: 'instances',
    done: 40,
    known: 100,
    heapMiB: 90,
    instance: 'site of sites shop/web',
  } as const;

  it('during the first render says how far it is and when it may end', () => {
    const message = coldMessage(progress, 4_000);
    expect(message).toContain('the first full render is still running (40 of 100 instances, about 6 s left)');
    expect(message).toMatch(/^effect: /m);
    expect(message).toMatch(/^fix: /m);
    expect(message).toContain('kubectl delete validatingwebhookconfiguration');
  });

  it('gives no estimate from too little, and the stage once all instances are done', () => {
    expect(coldMessage({ ...progress, done: 9 }, 4_000)).toContain('(9 of 100 instances)');
    expect(coldMessage({ ...progress, stage: 'outputs', done: 100 }, 4_000)).toContain('still running (outputs)');
    expect(coldMessage({ ...progress, stage: 'loading', done: 0, known: 0 }, 4_000)).toContain(
      'still running (loading)',
    );
  });

  it('after the first render says that it has not passed its check', () => {
    expect(coldMessage({ ...progress, stage: 'idle', done: 100 }, 4_000)).toContain('has not passed its check yet');
  });

  it('says cause, effect, fix and the way out', () => {
    expect(unjudgedMessage('the checker is missing', 'install it').split('\n')).toEqual([
      'not judged: the checker is missing',
      expect.stringMatching(/^effect: /),
      'fix:    install it',
      expect.stringMatching(/^way out for operators: /),
    ]);
  });
});

describe('a standing quarantine', () => {
  it('is told with what is served in the place of the object', () => {
    const entry = { alias: 'sites', namespace: 'shop', name: 'web', faults: [], reason: 'bad line', servedOld: false };
    expect(standingWarning(entry)).toBe('shop/web is not served: bad line');
    expect(standingWarning({ ...entry, namespace: '', servedOld: true })).toBe(
      'web is served at its last good revision: bad line',
    );
  });
});
