import type { ServerResponse } from 'node:http';

import type { HealthCheck } from './contract.js';

/** The requests in flight and whether the server is about to end. */
export interface Drain {
  /** Follows an answer until it is finished or its connection is gone. */
  track(res: ServerResponse): void;
  /** From now on each answer, those under way too, carries `Connection: close`, and the check fails. */
  start(): void;
  /** Resolves when no request is in flight, at the latest after `ms`. */
  settled(ms: number): Promise<void>;
  /** Named as the kube-apiserver's. */
  readonly check: HealthCheck;
}

export function createDrain(): Drain {
  const open = new Set<ServerResponse>();
  const waiting = new Set<() => void>();
  let draining = false;

  const untrack = (res: ServerResponse): void => {
    open.delete(res);
    if (open.size === 0) for (const wake of [...waiting]) wake();
  };
  return {
    track(res) {
      open.add(res);
      res.once('close', () => untrack(res));
      if (draining) closeAfter(res);
    },
    start() {
      draining = true;
      for (const res of open) closeAfter(res);
    },
    settled(ms) {
      return open.size === 0 ? Promise.resolve() : waitFor(waiting, ms);
    },
    check: {
      name: 'shutdown',
      check: () => (draining ? { ok: false, reason: 'the process is shutting down' } : { ok: true }),
    },
  };
}

function waitFor(waiting: Set<() => void>, ms: number): Promise<void> {
  return new Promise((resolve) => {
    const wake = (): void => {
      clearTimeout(timer);
      waiting.delete(wake);
      resolve();
    };
    const timer = setTimeout(wake, ms);
    waiting.add(wake);
  });
}

function closeAfter(res: ServerResponse): void {
  if (!res.headersSent) res.setHeader('Connection', 'close');
}
