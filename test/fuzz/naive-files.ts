import type { FuzzConfig } from './fuzz-config.js';
import { filesGroup, groupsOf } from './fuzz-config.js';
import { byTuple, type NaiveWorld } from './naive-world.js';

export interface NaiveFile {
  readonly name: string;
  readonly text: string;
}

/** All files of a finished world, or undefined when an output template throws. */
export function filesOf(config: FuzzConfig, world: NaiveWorld): NaiveFile[] | undefined {
  const groups = groupsOf(config);
  const texts = groups.filter((group) => group !== 'map');
  const files = [{ name: 'main.cfg', text: mainText(world, texts) }];
  if (groups.includes('map')) files.push({ name: 'rows.map', text: groupText(world, 'map') });
  const directory = filesGroup(config);
  if (directory !== undefined) {
    for (const { key, text } of world.winners(directory, 'publications', 'files'))
      files.push({ name: `files/${key}`, text: JSON.parse(text) as string });
  }
  if (config.limit === undefined || texts[0] === undefined) return files;
  if (world.winners(texts[0], 'publications', 'hosts').length > config.limit) return undefined;
  return [...files, { name: 'limit.cfg', text: 'fine\n' }];
}

function mainText(world: NaiveWorld, groups: readonly string[]): string {
  const mounts = groups.map((group) => `# ${group}\n${groupText(world, group)}`);
  const reads = groups.map((group) => {
    const winners = world.winners(group, 'publications', 'hosts');
    const ports = winners.map(({ text }) => String((JSON.parse(text) as { port?: number }).port));
    return `values ${group} ${ports.join('+')}. ${winners.length}\n`;
  });
  return `${mounts.join('')}${reads.join('')}services ${world.objects('services').length}\n`;
}

function groupText(world: NaiveWorld, group: string): string {
  const results = [...(world.results.get(group) ?? [])].sort(([a], [b]) => byTuple(a, b));
  const texts = results.map(([, result]) => result.text);
  const uniques = world.cells(group, 'uniques').flatMap((cell) => world.winners(group, 'uniques', cell));
  return [...texts, ...uniques.map(({ text }) => text)].join('');
}
