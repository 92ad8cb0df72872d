import pino from 'pino';
import type { Checker } from '../src/check/checker.js';
import { startService } from '../src/cli/serve.js';
import { shippedConfig } from './engine.js';
import { heapAfterCollection } from './heap.js';

/** What a served process is started with, as JSON in its first argument. */
export interface ServerSettings {
  readonly resources: string;
  readonly output: string;
  readonly certs: string;
  /** `yes` passes everything inside the process; a path is a program in the place of `haproxy`. */
  readonly checker: 'yes' | { readonly program: string };
}

export type ServerQuestion = 'heap' | 'close';

export interface ServerReady {
  readonly port: number;
  readonly healthPort: number;
  readonly ca: string;
}

const YES: Checker = {
  identity: 'yes',
  check: () => Promise.resolve({ kind: 'passed', warnings: [], durationMs: 0 }),
};

/** Entry of a process that serves as `rendergate serve` does, with its log written but to nowhere. */
async function main(): Promise<void> {
  const { checker, resources, output, certs } = JSON.parse(process.argv[2] ?? '{}') as ServerSettings;
  const shipped = shippedConfig();
  const config =
    checker === 'yes'
      ? shipped
      : { ...shipped, check: { ...shipped.check, command: [checker.program, ...shipped.check.command.slice(1)] } };
  const options = { config: '', resources, output, host: '127.0.0.1', port: 0, healthPort: 0, certs, propagation: 0 };
  const log = pino({ base: null }, pino.destination('/dev/null'));
  const service = await startService(
    config,
    { ...options, logLevel: 'info' },
    log,
    checker === 'yes' ? { checker: YES } : {},
  );
  await service.runtime.host.waitForRoot(600_000, new AbortController().signal);
  process.on('message', (question: ServerQuestion) => {
    if (question === 'heap') void heapAfterCollection().then((bytes) => process.send?.(bytes));
    else void service.close().then(() => process.exit(0));
  });
  const { port, healthPort } = service.server;
  process.send?.({ port, healthPort, ca: service.ca ?? '' } satisfies ServerReady);
}

await main();
