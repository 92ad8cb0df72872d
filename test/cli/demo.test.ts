import { describe, expect, it } from '@jest/globals';

import { rendergate, withoutHaproxy } from './run-cli.js';

/** `1. CREATE Ingress a/b: ...` with the line of its verdict below. */
function verdicts(stdout: string): string[] {
  return [...stdout.matchAll(/^(\d)\. (\w+) (\w+) [\w/-]+: .*\n {3}(allowed|denied) \(([\w-]+)/gm)].map(
    ([, number, operation, kind, verdict, reason]) => `${number} ${operation} ${kind} ${verdict} ${reason}`,
  );
}

describe('rendergate demo', () => {
  it('shows six verdicts in order, with what kubectl shows and where the time went, and exits with 0', async () => {
    const { code, stdout, stderr } = await rendergate(['demo']);
    expect([code, stderr]).toEqual([0, '']);
    expect(verdicts(stdout)).toEqual([
      '1 CREATE Ingress denied cold',
      '2 CREATE Ingress allowed passed',
      '3 CREATE Ingress denied refused',
      '4 CREATE Ingress denied refused',
      '5 DELETE Service allowed passed',
      '6 UPDATE Ingress allowed unchanged',
    ]);
    expect(stdout.match(/time: queue [\d.]+ ms, overlay [\d.]+ ms, render [\d.]+ ms, check [\d.]+ ms/g)).toHaveLength(
      6,
    );
    expect(stdout.match(/Error from server \(\w+\): admission webhook/g)).toHaveLength(3);
    expect(stdout).toMatch(/retryAfterSeconds: 1/);
    expect(stdout).toMatch(/^ +Warning: .*shop\/api/m);
    expect(stdout).toContain('no checker run, since no output changes');
    for (const part of ['effect:', 'fix:', 'first full render']) expect(stdout).toContain(part);
  });

  it('says in one line how to get a missing haproxy and what cannot be shown without it, and exits with 0', async () => {
    const { code, stdout } = await rendergate(['demo'], { env: withoutHaproxy() });
    expect(code).toBe(0);
    expect(stdout.split('\n')[0]).toMatch(/haproxy is not installed.*apt-get install haproxy.*reviews 2, 3 and 5/);
    expect(verdicts(stdout)).toEqual([
      '1 CREATE Ingress denied cold',
      '2 CREATE Ingress denied checker-missing',
      '3 CREATE Ingress denied checker-missing',
      '4 CREATE Ingress denied refused',
      '5 DELETE Service denied checker-missing',
      '6 UPDATE Ingress allowed unchanged',
    ]);
  });
});
