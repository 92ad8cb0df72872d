import type { NaiveFile } from './naive-files.js';
import type { NaiveResult, NaiveWorld, Winner } from './naive-world.js';
import type { Edit } from './oracle.js';
import type { Place } from './world.js';

export type NaiveReview = {
  readonly attempts: readonly string[];
  /** The ledger could not be rendered and is gone. */
  readonly forgets?: boolean;
} & (
  | { readonly kind: 'cold' }
  | { readonly kind: 'fault'; readonly executed: readonly string[]; readonly objects: readonly string[] }
  | {
      readonly kind: 'rendered';
      readonly executed: readonly string[];
      readonly files: readonly NaiveFile[];
      readonly warnings: readonly string[];
      /** What it was judged upon: none when that alone could not be rendered. */
      readonly ledger: readonly Edit[];
      /** Nothing has another result than before. */
      readonly quiet: boolean;
    }
);

/** Results of all instances by key. */
function allResults(world: NaiveWorld): Map<string, { readonly at: string; readonly result: NaiveResult }> {
  const all = [...world.results.values()].flatMap((results) => [...results]);
  return new Map(all.map(([instance, result]) => [instance.join(' '), { at: instance.slice(1).join(' '), result }]));
}

/** Events that an instance records now and did not before: `alias namespace name type reason message`, sorted. */
export function newEvents(before: NaiveWorld, after: NaiveWorld): string[] {
  const old = allResults(before);
  const events = [...allResults(after)].flatMap(([key, { at, result }]) =>
    eventsAdded(old.get(key)?.result, result).map(({ type, reason, message }) => `${at} ${type} ${reason} ${message}`),
  );
  return events.sort();
}

function eventsAdded(before: NaiveResult | undefined, after: NaiveResult): NaiveResult['events'] {
  const known = (before?.events ?? []).map(({ reason, message }) => `${reason} ${message}`);
  return after.events.filter(({ reason, message }) => !known.includes(`${reason} ${message}`));
}

/** All warnings of the changed object, new ones of others, and keys that change hands; sorted. */
export function warningsOf({ alias, namespace, name }: Place, before: NaiveWorld, after: NaiveWorld): string[] {
  const old = allResults(before);
  const events = [...allResults(after)].flatMap(([key, { at, result }]) =>
    at === `${alias} ${namespace} ${name}` ? result.events : eventsAdded(old.get(key)?.result, result),
  );
  const messages = events.filter(({ type }) => type === 'Warning').map(({ message }) => message);
  return [...new Set([...messages, ...takeovers(before, after)])].sort();
}

function takeovers(before: NaiveWorld, after: NaiveWorld): string[] {
  return [...before.results.keys()].flatMap((group) =>
    before.cells(group, 'publications').flatMap((cell) =>
      before.winners(group, 'publications', cell).flatMap((loser) => {
        const winner = after.winner(group, cell, loser.key);
        if (winner === undefined || loser.rank === '' || sameObject(loser, winner)) return [];
        return [`${titleOf(winner)} takes over ${cell} ${loser.key} from ${titleOf(loser)}`];
      }),
    ),
  );
}

function sameObject({ owner: a }: Winner, { owner: b }: Winner): boolean {
  return a[2] === b[2] && a[3] === b[3];
}

function titleOf({ owner: [, , namespace, name] }: Winner): string {
  return `${namespace}/${name}`;
}
