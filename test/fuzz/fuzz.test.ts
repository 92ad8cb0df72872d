import { execFile } from 'node:child_process';
import { join } from 'node:path';
import { promisify } from 'node:util';

import { describe, expect, it } from '@jest/globals';

import { PROJECT_ROOT } from '../support/project.js';

const run = promisify(execFile);

/** Its own process: the language's objects are frozen there for good. The seed is fixed; `npm run fuzz` takes others. */
async function fuzz(...options: readonly string[]): Promise<readonly string[]> {
  const main = join(PROJECT_ROOT, 'dist/test/fuzz/main.js');
  const { stdout } = await run(process.execPath, [main, ...options]);
  return stdout.trimEnd().split('\n');
}

describe('the fuzzer', () => {
  it('finds no difference between warm, cold and the answer key in 300 histories', async () => {
    const lines = await fuzz('--histories', '300', '--seed', '1');
    expect(lines.at(-1)).toMatch(
      /^300 histories, \d{4} commits, \d{4} reviews, \d{5} executions compared, 0 differences$/,
    );
  });

  it('makes the same histories again from the same seed', async () => {
    const options = ['--histories', '5', '--seed', '77'];
    expect(await fuzz(...options)).toEqual(await fuzz(...options));
  });

  it('refuses options that it does not know', async () => {
    await expect(fuzz('--historys', '5')).rejects.toMatchObject({ code: 2 });
  });
});
