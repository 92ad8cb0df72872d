import { afterEach, beforeEach, describe, expect, it } from '@jest/globals';
import { mkdirSync, mkdtempSync, readdirSync, readFileSync, rmSync, statSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { pino } from 'pino';
import { readState, writeState } from '../../src/reconcile/state-file.js';

let directory: string;
let lines: string[];
const log = pino({}, { write: (line: string) => lines.push(line) });

beforeEach(() => {
  lines = [];
  directory = mkdtempSync(join(tmpdir(), 'state-'));
});

afterEach(() => {
  rmSync(directory, { recursive: true, force: true });
});

describe('the state file', () => {
  it('gives back what was written, and nothing before', () => {
    const file = join(directory, 'deep', 'state.json');
    expect(readState(file, log)).toBeUndefined();
    expect(writeState(file, { a: [1, null, 'x'] }, log)).toBe(true);
    expect(writeState(file, { b: 2 }, log)).toBe(true);
    expect(readState(file, log)).toEqual({ b: 2 });
    expect((statSync(file).mode & 0o777).toString(8)).toBe('600');
    expect(readdirSync(join(directory, 'deep'))).toEqual(['state.json']);
    expect(lines).toEqual([]);
  });

  it('is moved aside when it is corrupt, with a warning that shows nothing of it', () => {
    const file = join(directory, 'state.json');
    writeFileSync(file, '{"password": hunter2');
    expect(readState(file, log)).toBeUndefined();
    expect(readState(file, log)).toBeUndefined();
    expect(lines).toHaveLength(1);
    expect(lines[0]).toContain('state.json.corrupt');
    expect(lines[0]).not.toContain('hunter2');
    expect(readFileSync(`${file}.corrupt`, 'utf8')).toContain('hunter2');
  });

  it('stays as it was when it cannot be written, and a left-over of a killed process does no harm', () => {
    const file = join(directory, 'state.json');
    writeFileSync(`${file}.tmp`, '{"half');
    expect(writeState(file, 1, log)).toBe(true);
    mkdirSync(`${file}.tmp`);
    expect(writeState(file, 2, log)).toBe(false);
    expect(readState(file, log)).toBe(1);
    expect(lines).toEqual([expect.stringContaining('State file cannot be written')]);
    expect(readState(directory, log)).toBeUndefined();
    expect(lines).toHaveLength(2);
  });
});
