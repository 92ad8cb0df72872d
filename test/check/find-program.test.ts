import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { chmodSync, mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { findProgram } from '../../src/check/find-program.js';

describe('the search for a program', () => {
  let folder: string;

  beforeAll(() => {
    folder = mkdtempSync(join(tmpdir(), 'find-test-'));
    for (const name of ['first', 'second', 'closed']) mkdirSync(join(folder, name));
    writeFileSync(join(folder, 'first', 'checker-x'), 'not executable', { mode: 0o644 });
    writeFileSync(join(folder, 'second', 'checker-x'), '#!/bin/sh\n', { mode: 0o755 });
    mkdirSync(join(folder, 'first', 'checker-y'));
    chmodSync(join(folder, 'closed'), 0o000);
  });

  afterAll(() => rmSync(folder, { recursive: true, force: true }));

  function path(...names: string[]): string {
    return names.map((name) => (name === '' ? '' : join(folder, name))).join(':');
  }

  it('takes the first executable file of PATH', () => {
    const found = { kind: 'found', path: join(folder, 'second', 'checker-x') };
    expect(findProgram('checker-x', path('', 'none', 'first', 'second'))).toEqual(found);
  });

  it('goes past folders that it may not enter', () => {
    expect(findProgram('checker-x', path('closed', 'second')).kind).toBe('found');
  });

  it('says whether there is no file or one that is not executable', () => {
    expect(findProgram('checker-x', path('first'))).toMatchObject({
      problem: expect.stringContaining('not executable'),
    });
    expect(findProgram('checker-y', path('first'))).toEqual({ kind: 'missing', problem: 'checker-y was not found' });
    expect(findProgram('checker-x', undefined)).toEqual({ kind: 'missing', problem: 'checker-x was not found' });
    expect(findProgram('', path('second')).kind).toBe('missing');
  });

  it('does not search for a path', () => {
    expect(findProgram(join(folder, 'second', 'checker-x'), undefined).kind).toBe('found');
    expect(findProgram('./checker-x', path('second')).kind).toBe('missing');
  });
});
