import { cpSync, mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import pino from 'pino';
import pc from 'picocolors';
import type { ReviewRecord } from '../admission/review-record.js';
import type { Checker } from '../check/checker.js';
import { findProgram } from '../check/find-program.js';
import type { ComponentSpec, RenderConfig } from '../config/render-config.js';
import { developmentCertificate } from '../server/certificates.js';
import { createDemoClient, type DemoAnswer, type DemoChange, readChange, reviewBody } from './demo-client.js';
import { printDemoReview } from './demo-print.js';
import { loadCheckedConfig } from './load.js';
import { packageRoot, SHIPPED_CONFIG } from './package-root.js';
import { type Service, startService } from './serve.js';

const DEMO = join(packageRoot(), 'deploy', 'demo');

/** Changes posted once the first render is through, each stored when it was allowed, as the API server would. */
const CHANGES = [
  { file: '1-good-create.yaml', operation: 'CREATE', says: 'a good Ingress' },
  { file: '2-refused-by-haproxy.yaml', operation: 'CREATE', says: 'an annotation that HAProxy refuses' },
  {
    file: '3-newline-and-section.yaml',
    operation: 'CREATE',
    says: 'an annotation with a line break and a global section in it',
  },
  { file: '4-delete-needed-service.yaml', operation: 'DELETE', says: 'a Service that Ingresses still need goes' },
  { file: '5-label-only.yaml', operation: 'UPDATE', says: 'only a label changes' },
] as const;
const EARLY = {
  file: '6-during-first-render.yaml',
  operation: 'CREATE',
  says: 'a review during the first, cold render, with half a second to wait',
} as const;

/**
 * The main job as a user would see it: a real webhook on the demo cluster, real reviews over HTTPS, real verdicts. Works in
 * a temporary folder; leaves nothing behind.
 */
export async function demo(options: { readonly keepServing: boolean }): Promise<void> {
  const folder = mkdtempSync(join(tmpdir(), 'rendergate-demo-'));
  process.on('exit', () => rmSync(folder, { recursive: true, force: true }));
  const manifests = await prepareCluster(folder);
  const checker = checkerOfDemo();
  const records = new Map<string, ReviewRecord>();
  const config = withSlowStart(loadCheckedConfig(SHIPPED_CONFIG));
  const log = pino({ level: 'error', base: null }, pino.destination(2));
  const service = await startService(config, serveOptions(folder, manifests), log, {
    onReview: (record) => records.set(record.uid, record),
    ...(checker === undefined ? {} : { checker }),
  });
  process.stdout.write(
    `rendergate serves https://localhost:${service.server.port}/validate for the manifests of deploy/demo/manifests\n\n`,
  );
  await runReviews(service, records, manifests);
  if (options.keepServing) printCurl(folder, service);
  else await service.close();
}

function serveOptions(folder: string, resources: string): Parameters<typeof startService>[1] {
  return {
    config: '',
    resources,
    output: join(folder, 'output'),
    host: '127.0.0.1',
    port: 0,
    healthPort: 0,
    certs: join(folder, 'certs'),
    propagation: 0,
    logLevel: 'error',
  };
}

/** Copies the manifests and puts a fresh certificate into the TLS Secret: a private key is never committed. */
async function prepareCluster(folder: string): Promise<string> {
  const manifests = join(folder, 'manifests');
  cpSync(join(DEMO, 'manifests'), manifests, { recursive: true });
  mkdirSync(join(folder, 'shop-tls'));
  const pair = await developmentCertificate(join(folder, 'shop-tls'), ['shop.example.com']);
  const base64 = (text: string): string => Buffer.from(text).toString('base64');
  const secret = join(manifests, 'shop-tls.yaml');
  writeFileSync(
    secret,
    readFileSync(secret, 'utf8')
      .replace(/tls\.crt: .*/, `tls.crt: ${base64(pair.cert)}`)
      .replace(/tls\.key: .*/, `tls.key: ${base64(pair.key)}`),
  );
  return manifests;
}

/** Fifteen manifests render in a blink: one component that burns a second makes the cold render long enough to be seen. */
function withSlowStart(config: RenderConfig): RenderConfig {
  const template = {
    name: 'demo-slow-start',
    file: 'src/cli/demo.ts',
    firstLine: 1,
    text: '<% for (let i = 0, x = 1; i < 2.5e8; i++) x = (x * 31 + i) | 0; %>',
  };
  const slow: ComponentSpec = {
    name: 'demo-slow-start',
    sources: ['ingressclasses'],
    group: 'demo',
    kind: 'text',
    template,
    requires: [],
    consumes: [],
    optionalConsumes: [],
    effects: [],
    whenAnyPathExists: undefined,
  };
  return { ...config, components: [...config.components, slow] };
}

/** Without haproxy, what the render alone decides can still be shown. */
function checkerOfDemo(): Checker | undefined {
  if (findProgram('haproxy', process.env['PATH']).kind === 'found') return undefined;
  process.stdout.write(
    `${pc.yellow('haproxy is not installed')} (apt-get install haproxy): reviews 2, 3 and 5 need its verdict and can't be judged here; the others can.\n\n`,
  );
  return {
    identity: 'none',
    check: ({ lane }) =>
      Promise.resolve(
        lane === 'reconcile'
          ? { kind: 'passed', warnings: [], durationMs: 0 }
          : {
              kind: 'unavailable',
              reason: 'missing',
              message: 'haproxy is not installed: apt-get install haproxy',
              durationMs: 0,
            },
      ),
  };
}

async function runReviews(
  service: Service,
  records: ReadonlyMap<string, ReviewRecord>,
  manifests: string,
): Promise<void> {
  const client = createDemoClient(service.server.port, readFileSync(service.ca ?? '', 'utf8'));
  const show = (number: number, change: DemoChange, answer: DemoAnswer): void =>
    printDemoReview(number, change, answer, records.get(answer.uid));
  try {
    const early = readChange(join(DEMO, 'changes'), EARLY, manifests);
    show(1, early, await client.post(early, '1s'));
    await service.runtime.host.waitForRoot(120_000, new AbortController().signal);
    for (const [at, entry] of CHANGES.entries()) {
      const change = readChange(join(DEMO, 'changes'), entry, manifests);
      const answer = await client.post(change, '10s');
      show(at + 2, change, answer);
      if (answer.allowed) await store(service, change);
    }
  } finally {
    await client.close();
  }
}

/** What the API server and the watch would do: the object is stored, and the reconcile loop takes it in. */
async function store(service: Service, change: DemoChange): Promise<void> {
  const alias = `${change.kind.toLowerCase()}${change.kind === 'Ingress' ? 'es' : 's'}`;
  const text = change.operation === 'DELETE' ? undefined : JSON.stringify(change.object);
  const stored = [{ alias, namespace: change.namespace, name: change.name, text }];
  const { admission, coordinator } = service.runtime;
  admission.shown(stored, coordinator.change(stored));
  await coordinator.settled();
}

function printCurl(folder: string, service: Service): void {
  const body = join(folder, 'review.json');
  writeFileSync(body, reviewBody(readChange(join(DEMO, 'changes'), CHANGES[1], join(folder, 'manifests'))).body);
  process.stdout.write(
    [
      'Still serving; Ctrl-C ends it. In another terminal:',
      `  curl -s --cacert ${service.ca} -H 'Content-Type: application/json' --data @${body} 'https://localhost:${service.server.port}/validate?timeout=10s'`,
      `  curl -s 'http://localhost:${service.server.healthPort}/readyz?verbose'`,
      `The manifests are in ${join(folder, 'manifests')}: change one and look at ${join(folder, 'output', 'current')}`,
      '',
    ].join('\n'),
  );
  process.once('SIGINT', () => void service.close().then(() => process.exit(0)));
}
