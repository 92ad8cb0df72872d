import { mkdirSync, readFileSync, realpathSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';

import { afterEach, beforeEach, describe, expect, it } from '@jest/globals';

import { CheckerShim, findHaproxy } from '../cases/checker-shim.js';
import { copyConfig } from '../cases/config-copy.js';
import { readRelease } from '../cases/case-world.js';
import { makeScratch, type Scratch } from '../support/scratch.js';
import { type ServeOptions, type ServeProcess, startServe } from '../support/server.js';
import { until } from './defined-answer.js';
import { ingress, readReply, reviewOf, shopObjects } from './shop.js';

let scratch: Scratch;
let shim: CheckerShim;
let config: string;
let servers: ServeProcess[];

beforeEach(() => {
  scratch = makeScratch('rg-serve-');
  shim = new CheckerShim(scratch.folder('shim'), findHaproxy() ?? 'haproxy', false);
  config = copyConfig(scratch.folder('config'), { checker: shim.program }).path;
  servers = [];
  mkdirSync(join(scratch.path, 'resources'));
  for (const [at, object] of shopObjects().entries()) put(`${at}.json`, JSON.stringify(object));
});

afterEach(async () => {
  await Promise.all(servers.map((server) => server.stop()));
  scratch.remove();
});

function put(name: string, text: string): void {
  writeFileSync(join(scratch.path, 'resources', name), text);
}

async function serve(more: Partial<ServeOptions> = {}): Promise<ServeProcess> {
  const places = { resources: join(scratch.path, 'resources'), output: join(scratch.path, 'out') };
  const server = await startServe({ config, ...places, tmp: scratch.folder('tmp', 0o1777), ...more });
  servers.push(server);
  return server;
}

const release = (): string => realpathSync(join(scratch.path, 'out/current'));

describe('SIGTERM', () => {
  it('makes the service unready, lets it serve on and finish what is in flight, and ends it with 0', async () => {
    const server = await serve({ args: ['--propagation', '1'] });
    await server.published();
    shim.replace({ sleepSeconds: 1 });
    const started = shim.runs();
    const inFlight = server.post(reviewOf(ingress('in-flight')), '10s');
    await until(() => shim.runs() > started);
    process.kill(server.pid, 'SIGTERM');
    await server.log.wait((line) => line['signal'] === 'SIGTERM');
    const ready = await server.get('/readyz?verbose');
    expect(ready.status).not.toBe(200);
    expect(ready.text).toContain('[-]shutdown');
    const late = await server.post(reviewOf(ingress('late')), '10s');
    expect(readReply(late).allowed).toBe(true);
    expect(late.headers['connection']).toBe('close');
    expect(readReply(await inFlight).allowed).toBe(true);
    await server.log.wait((line) => line['msg'] === 'drained');
    // A signal that does nothing: it ends by itself.
    expect(await server.stop('SIGCONT')).toBe(0);
  });

  it('ends a service whose first render never returns', async () => {
    writeFileSync(join(scratch.path, 'config/templates/hosts.eta'), '<% for (;;); %>');
    const server = await serve();
    await until(async () => (await server.get('/readyz?verbose')).text.includes('(instances,'));
    expect(await server.stop('SIGTERM')).toBe(0);
  });
});

describe('SIGKILL', () => {
  it('leaves the last published output, and a restart keeps it until another one has passed', async () => {
    const first = await serve();
    await first.published();
    const before = release();
    const text = readRelease(before);
    await first.stop('SIGKILL');
    expect(release()).toBe(before);

    shim.replace({ signal: 'SIGKILL' });
    put('new.json', JSON.stringify(ingress('new')));
    const second = await serve();
    await second.log.wait((line) => line['msg'] === 'reconcile failed');
    expect(release()).toBe(before);
    expect(readRelease(before)).toBe(text);
    expect(readReply(await second.post(reviewOf(ingress('early')), '1s')).status).toMatchObject({ code: 503 });

    shim.restore();
    await second.published();
    expect(release()).not.toBe(before);
    expect(readRelease(release())).toContain('new.example.com');
  });
});

describe('a manifest that is half written', () => {
  it('counts as it was until it is whole, and a warning names it', async () => {
    const server = await serve();
    await server.published();
    const before = readRelease(release());
    expect(before).toContain('stored.example.com');
    const changed = JSON.stringify(ingress('stored', { host: 'moved.example.com' }));
    put('4.json', changed.slice(0, changed.length / 2));
    await server.log.wait((line) => JSON.stringify(line).includes('4.json') && line['level'] === 40);
    const other = server.revision();
    put('5.json', JSON.stringify(ingress('other')));
    await server.reconciledAfter(other);
    expect(readRelease(release())).toContain('stored.example.com');
    expect(readRelease(release())).toContain('other.example.com');

    const whole = server.revision();
    put('4.json', changed);
    await server.reconciledAfter(whole);
    expect(readRelease(release())).toContain('moved.example.com');
    expect(readRelease(release())).not.toContain('stored.example.com');
  });
});

describe('a render thread that runs out of memory', () => {
  const SMALL = `apiVersion: rendergate.dev/v1alpha1
kind: RenderConfig
metadata: { name: small }
spec:
  watchedResources:
    ingresses:
      apiVersion: networking.k8s.io/v1
      kind: Ingress
      resource: ingresses
      indexBy: ["$.metadata.namespace"]
      review: true
  components:
    lines:
      sources: [ingresses]
      group: lines
      kind: text
      template: |
        <% if (item.metadata.annotations?.hoard) for (const all = []; ; ) all.push(new Array(100000).fill(all.length)); %>
        <%= item.metadata.name %>
  outputs:
    haproxy.cfg: { kind: text, template: "<%~ group('lines') %>" }
  check: { command: ["true"] }
  render: { heap: 48 }
`;

  it('is replaced: the review is denied, others are judged, and the output stays', async () => {
    const file = join(scratch.folder('small'), 'rendergate.yaml');
    writeFileSync(file, SMALL);
    const server = await serve({ config: file });
    await server.published();
    const hoard = ingress('hoard', { annotations: { hoard: 'yes' } });
    const first = readReply(await server.post(reviewOf(hoard), '10s'));
    expect(first.status).toMatchObject({ code: 422 });
    const again = readReply(await server.post(reviewOf(hoard), '10s'));
    expect(again.status).toMatchObject({ code: 422 });
    expect(readReply(await server.post(reviewOf(ingress('fine')), '10s')).allowed).toBe(true);
    expect((await server.get('/livez')).status).toBe(200);
    expect(readFileSync(join(release(), 'haproxy.cfg'), 'utf8')).toBe('stored\n');
  });

  it('over a stored object holds that one back and serves the others', async () => {
    const file = join(scratch.folder('small'), 'rendergate.yaml');
    writeFileSync(file, SMALL);
    put('6.json', JSON.stringify(ingress('hoard', { annotations: { hoard: 'yes' } })));
    const server = await serve({ config: file });
    await server.published();
    expect(readFileSync(join(release(), 'haproxy.cfg'), 'utf8')).toBe('stored\n');
    expect(server.log.lines.find((line) => line['msg'] === 'object quarantined')).toMatchObject({
      object: 'ingresses shop/hoard',
    });
    expect((await server.get('/readyz?verbose')).text).toContain('quarantine');
  });
});
