import { mkdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';

import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';

import { badIngress, ingress, shopObjects } from '../e2e/shop.js';
import { makeScratch } from '../support/scratch.js';
import { documents, manifests, rendergate, withoutHaproxy, type CliResult } from './run-cli.js';

const scratch = makeScratch('rg-cli-');
let resources: string;

beforeAll(() => {
  resources = manifests(join(scratch.path, 'resources'), shopObjects());
});

afterAll(() => scratch.remove());

function review(objects: readonly object[], args: readonly string[] = [], env = {}): Promise<CliResult> {
  const operation = args.includes('--operation') ? [] : ['--operation', 'CREATE'];
  const all = ['review', '--resources', resources, '-f', '-', ...operation, ...args];
  return rendergate(all, { input: documents(objects), env });
}

interface Json {
  readonly verdict: string;
  readonly code: number;
  readonly message: string;
  readonly warnings: readonly string[];
}

const LABELLED = ingress('stored', { host: 'stored.example.com', metadata: { labels: { a: 'b' } } });

describe('rendergate review', () => {
  it('prints the verdict and the work in words, and exits with 0 when allowed', async () => {
    const { code, stdout, stderr } = await review([ingress('new')]);
    expect([code, stderr]).toEqual([0, '']);
    expect(stdout).toMatch(/^Ingress shop\/new: allowed \(\d+ instances rendered, 1 checker run\(s\)\)\n$/);
  });

  it('prints the message of a deny, and exits with 1', async () => {
    const { code, stdout } = await review([badIngress('bad')]);
    expect(code).toBe(1);
    expect(stdout).toMatch(/^Ingress shop\/bad: denied \(/);
    for (const part of ['timeout-server', 'effect:', 'fix:']) expect(stdout).toContain(part);
  });

  it('prints warnings on stderr as kubectl does', async () => {
    const { code, stderr } = await review([ingress('new', { service: 'missing' })]);
    expect(code).toBe(0);
    expect(stderr).toMatch(/^Warning: shop\/new: .*missing.*\n/);
  });

  it('prints one review as JSON, and nothing else on stdout', async () => {
    const { code, stdout } = await review([LABELLED], ['--operation', 'UPDATE', '--output', 'json']);
    expect(code).toBe(0);
    expect(JSON.parse(stdout)).toEqual({
      verdict: 'allowed',
      code: 200,
      message: '',
      warnings: [],
      executed: expect.any(Number),
      checkerRuns: 0,
      phasesMs: {
        queue: expect.any(Number),
        overlay: expect.any(Number),
        render: expect.any(Number),
        check: expect.any(Number),
      },
      object: { apiVersion: 'networking.k8s.io/v1', kind: 'Ingress', namespace: 'shop', name: 'stored' },
    });
  });

  it('reviews several documents in order, each on top of those allowed before, and exits with the worst', async () => {
    const twice = { host: 'contested.example.com' };
    const older = ingress('second', { ...twice, metadata: { creationTimestamp: '2026-05-20T10:15:00Z' } });
    const objects = [ingress('first', twice), badIngress('bad'), older, ingress('bad', { host: 'good.example.com' })];
    const { code, stdout } = await review(objects, ['--output', 'json']);
    const results = JSON.parse(stdout) as Json[];
    expect(code).toBe(1);
    expect(results.map(({ verdict }) => verdict)).toEqual(['allowed', 'denied', 'allowed', 'allowed']);
    expect(results[2]?.warnings.join(' ')).toMatch(/contested\.example\.com.*shop\/first|shop\/first.*contested/);
  });

  it('reviews a folder', async () => {
    const folder = manifests(join(scratch.path, 'changes'), [ingress('one'), ingress('two')]);
    const { code, stdout } = await rendergate([
      ...['review', '--resources', resources, '-f', folder, '--operation', 'CREATE'],
    ]);
    expect(code).toBe(0);
    expect(stdout).toMatch(/^Ingress shop\/one: allowed .*\nIngress shop\/two: allowed .*\n$/);
  });

  it('reviews a deletion of what is stored', async () => {
    const stored = shopObjects().find(({ kind }) => kind === 'Service') ?? {};
    const { code, stderr } = await review([stored], ['--operation', 'DELETE']);
    expect(code).toBe(0);
    expect(stderr).toContain('Warning: ');
  });

  it('lets pass what is not watched', async () => {
    const { code, stdout } = await review([
      { apiVersion: 'v1', kind: 'Pod', metadata: { name: 'p', namespace: 'shop' } },
    ]);
    expect([code, stdout]).toEqual([0, 'Pod shop/p: allowed (0 instances rendered, no checker run)\n']);
  });

  it('prints a unified diff of every file that changes, and the verdict beside it', async () => {
    const good = await review([ingress('new')], ['--output', 'diff']);
    expect(good).toMatchObject({ code: 0, stderr: '' });
    expect(good.stdout).toMatch(/^--- a\/haproxy\.cfg.*\n\+\+\+ b\/haproxy\.cfg.*\n@@ -\d+/m);
    expect(good.stdout).toMatch(/^\+new\.example\.com /m);
    expect(good.stdout).not.toMatch(/^=/m);
    const bad = await review([badIngress('bad')], ['--output', 'diff']);
    expect(bad.code).toBe(1);
    expect(bad.stdout).toMatch(/^\+.*5 parsecs/m);
    expect(bad.stderr).toMatch(/^denied: /);
    const same = await review([LABELLED], ['--output', 'diff', '--operation', 'UPDATE']);
    expect(same).toEqual({ code: 0, stdout: '', stderr: '' });
  });

  it('exits with 2 and says how to get the checker when it is missing', async () => {
    const { code, stdout } = await review([ingress('new')], [], withoutHaproxy());
    expect(code).toBe(2);
    expect(stdout).toMatch(/^Ingress shop\/new: unjudged/);
    expect(stdout).toContain('apt-get install haproxy');
  });
});

describe('rendergate review, called wrongly', () => {
  it.each<[string, readonly string[], RegExp]>([
    ['no file', ['--operation', 'CREATE'], /--filename/],
    ['no operation', ['-f', '-'], /--operation/],
    ['an unknown operation', ['-f', '-', '--operation', 'PATCH'], /CREATE, UPDATE, DELETE/],
    ['an unknown output', ['-f', '-', '--operation', 'CREATE', '--output', 'xml'], /text, json, diff/],
    ['an unknown option', ['-f', '-', '--operation', 'CREATE', '--fast'], /unknown option '--fast'/],
    [
      'a file that is not there',
      ['-f', '/nowhere.yaml', '--operation', 'CREATE'],
      /nowhere\.yaml can't be read: .*ENOENT/,
    ],
    ['resources that are not there', ['-f', '-', '--operation', 'CREATE', '--resources', '/nowhere'], /nowhere/],
    ['a configuration that is not there', ['-f', '-', '--operation', 'CREATE', '--config', '/nowhere'], /nowhere/],
  ])('exits with 2 and says what is wrong: %s', async (_, args, said) => {
    const { code, stdout, stderr } = await rendergate(['review', ...args], {
      cwd: resources,
      input: documents([ingress('x')]),
    });
    expect([code, stdout]).toEqual([2, '']);
    expect(stderr).toMatch(said);
    expect(stderr).not.toMatch(/\n\s+at /);
  });

  it.each<[string, string, RegExp]>([
    ['nothing', '', /holds no object/],
    ['no YAML', 'a: [', /-:\d+: /],
    ['no object', '- 1\n- 2\n', /^error: /],
    ['an object without a kind', 'apiVersion: v1\nmetadata: { name: x }\n', /kind/],
  ])('exits with 2 when what it reads is %s', async (_, input, said) => {
    const args = ['review', '--resources', resources, '-f', '-', '--operation', 'CREATE'];
    const { code, stderr } = await rendergate(args, { input });
    expect(code).toBe(2);
    expect(stderr).toMatch(said);
  });

  it('exits with 2 and names every mistake of the configuration', async () => {
    const folder = join(scratch.path, 'config');
    mkdirSync(folder);
    const file = join(folder, 'rendergate.yaml');
    writeFileSync(
      file,
      `apiVersion: rendergate.dev/v1alpha1
kind: RenderConfig
metadata: { name: x }
spec:
  watchedResources:
    sites: { apiVersion: example.org/v1, kind: Site, resource: sites, indexBy: ["$.metadata.namespace"], review: true }
  components:
    one: { sources: [sites], group: lines, kind: text, template: "<% async () => 1 %>" }
    two: { sources: [sites], group: lines, kind: text, template: "a\\n<%= if %>" }
  outputs:
    haproxy.cfg: { kind: text, template: "<%~ group('lines') %>" }
`,
    );
    const args = ['review', '--config', file, '--resources', resources, '-f', '-', '--operation', 'CREATE'];
    const { code, stderr } = await rendergate(args, { input: documents([ingress('x')]) });
    expect(code).toBe(2);
    expect(stderr).toMatch(/^error: the configuration has 2 mistakes\n/);
    expect(stderr).toContain('an async function is not allowed');
    expect(stderr).toMatch(/rendergate\.yaml:9:\d+: spec\.components\.two\.template: /);
  });
});
