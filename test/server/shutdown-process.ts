import { once } from 'node:events';

import { pino } from 'pino';

import type { ReviewCall, ReviewReply } from '../../src/server/contract.js';
import { developmentCertificate } from '../../src/server/development-certificate.js';
import { startServer } from '../../src/server/https-server.js';
import { createMetrics } from '../../src/server/metrics.js';
import { installShutdown } from '../../src/server/shutdown.js';

/**
 * A server to be signalled by tests: `shutdown-process.js DIRECTORY PROPAGATION_MS [fail]`. It prints one JSON line with
 * its ports, logs to stderr, holds reviews whose body is `hold` until something comes on stdin, and with `fail` cannot
 * close.
 */
const [directory = '', propagationMs = '0', mode] = process.argv.slice(2);

async function review({ body }: ReviewCall): Promise<ReviewReply> {
  if (body === 'hold') {
    process.stderr.write('holding\n');
    await once(process.stdin, 'data');
  }
  return { status: 200, body: '{}' };
}

const log = pino({}, pino.destination({ dest: 2, sync: true }));
const server = await startServer({
  host: '127.0.0.1',
  port: 0,
  healthPort: 0,
  tls: await developmentCertificate(directory, []),
  maxBodyBytes: 1024,
  review,
  live: [],
  ready: [],
  metrics: createMetrics(),
  log,
  drainMs: 60_000,
});
const steps = {
  startDraining: () => server.startDraining(),
  propagationMs: Number(propagationMs),
  close: () => (mode === 'fail' ? Promise.reject(new Error('cannot close')) : server.close()),
};
installShutdown(steps, log);
process.stdout.write(`${JSON.stringify({ port: server.port, healthPort: server.healthPort })}\n`);
