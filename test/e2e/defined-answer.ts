import { expect } from '@jest/globals';

import { clumsyWords } from '../cases/always.js';
import { ingress } from './shop.js';
import type { Reply, Shop } from './shop.js';

/** A verdict of whatever kind, in words that mean something. */
export function expectDefined(reply: Reply): void {
  expect(reply.http.status).toBe(200);
  expect(typeof reply.allowed).toBe('boolean');
  if (reply.allowed === false) expect(reply.message).not.toBe('');
  expect([reply.message, ...reply.warnings].flatMap((text) => clumsyWords('the answer', text))).toEqual([]);
}

/** What was posted before did no lasting harm. */
export async function expectAlive(shop: Shop): Promise<void> {
  const reply = await shop.review(ingress('alive'));
  expect(reply.allowed).toBe(true);
}

/** Waits for a condition that nobody announces; the test's own time limit ends it. */
export async function until(condition: () => boolean | Promise<boolean>): Promise<void> {
  while (!(await condition())) await new Promise((resolve) => setTimeout(resolve, 20));
}
