import { mkdirSync, readFileSync, statSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';

import { afterEach, beforeEach, describe, expect, it } from '@jest/globals';

import { faultOfNames, type PublishedFile, type Release, writeRelease } from '../../src/reconcile/release-writer.js';
import { makeScratch, type Scratch } from '../support/scratch.js';

let scratch: Scratch;
beforeEach(() => void (scratch = makeScratch()));
afterEach(() => scratch.remove());

function file(name: string, text: string, sensitive = false): PublishedFile {
  return { name, text, sensitive };
}

async function write(name: string, files: readonly PublishedFile[], before: Release = new Map()): Promise<Release> {
  const path = join(scratch.path, name);
  return writeRelease(path, path, files, before, false);
}

const inode = (...parts: string[]): number => statSync(join(scratch.path, ...parts)).ino;
const mode = (...parts: string[]): number => statSync(join(scratch.path, ...parts)).mode & 0o777;

describe('a release', () => {
  it('holds each file with its text, readable for all but where it is sensitive', async () => {
    await write('one', [file('a.cfg', 'é\n'), file('maps/a.map', ''), file('certs/x/a.pem', 'key', true)]);
    expect(readFileSync(join(scratch.path, 'one/a.cfg'), 'utf8')).toBe('é\n');
    expect([mode('one'), mode('one/maps'), mode('one/certs'), mode('one/certs/x')]).toEqual([
      0o755, 0o755, 0o700, 0o700,
    ]);
    expect([mode('one/a.cfg'), mode('one/maps/a.map'), mode('one/certs/x/a.pem')]).toEqual([0o644, 0o644, 0o600]);
  });

  it('keeps its modes whatever the process masks', async () => {
    const mask = process.umask(0o077);
    try {
      await write('one', [file('a.cfg', 'x')]);
    } finally {
      process.umask(mask);
    }
    expect([mode('one'), mode('one/a.cfg')]).toEqual([0o755, 0o644]);
  });

  it('shares unchanged files with the one before, and writes the rest', async () => {
    const before = await write('one', [file('a', 'same'), file('b', 'old'), file('c', 'open')]);
    await write('two', [file('a', 'same'), file('b', 'new'), file('c', 'open', true)], before);
    expect(inode('two/a')).toBe(inode('one/a'));
    expect(inode('two/b')).not.toBe(inode('one/b'));
    expect(inode('two/c')).not.toBe(inode('one/c'));
    expect([mode('one/c'), mode('two/c')]).toEqual([0o644, 0o600]);
  });

  it('does not share a file that somebody has touched or taken away', async () => {
    const before = await write('one', [file('a', 'same'), file('b', 'same')]);
    writeFileSync(join(scratch.path, 'one/a'), 'mine');
    await write('two', [file('a', 'same'), file('b', 'same')], before);
    expect(readFileSync(join(scratch.path, 'two/a'), 'utf8')).toBe('same');
    expect(inode('two/b')).toBe(inode('one/b'));
  });

  it('goes on sharing over many releases', async () => {
    let before = await write('0', [file('a', 'same')]);
    for (let round = 1; round < 5; round++) before = await write(String(round), [file('a', 'same')], before);
    expect(inode('4/a')).toBe(inode('0/a'));
  });

  it('is never written over another', async () => {
    mkdirSync(join(scratch.path, 'one'));
    await expect(write('one', [file('a', 'x')])).rejects.toThrow('EEXIST');
  });
});

describe('the names of a release', () => {
  it.each(['a', 'a.b', 'certs/a.pem', 'a/b/c', '...', 'ü', '.hidden', 'a b'])('may be %j', (name) => {
    expect(faultOfNames([file(name, '')])).toBeUndefined();
  });

  it.each(['', '.', '..', '../a', 'a/../b', '/etc/passwd', 'a//b', 'a/', './a', 'a\nb', 'a\u0000', 'a\\b', '\ud800'])(
    'may not be %j',
    (name) => {
      expect(faultOfNames([file(name, '')])).toMatch(/is not a relative path inside the output$/);
    },
  );

  it('are each its own, and none a file and a directory', () => {
    expect(faultOfNames([file('a', ''), file('b', ''), file('a', '')])).toBe('the file a is there twice');
    expect(faultOfNames([file('a/b', ''), file('a', '')])).toBe('a is a file and a directory');
    expect(faultOfNames([file('a', ''), file('a/b/c', '')])).toBe('a is a file and a directory');
    expect(faultOfNames([])).toBeUndefined();
  });
});
