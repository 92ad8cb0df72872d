import { execFile } from 'node:child_process';
import { join } from 'node:path';
import { promisify } from 'node:util';

import { describe, expect, it } from '@jest/globals';

import { PROJECT_ROOT } from '../support/project.js';

const run = promisify(execFile);

/** In a process of its own: a test runner has globals of its own, and the script that is bounded runs among the real ones. */
async function bounded(task: string, timeoutMs: string): Promise<string> {
  const file = JSON.stringify(join(PROJECT_ROOT, 'dist/src/render/run-bounded.js'));
  const program = `import { runBounded, TimedOut } from ${file};
    const told = (task) => { try { return task(); } catch (error) { return error instanceof TimedOut ? 'timed out' : String(error); } };
    const first = told(() => runBounded(${task}, ${timeoutMs}));
    console.log(JSON.stringify([first, told(() => runBounded(() => 'after', 1000)), globalThis.rendergateTask === undefined]));`;
  const { stdout } = await run(process.execPath, ['--input-type=module', '-e', program]);
  return stdout.trim();
}

describe('a task with a time bound', () => {
  it.each([
    ['an endless loop', '() => { for (;;) {} }'],
    ['an expression that backtracks', `() => /^(a+)+$/.test('a'.repeat(50) + '!')`],
    ['a loop that catches everything', '() => { for (;;) try { for (;;) {} } catch {} finally { continue } }'],
  ])('is stopped when it is %s, and the next one runs', async (_, task) => {
    expect(await bounded(task, '50')).toBe('["timed out","after",true]');
  });

  it('gives its value, or throws what it threw', async () => {
    expect(await bounded('() => 7', '1000')).toBe('[7,"after",true]');
    expect(await bounded(`() => { throw new Error('own') }`, '1000')).toBe('["Error: own","after",true]');
  });

  it('runs without a bound when there is none, and takes the shortest for one that is over', async () => {
    expect(await bounded('() => 7', 'undefined')).toBe('[7,"after",true]');
    expect(await bounded('() => { for (;;) {} }', '0')).toBe('["timed out","after",true]');
  });

  it('needs no bound of its own where the one around it ends in time, which stops it then', async () => {
    const within = '() => { try { return runBounded(() => { for (;;) {} }, 50, 500) } catch { return "caught" } }';
    expect(await bounded(within, '100')).toBe('["timed out","after",true]');
  });

  it('is stopped by its own bound where the one around it ends too late or too early', async () => {
    const within = (timeoutMs: number): string =>
      `() => { try { return runBounded(() => { for (;;) {} }, ${timeoutMs}) } catch (error) { return error.name } }`;
    expect(await bounded(within(20), '60000')).toBe('["TimedOut","after",true]');
    expect(await bounded(within(60_000), '50')).toBe('["timed out","after",true]');
  });
});
