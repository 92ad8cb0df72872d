import { PassThrough } from 'node:stream';
import type { IncomingMessage } from 'node:http';

import { describe, expect, it } from '@jest/globals';

import { BodyBudget, readBody } from '../../src/server/request-body.js';

function request(): PassThrough & IncomingMessage {
  return new PassThrough() as unknown as PassThrough & IncomingMessage;
}

describe('the budget of all bodies', () => {
  it('turns away what finds no room, and has room again when others are given back', async () => {
    const budget = new BodyBudget(10);
    const [first, second, third] = [request(), request(), request()];
    const read = readBody(first, 8, budget);
    first.end('12345678');
    expect(await read).toEqual({ kind: 'read', text: '12345678', bytes: 8 });

    const crowded = readBody(second, 8, budget);
    second.write('123');
    expect(await crowded).toEqual({ kind: 'crowded' });

    budget.give(8);
    const again = readBody(third, 8, budget);
    third.end('12345678');
    expect((await again).kind).toBe('read');
  });

  it('gets back what a body had taken that is too large, or whose sender went away', async () => {
    const budget = new BodyBudget(10);
    const large = request();
    const refused = readBody(large, 8, budget);
    large.write('12345678');
    large.write('9');
    expect(await refused).toEqual({ kind: 'too-large' });

    const gone = request();
    const aborted = readBody(gone, 10, budget);
    gone.write('123456789');
    gone.destroy();
    expect(await aborted).toEqual({ kind: 'aborted' });
    expect(budget.take(10)).toBe(true);
  });
});
