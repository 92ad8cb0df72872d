import { chmodSync, chownSync, mkdirSync, rmSync } from 'node:fs';
import { afterEach, beforeEach, describe, expect, it } from '@jest/globals';
import { eventually, service, WatchedFolder } from './manifest-fixture.js';

/** The superuser may enter every folder: as long as a test runs, this process is somebody else. */
const NOBODY = 65_534;
const isRoot = process.geteuid?.() === 0;

describe('A folder that may be listed and not entered', () => {
  let folder: WatchedFolder;

  beforeEach(() => {
    folder = new WatchedFolder();
    if (!isRoot) return;
    for (const path of [folder.base, folder.root]) chownSync(path, NOBODY, NOBODY);
    process.seteuid?.(NOBODY);
  });

  afterEach(async () => {
    chmodSync(folder.path('closed'), 0o755);
    if (isRoot) process.seteuid?.(0);
    await folder.stop();
  });

  const close = (): void => {
    mkdirSync(folder.path('closed/below'), { recursive: true });
    folder.write('closed/web.yaml', service('web'));
    chmodSync(folder.path('closed'), 0o444);
  };

  it('does not keep the watch from beginning', async () => {
    close();
    folder.write('api.yaml', service('api'));
    await folder.start();
    expect([...folder.objects.keys()]).toEqual(['services shop/api']);
  });

  it('keeps its last good state, and the changes of all others are seen', async () => {
    folder.write('closed/web.yaml', service('web'));
    await folder.start({ rescanMs: 100 });
    close();
    folder.write('later.yaml', service('later'));
    await eventually(
      () => folder.told(),
      (told) => told.includes('+ services shop/later'),
    );
    chmodSync(folder.path('closed'), 0o755);
    rmSync(folder.path('closed/web.yaml'));
    await eventually(
      () => folder.told(),
      (told) => told.includes('- services shop/web'),
    );
    expect(folder.told()).toEqual(['+ services shop/later', '- services shop/web']);
    expect(folder.log.filter(({ level }) => level === 50)).toEqual([]);
  });
});
