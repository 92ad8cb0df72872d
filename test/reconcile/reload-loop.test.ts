import { existsSync, readFileSync, realpathSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';

import { afterEach, beforeEach, describe, expect, it } from '@jest/globals';

import { until } from '../e2e/defined-answer.js';
import { renderConfig, site } from '../support/render-config.js';
import { openRooted, type World } from '../support/runtime-world.js';
import { makeScratch, type Scratch } from '../support/scratch.js';

let scratch: Scratch;
let world: World | undefined;

beforeEach(() => void (scratch = makeScratch()));
afterEach(async () => {
  await world?.close();
  scratch.remove();
});

const path = (name: string): string => join(scratch.path, name);
const current = (): string => realpathSync(path('out/current'));

/** What `current` stood for at each reload; each fails while the file `away` is there. */
const seen = (): string[] => (existsSync(path('seen')) ? readFileSync(path('seen'), 'utf8').trim().split('\n') : []);

async function open(): Promise<World> {
  const script = `readlink -f '${path('out/current')}' >> '${path('seen')}'; [ ! -e '${path('away')}' ]`;
  world = await openRooted({
    config: renderConfig(),
    objects: [site('a', { line: 'one' })],
    output: path('out'),
    reload: { command: ['sh', '-c', script] },
  });
  return world;
}

describe('HAProxy is reloaded', () => {
  it('after each publication, and not where nothing was published', async () => {
    const shop = await open();
    const first = current();
    await shop.store(site('a', { line: 'one' }, { labels: { a: 'b' } }));
    expect(seen()).toEqual([first]);
    await shop.store(site('a', { line: 'two' }));
    expect(seen()).toEqual([first, current()]);
    expect(shop.reports.map(({ result }) => result)).toEqual(['published', 'unchanged', 'published']);
  });

  it('once at the start, even if what stands there is the same', async () => {
    await (await open()).close();
    await open();
    expect(seen()).toHaveLength(2);
    expect(seen()[1]).toBe(current());
  });

  it('again after a failure until it succeeds, without rendering or publishing; it is a problem so long', async () => {
    writeFileSync(path('away'), '');
    const shop = await open();
    const published = current();
    expect(shop.reports).toMatchObject([{ result: 'published' }]);
    expect(shop.runtime.coordinator.problem).toContain(
      'HAProxy was not reloaded: the reload command ended with code 1',
    );
    await shop.store(site('a', { line: 'one' }, { labels: { a: 'b' } }));
    expect(shop.runtime.coordinator.problem).toContain('HAProxy was not reloaded');

    await until(() => seen().length === 2);
    rmSync(path('away'));
    await until(() => shop.runtime.coordinator.problem === undefined);
    expect(new Set([...seen(), current()])).toEqual(new Set([published]));
    expect(shop.reports.map(({ result }) => result)).toEqual(['published', 'unchanged']);
    expect(shop.log.filter(({ msg }) => msg === 'reload failed')).toHaveLength(1);
  });
});
