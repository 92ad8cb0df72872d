import { afterEach, beforeEach, describe, expect, it } from '@jest/globals';
import { spawn } from 'node:child_process';
import { createHash } from 'node:crypto';
import { once } from 'node:events';
import {
  appendFileSync,
  existsSync,
  lstatSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  readlinkSync,
  rmSync,
  statSync,
  writeFileSync,
} from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout } from 'node:timers/promises';
import { createPublisher, PublishError, type PublishedFile } from '../../src/reconcile/publish-directory.js';

let directory: string;

beforeEach(() => {
  directory = join(mkdtempSync(join(tmpdir(), 'publish-')), 'output');
});

afterEach(() => {
  rmSync(join(directory, '..'), { recursive: true, force: true });
});

function file(name: string, text: string, sensitive = false): PublishedFile {
  return { name, text, sensitive };
}

function published(name: string): string {
  return readFileSync(join(directory, 'current', name), 'utf8');
}

function mode(...path: string[]): string {
  return (lstatSync(join(directory, ...path)).mode & 0o777).toString(8);
}

function inode(...path: string[]): number {
  return statSync(join(directory, ...path)).ino;
}

/** Everything in the directory but what is inside of releases. */
function entries(): string[] {
  return [
    ...readdirSync(directory),
    ...readdirSync(join(directory, 'releases')).map((name) => `releases/${name}`),
  ].sort();
}

describe('publish', () => {
  it('makes a release current, all of it at once', async () => {
    const publisher = createPublisher({ directory });
    expect(await publisher.current()).toBeUndefined();
    const { path } = await publisher.publish([file('haproxy.cfg', 'one\n'), file('maps/a.map', 'x')], '1');
    expect(path).toBe(join(directory, 'releases', '1'));
    expect(await publisher.current()).toBe(path);
    expect(readlinkSync(join(directory, 'current'))).toBe(join('releases', '1'));
    await publisher.publish([file('haproxy.cfg', 'two\n')], '2');
    expect(published('haproxy.cfg')).toBe('two\n');
    expect(existsSync(join(directory, 'current', 'maps'))).toBe(false);
    expect(entries()).toEqual(['current', 'releases', 'releases/1', 'releases/2']);
  });

  it('lets nobody else read what is sensitive, whatever the umask', async () => {
    const umask = process.umask(0o077);
    const publisher = createPublisher({ directory });
    await publisher.publish(
      [file('haproxy.cfg', 'c'), file('certs/a.pem', 'k', true), file('mixed/b', 'k', true), file('mixed/c', 'c')],
      '1',
    );
    process.umask(0o000);
    await publisher.publish([file('certs/a.pem', 'k2', true)], '2');
    process.umask(umask);
    expect([mode('releases', '1'), mode('releases', '1', 'certs')]).toEqual(['755', '700']);
    expect([mode('releases', '1', 'haproxy.cfg'), mode('releases', '1', 'certs', 'a.pem')]).toEqual(['644', '600']);
    expect([mode('releases', '1', 'mixed'), mode('releases', '1', 'mixed', 'b')]).toEqual(['755', '600']);
    expect([mode('releases', '2'), mode('releases', '2', 'certs', 'a.pem')]).toEqual(['700', '600']);
  });

  it('shares unchanged files with the release before, unless somebody touched them', async () => {
    const publisher = createPublisher({ directory });
    const files = [file('a', 'same'), file('b', 'same'), file('c', 'same'), file('d', 'one')];
    await publisher.publish(files, '1');
    appendFileSync(join(directory, 'releases', '1', 'b'), ' but edited');
    await publisher.publish([file('a', 'same'), file('b', 'same'), file('c', 'same', true), file('d', 'two')], '2');
    expect(inode('releases', '2', 'a')).toBe(inode('releases', '1', 'a'));
    for (const name of ['b', 'c', 'd']) expect(inode('releases', '2', name)).not.toBe(inode('releases', '1', name));
    expect([published('b'), published('d'), mode('releases', '2', 'c')]).toEqual(['same', 'two', '600']);
    await publisher.publish(files, '3');
    expect(inode('releases', '3', 'a')).toBe(inode('releases', '1', 'a'));
  });

  it('keeps the newest releases and never removes the current one', async () => {
    const first = createPublisher({ directory, keep: 2 });
    for (const name of ['1', '2', '3']) await first.publish([file('a', name)], name);
    expect(entries()).toEqual(['current', 'releases', 'releases/2', 'releases/3']);
    const second = createPublisher({ directory, keep: 1 });
    await second.publish([file('a', '4')], '3');
    expect(entries()).toEqual(['current', 'releases', 'releases/3.2']);
    expect(published('a')).toBe('4');
  });

  it('does calls one after the other', async () => {
    const publisher = createPublisher({ directory });
    const texts = Array.from({ length: 8 }, (_, i) => String(i));
    await Promise.all(texts.map((text) => publisher.publish([file('a', text)], `o${text}`)));
    expect(published('a')).toBe('7');
    expect(entries()).toEqual(['current', 'releases', 'releases/o5', 'releases/o6', 'releases/o7']);
  });

  it('leaves everything as it was when its signal aborts before the release takes effect', async () => {
    const publisher = createPublisher({ directory });
    await publisher.publish([file('a', 'one')], '1');
    const term = new AbortController();
    const second = publisher.publish([file('a', 'two')], '2', term.signal);
    term.abort();
    await expect(second).rejects.toThrow(/Cannot publish 2 .*: it was withdrawn/);
    expect([published('a'), entries()]).toEqual(['one', ['current', 'releases', 'releases/1']]);
    await publisher.publish([file('a', 'three')], '3', new AbortController().signal);
    expect(published('a')).toBe('three');
  });

  it('publishes no files at all when there are none', async () => {
    await createPublisher({ directory, durable: false }).publish([], 'none');
    expect(readdirSync(join(directory, 'current'))).toEqual([]);
  });
});

describe('a failed publish', () => {
  it.each([
    ['../outside', 'is not a relative path inside the output'],
    ['/etc/passwd', 'is not a relative path inside the output'],
    ['certs/../../x', 'is not a relative path inside the output'],
    ['a//b', 'is not a relative path inside the output'],
    ['', 'is not a relative path inside the output'],
    ['a\u0000b', 'is not a relative path inside the output'],
    ['a\ud800', 'is not a relative path inside the output'],
    ['good', 'the file good is there twice'],
    ['good/below', 'good is a file and a directory'],
    ['n'.repeat(300), 'a file name is longer than the file system allows (ENAMETOOLONG)'],
  ])('with the name %j leaves no trace', async (name, message) => {
    const publisher = createPublisher({ directory });
    await publisher.publish([file('good', 'old')], '1');
    const failing = publisher.publish([file('good', 'new'), file(name, 'bad')], '2');
    await expect(failing).rejects.toThrow(PublishError);
    await expect(failing).rejects.toThrow(message);
    await expect(failing).rejects.toThrow('What was published before stays in use.');
    expect(published('good')).toBe('old');
    expect(entries()).toEqual(['current', 'releases', 'releases/1']);
    await publisher.publish([file('good', 'newer')], '2');
    expect(published('good')).toBe('newer');
  });

  it('tells what is in the way, and works once it is gone', async () => {
    const publisher = createPublisher({ directory });
    mkdirSync(directory, { recursive: true });
    writeFileSync(join(directory, 'releases'), '');
    await expect(publisher.publish([], '1')).rejects.toThrow(/a file where a directory has to be; move it away/);
    rmSync(join(directory, 'releases'));
    mkdirSync(join(directory, 'current'));
    await expect(publisher.publish([], '1')).rejects.toThrow(/current is not a symbolic link of ours: move it away/);
    expect(entries()).toEqual(['current', 'releases']);
    rmSync(join(directory, 'current'), { recursive: true });
    await publisher.publish([], '1');
    expect(await publisher.current()).toBe(join(directory, 'releases', '1'));
  });

  it('refuses occurrences that are no names', async () => {
    const publisher = createPublisher({ directory });
    for (const name of ['', '.', '..', 'a/b', '.new-x', 'ä'])
      await expect(publisher.publish([], name)).rejects.toThrow(PublishError);
  });
});

const BUILT = join(import.meta.dirname, '../../dist/test/reconcile/publish-forever.js');

/** Names every file of the current release, after comparing each with the SHA-256 that the release itself gives. */
function wholeRelease(): string[] {
  const index = JSON.parse(published('index.json')) as Record<string, string>;
  for (const [name, digest] of Object.entries(index)) {
    expect(createHash('sha256').update(published(name)).digest('hex')).toBe(digest);
  }
  return Object.keys(index);
}

describe('a publisher killed at any moment', () => {
  it('leaves a whole release, and its successor removes what it left', async () => {
    let leftOvers = 0;
    for (let round = 0; round < 20; round++) {
      const child = spawn(process.execPath, [BUILT, directory], { stdio: ['ignore', 'pipe', 'inherit'] });
      const exit = once(child, 'exit');
      let lines = 0;
      child.stdout.on('data', (data: Buffer) => (lines += data.toString().split('\n').length - 1));
      // After its first word or its first release, and then at another moment each time: it prepares, writes, switches, tidies.
      while (lines < 1 + (round % 2) && child.exitCode === null) await setTimeout(1);
      await setTimeout((round * 7) % 41);
      child.kill('SIGKILL');
      expect((await exit)[1]).toBe('SIGKILL');
      if (existsSync(join(directory, 'current'))) expect(wholeRelease()).toHaveLength(21);
      if (existsSync(join(directory, 'releases')))
        leftOvers += entries().filter((name) => /\.(new|old|current)-/.test(name)).length;
    }
    expect(leftOvers).toBeGreaterThan(0);
    await createPublisher({ directory }).publish([file('a', 'last')], 'last');
    expect(published('a')).toBe('last');
    expect(entries().filter((name) => name.includes('/.') || name.startsWith('.'))).toEqual([]);
    expect(readdirSync(join(directory, 'releases'))).toHaveLength(3);
  });
});
