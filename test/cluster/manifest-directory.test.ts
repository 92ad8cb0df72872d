import { afterEach, describe, expect, it } from '@jest/globals';
import { execFileSync } from 'node:child_process';
import { appendFileSync, mkdirSync, renameSync, rmSync, symlinkSync, unlinkSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { pino } from 'pino';
import { loadManifests, watchManifests } from '../../src/cluster/manifest-directory.js';
import { accepts, eventually, freshLoad, service, WatchedFolder } from './manifest-fixture.js';

const opened: WatchedFolder[] = [];

function folder(files: Readonly<Record<string, string>> = {}): WatchedFolder {
  const made = new WatchedFolder();
  opened.push(made);
  for (const [name, text] of Object.entries(files)) made.write(name, text);
  return made;
}

afterEach(async () => {
  await Promise.all(opened.splice(0).map((made) => made.stop()));
});

/** A later, unrelated change: once it has been told, all that came before it has been looked at. */
async function barrier(watched: WatchedFolder, name = 'zzz'): Promise<void> {
  watched.write(`${name}.yaml`, service(name));
  await eventually(() => watched.objects.has(`services shop/${name}`), Boolean);
}

describe('the first load', () => {
  it('comes as one batch in path order, before ready', async () => {
    const watched = folder({
      'b.yaml': service('b'),
      'a/z.yml': service('az') + service('ay'),
      'a-b.json': JSON.stringify({ apiVersion: 'v1', kind: 'Service', metadata: { name: 'ab', namespace: 'shop' } }),
      'notes.txt': service('no'),
      '.hidden.yaml': service('no'),
      '.git/x.yaml': service('no'),
    });
    await watched.start();
    expect(watched.batchesBeforeReady).toBe(1);
    expect(watched.batches[0]?.map(({ name }) => name)).toEqual(['ab', 'az', 'ay', 'b']);
  });

  it('puts namespaced objects without a namespace into default, and takes it from cluster-scoped ones', async () => {
    const watched = folder({
      'a.yaml': `${service('web', 0, '""')}---\napiVersion: v1\nkind: IngressClass\nmetadata: {name: haproxy, namespace: odd}\n`,
      'unwanted.yaml': 'apiVersion: apps/v1\nkind: Deployment\nmetadata: {name: web}\n',
    });
    await watched.start();
    expect([...watched.objects.keys()]).toEqual(['services default/web', 'classes /haproxy']);
    expect(watched.objects.get('services default/web')).toContain('"namespace":"default"');
    expect(watched.objects.get('classes /haproxy')).not.toContain('odd');
    expect(watched.warnings()).toEqual([]);
  });

  it('is refused with a clear error when there is no such directory', async () => {
    const options = { accepts, log: pino({ level: 'silent' }), onChanges: () => undefined, onReady: () => undefined };
    const watched = folder({ 'a.yaml': service('a') });
    await expect(watchManifests(watched.path('nowhere'), options)).rejects.toThrow(
      /nowhere does not exist: give a dir/,
    );
    await expect(watchManifests(watched.path('a.yaml'), options)).rejects.toThrow(/a.yaml is not a directory/);
    expect(() => loadManifests(watched.path('nowhere'), accepts)).toThrow(/nowhere does not exist/);
  });
});

describe('changes of files', () => {
  it('are told as differences of objects only', async () => {
    const watched = await folder({ 'a.yaml': service('one') + service('two') + service('three') }).start();
    watched.write('a.yaml', `# moved\n${service('three')}${service('two', 'new')}${service('four')}`);
    await watched.equalsDisk();
    expect(watched.told().sort()).toEqual(['+ services shop/four', '+ services shop/two', '- services shop/one']);
    expect(watched.batches).toHaveLength(2);
  });

  it('follow creation, new directories, deletion and moves of directories', async () => {
    const watched = await folder({ 'a.yaml': service('a') }).start();
    watched.write('deep/er/b.yaml', service('b'));
    await watched.equalsDisk();
    watched.write('deep/er/b.yaml', service('b', 2));
    await watched.equalsDisk();
    renameSync(watched.path('deep'), watched.path('other'));
    watched.write('other/er/c.yaml', service('c'));
    await watched.equalsDisk();
    watched.write('other/er/c.yaml', service('c', 2));
    await watched.equalsDisk();
    rmSync(watched.path('other'), { recursive: true });
    await watched.equalsDisk();
    expect([...watched.objects.keys()]).toEqual(['services shop/a']);
    expect(watched.told().filter((line) => line.includes('/b'))).toEqual([
      '+ services shop/b',
      '+ services shop/b',
      '- services shop/b',
    ]);
  });

  it('see no removal when a file is renamed, or when an editor moves it away and writes it anew', async () => {
    const watched = await folder({ 'a.yaml': service('a') }).start({ goneMs: 400 });
    renameSync(watched.path('a.yaml'), watched.path('b.yaml'));
    await barrier(watched, 'first');
    renameSync(watched.path('b.yaml'), watched.path('b.yaml~'));
    watched.write('b.yaml', service('a', 'edited'));
    await barrier(watched, 'second');
    writeFileSync(watched.path('b.yaml.tmp'), service('a', 'again'));
    renameSync(watched.path('b.yaml.tmp'), watched.path('b.yaml'));
    await watched.equalsDisk();
    expect(watched.told().filter((line) => line.endsWith('/a'))).toEqual(['+ services shop/a', '+ services shop/a']);
    expect(watched.warnings()).toEqual([]);
  });

  it('come as one batch when there are many at once', async () => {
    const watched = await folder().start({ debounceMs: 200 });
    for (let i = 0; i < 200; i++) watched.write(`f${i}.yaml`, service(`s${i}`));
    await watched.equalsDisk();
    expect(watched.batches.map((batch) => batch.length)).toEqual([200]);
  });

  it('are found by looking again where the system tells nothing', async () => {
    const watched = await folder({ 'real/a.yaml': service('a') }).start({ rescanMs: 50 });
    // The change happens in a directory that nobody watches, behind a link.
    mkdirSync(watched.path('.data'));
    writeFileSync(watched.path('.data/l.yaml'), service('linked'));
    symlinkSync('.data/l.yaml', watched.path('l.yaml'));
    await watched.equalsDisk();
    writeFileSync(watched.path('.data/l.yaml'), service('linked', 'changed'));
    await eventually(
      () => watched.objects.get('services shop/linked') ?? '',
      (text) => text.includes('changed'),
    );
  });

  it('stop being told once the watch is closed', async () => {
    const watched = await folder({ 'a.yaml': service('a') }).start();
    watched.write('a.yaml', service('b'));
    await watched.stop();
    const told = watched.batches.length;
    mkdirSync(watched.root, { recursive: true });
    watched.write('a.yaml', service('c'));
    expect(watched.batches).toHaveLength(told);
  });
});

describe('a file that does not parse', () => {
  it('keeps its last good state, is warned of once and told when it is well again', async () => {
    const watched = await folder({ 'a.yaml': service('a') + service('b') }).start();
    watched.write('a.yaml', `${service('a', 'new')}broken: [\n`);
    await eventually(
      () => watched.warnings(),
      (lines) => lines.length === 1,
    );
    appendFileSync(watched.path('a.yaml'), '');
    watched.write('a.yaml', `${service('a', 'newer')}broken: [\n`);
    await barrier(watched);
    expect(watched.told()).toEqual(['+ services shop/zzz']);
    expect(watched.warnings()).toEqual([
      'Manifest a.yaml:10 is not valid: unexpected end of the stream within a flow collection; ' +
        'its last good state stays (2 objects) until it can be read again',
    ]);
    expect(watched.log.find(({ level }) => level === 40)).toMatchObject({ file: 'a.yaml', line: 10 });
    watched.write('a.yaml', service('a', 'newest'));
    await watched.equalsDisk();
    expect(watched.log.filter(({ msg }) => msg === 'Manifest file can be read again')).toMatchObject([
      { file: 'a.yaml' },
    ]);
    expect(watched.told().slice(1).sort()).toEqual(['+ services shop/a', '- services shop/b']);
  });

  it('loads nothing when it never was well, and goes with its file', async () => {
    const watched = await folder({
      'bad.yaml': `${service('a')}---\nkind: Service\n`,
      'good.yaml': service('g'),
    }).start();
    expect([...watched.objects.keys()]).toEqual(['services shop/g']);
    expect(watched.warnings()).toEqual([
      'Manifest bad.yaml:10 is not valid: apiVersion is missing; none of its objects is loaded',
    ]);
    watched.write('good.yaml', 'a: [');
    await eventually(
      () => watched.warnings().length,
      (count) => count === 2,
    );
    unlinkSync(watched.path('good.yaml'));
    await eventually(
      () => watched.objects.size,
      (size) => size === 0,
    );
  });

  it.each<[string, (path: string) => void, string]>([
    ['an emptied file', (path) => writeFileSync(path, ''), 'is empty: taken as half-written'],
    ['half a character', (path) => writeFileSync(path, Buffer.from([0x61, 0xc3])), 'is not UTF-8 text'],
    ['a huge file', (path) => writeFileSync(path, Buffer.alloc(33 * 1024 * 1024, 35)), 'is larger than 32 MiB'],
    [
      'a link out',
      (path) => (unlinkSync(path), symlinkSync('/etc/hostname', path)),
      'is a symbolic link out of the directory',
    ],
    ['a dead link', (path) => (unlinkSync(path), symlinkSync('nothing', path)), 'is a symbolic link to nothing'],
  ])('may also be %s', async (_what, spoil, message) => {
    const watched = await folder({ 'a.yaml': service('a') }).start();
    spoil(watched.path('a.yaml'));
    await eventually(
      () => watched.warnings().join(),
      (lines) => lines.includes(message),
    );
    expect([...watched.objects.keys()]).toEqual(['services shop/a']);
    rmSync(watched.path('a.yaml'));
    watched.write('a.yaml', service('a', 'well'));
    await watched.equalsDisk();
  });

  it('never makes the watcher wait: pipes and directories with a manifest name are passed over', async () => {
    const watched = folder({ 'd.yaml/inner.yaml': service('inner') });
    execFileSync('mkfifo', [watched.path('pipe.yaml')]);
    await watched.start();
    expect([...watched.objects.keys()]).toEqual(['services shop/inner']);
    expect(watched.warnings()).toEqual([]);
  });
});

describe('an object in two files', () => {
  it('is held by the first in path order, and taken over by the other', async () => {
    const watched = await folder({ 'b.yaml': service('web', 'of b') }).start();
    watched.write('a.yaml', service('web', 'of a'));
    await eventually(
      () => watched.objects.get('services shop/web') ?? '',
      (text) => text.includes('of a'),
    );
    expect(watched.warnings()).toEqual([
      'Manifest b.yaml has the same object as a.yaml: services shop/web; the one in a.yaml counts, this one is ignored',
    ]);
    watched.write('b.yaml', service('web', 'of b, still'));
    await barrier(watched);
    expect(watched.warnings()).toHaveLength(1);
    watched.write('a.yaml', service('other'));
    await watched.equalsDisk();
    expect(watched.objects.get('services shop/web')).toContain('of b, still');
    expect(watched.told()).not.toContain('- services shop/web');
  });

  it('is warned of too when it is twice in one file', async () => {
    const watched = await folder({ 'a.yaml': service('web', 'first') + service('web', 'second') }).start();
    expect(watched.objects.get('services shop/web')).toContain('first');
    expect(watched.warnings()).toEqual(['Manifest a.yaml has services shop/web twice; the first one counts']);
  });
});

describe('links', () => {
  it('are followed as a mounted ConfigMap needs, whose files change all at once', async () => {
    const watched = folder();
    const version = (name: string, value: string): void => {
      mkdirSync(watched.path(name));
      writeFileSync(join(watched.path(name), 'a.yaml'), service('a', value));
    };
    version('..1', 'one');
    symlinkSync('..1', watched.path('..data'));
    symlinkSync('..data/a.yaml', watched.path('a.yaml'));
    await watched.start();
    expect(watched.objects.get('services shop/a')).toContain('one');
    version('..2', 'two');
    symlinkSync('..2', watched.path('..tmp'));
    renameSync(watched.path('..tmp'), watched.path('..data'));
    await eventually(
      () => watched.objects.get('services shop/a') ?? '',
      (text) => text.includes('two'),
    );
    expect(watched.warnings()).toEqual([]);
  });

  it('to files that count by themselves add nothing, and directories behind links are left out', async () => {
    const watched = folder({ 'a.yaml': service('a') });
    mkdirSync(join(watched.base, 'outside'));
    writeFileSync(join(watched.base, 'outside', 'o.yaml'), service('outside'));
    symlinkSync('a.yaml', watched.path('z.yaml'));
    symlinkSync('.', watched.path('loop'));
    symlinkSync('../outside', watched.path('out'));
    await watched.start();
    expect([...watched.objects.keys()]).toEqual(['services shop/a']);
    expect(watched.warnings()).toEqual([
      'Manifest loop is a symbolic link to a directory; nothing in it is loaded',
      'Manifest out is a symbolic link to a directory; nothing in it is loaded',
    ]);
  });
});

describe('the directory itself', () => {
  it('may go away, which removes nothing, and come back', async () => {
    const watched = await folder({ 'a.yaml': service('a'), 'b.yaml': service('b') }).start();
    renameSync(watched.root, join(watched.base, 'away'));
    await eventually(
      () => watched.warnings(),
      (lines) => lines.join() === 'Manifest directory is gone',
    );
    expect(watched.objects.size).toBe(2);
    watched.write('a.yaml', service('a', 'returned'));
    await watched.equalsDisk();
    watched.write('c.yaml', service('c'));
    await watched.equalsDisk();
    expect([...watched.objects.keys()].sort()).toEqual(['services shop/a', 'services shop/c']);
  });

  it('may be a link that is moved to another directory', async () => {
    const watched = folder();
    for (const name of ['one', 'two']) {
      mkdirSync(join(watched.base, name));
      writeFileSync(join(watched.base, name, 'a.yaml'), service('a', name));
    }
    rmSync(watched.root, { recursive: true });
    symlinkSync('one', watched.root);
    await watched.start({ rescanMs: 50 });
    symlinkSync('two', join(watched.base, 'next'));
    renameSync(join(watched.base, 'next'), watched.root);
    await watched.equalsDisk();
    watched.write('b.yaml', service('b'));
    await watched.equalsDisk();
    expect(watched.objects.get('services shop/a')).toContain('two');
  });
});

describe('loadManifests', () => {
  it('reads one file, whatever its name, and lists problems with line and effect', () => {
    const made = folder({
      'change.txt': service('a'),
      'dir/bad.yaml': `${service('a')}spec: {}\n`,
      'dir/ok.yaml': service('b'),
    });
    expect([...freshLoad(made.path('change.txt')).keys()]).toEqual(['services shop/a']);
    const { changes, problems } = loadManifests(made.path('dir'), accepts);
    expect(changes.map(({ name }) => name)).toEqual(['b']);
    expect(problems).toEqual([
      {
        file: 'bad.yaml',
        line: 9,
        message: 'the same key twice in one mapping',
        effect: 'none of its objects is loaded',
      },
    ]);
  });
});
