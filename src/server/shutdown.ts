import type { Logger } from 'pino';

export interface ShutdownSteps {
  /** Readiness fails from here on; everything is still served. */
  startDraining(): void;
  /**
   * How long serving goes on after that, milliseconds: until every node has taken this replica out of its Service.
   * 0 where nobody balances between replicas.
   */
  readonly propagationMs: number;
  /** Ends serving when the requests in flight are through, and whatever else has to end in order. */
  close(): Promise<void>;
}

const SIGNALS = { SIGTERM: 15, SIGINT: 2 } as const;
type Signal = keyof typeof SIGNALS;

/**
 * Ends the process on SIGTERM or SIGINT without a failed call (B19): readiness fails, serving goes on for the
 * propagation time, the rest is drained, exit 0 (1 if `close` rejects). A second signal exits at once with 128 + its
 * number. Returns a function that takes the handlers away again.
 */
export function installShutdown(steps: ShutdownSteps, log: Logger): () => void {
  let begun = false;
  const onSignal = (signal: Signal): void => {
    if (begun) {
      log.warn({ signal }, 'second signal: exiting at once');
      process.exit(128 + SIGNALS[signal]);
    }
    begun = true;
    log.info({ signal, propagationMs: steps.propagationMs }, 'shutting down: not ready any more, still serving');
    void shutDown(steps, log).then((code) => process.exit(code));
  };
  process.on('SIGTERM', onSignal);
  process.on('SIGINT', onSignal);
  return () => {
    process.off('SIGTERM', onSignal);
    process.off('SIGINT', onSignal);
  };
}

/** The exit code. Never rejects. */
async function shutDown(steps: ShutdownSteps, log: Logger): Promise<0 | 1> {
  try {
    steps.startDraining();
    await new Promise((resolve) => setTimeout(resolve, steps.propagationMs));
    await steps.close();
    log.info('drained');
    return 0;
  } catch (error) {
    log.error({ err: error }, 'shutdown failed');
    return 1;
  }
}
