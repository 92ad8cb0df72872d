import { execFile } from 'node:child_process';
import { join } from 'node:path';

import { describe, expect, it } from '@jest/globals';

import { CLI, PROJECT_ROOT } from '../support/project.js';

const RESOURCES = join(PROJECT_ROOT, 'deploy/demo/manifests');

function explain(...words: string[]): Promise<{ code: number; stdout: string; stderr: string }> {
  const args = [CLI, 'explain', ...words, '--resources', RESOURCES];
  return new Promise((resolve) => {
    execFile(process.execPath, args, (error, stdout, stderr) => {
      resolve({ code: error === null ? 0 : Number(error.code), stdout, stderr });
    });
  });
}

describe('rendergate explain', () => {
  it('tells what was written for an Ingress, and from what', async () => {
    const { code, stdout } = await explain('ingresses/shop/shop');
    expect(code).toBe(0);
    expect(stdout).toMatch(/^ingresses shop\/shop\n/);
    expect(stdout).toMatch(/component backends \(group backends\)/);
    expect(stdout).toMatch(/haproxy\.cfg lines \d+ to \d+/);
    expect(stdout).toMatch(/find services shop\/front/);
    expect(stdout).toMatch(/route shop\.example\.com\/api\/: it has it/);
  });

  it('tells which component is not active for an Ingress without TLS, and why', async () => {
    const { stdout } = await explain('ingresses/blog/admin');
    expect(stdout).toMatch(
      /component crt-list .*not active, the object has none of the paths in its whenAnyPathExists/,
    );
  });

  it('tells who reads a Service', async () => {
    const { stdout } = await explain('services/shop/api');
    expect(stdout).toContain('backends of ingresses shop/shop, by find services shop/api');
  });

  it('prints JSON, and ends with 1 for an object that is not there', async () => {
    const { code, stdout } = await explain('services/shop/nope', '--output', 'json');
    expect(code).toBe(1);
    expect(JSON.parse(stdout)).toMatchObject({ stored: false, object: { name: 'nope' } });
  });

  it.each(['ingress/shop/shop', 'ingresses', 'ingresses/a/b/c', 'ingresses/shop/'])('refuses %s', async (object) => {
    const { code, stderr } = await explain(object);
    expect(code).toBe(2);
    expect(stderr).toMatch(/^error: "/m);
  });
});
