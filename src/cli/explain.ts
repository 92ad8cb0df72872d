import type { Claim, ExplainedInstance, Explanation, Reader } from '../render/explanation.js';
import { objectLabel } from '../render/keys.js';
import type { ObjectRef } from '../render/protocol.js';
import { UsageError } from './failure.js';
import { offline } from './offline.js';

export interface ExplainOptions {
  readonly config: string;
  readonly resources: string;
  readonly output: 'text' | 'json';
}

/** Exit code 1 when the object is not stored: what looks for it is printed all the same. */
export async function explain(object: string, options: ExplainOptions): Promise<void> {
  process.exitCode = await offline(options, async ({ config, runtime }) => {
    const aliases = config.watchedResources.map(({ alias }) => alias);
    const explanation = await runtime.host.request('explain', { object: parseObject(object, aliases) });
    const text = options.output === 'json' ? JSON.stringify(explanation, null, 2) : describe(explanation).join('\n');
    process.stdout.write(`${text}\n`);
    return explanation.stored ? 0 : 1;
  });
}

/** `ALIAS/NAMESPACE/NAME`, or `ALIAS/NAME` for what has no namespace. Throws UsageError. */
function parseObject(text: string, aliases: readonly string[]): ObjectRef {
  const [alias = '', ...rest] = text.split('/');
  if (!aliases.includes(alias))
    throw new UsageError(`"${alias}" is no watched resource; give one of ${aliases.join(', ')}`);
  const [namespace, name] = rest.length === 1 ? ['', rest[0]] : rest;
  if (namespace === undefined || name === undefined || name === '' || rest.length > 2)
    throw new UsageError(
      `"${text}" is no object; give ALIAS/NAMESPACE/NAME, or ALIAS/NAME where there is no namespace`,
    );
  return { alias, namespace, name };
}

function describe({ object, stored, quarantine, readers, instances }: Explanation): string[] {
  const reason = quarantine === undefined ? undefined : `in quarantine: ${quarantine.reason}`;
  const served = quarantine?.servedOld === true ? 'its last accepted revision is served' : 'it is not served';
  return [
    `${label(object)}${stored ? '' : ' (not there)'}`,
    ...(reason === undefined ? [] : [`  ${printable(reason)}; ${served}`]),
    ...section(stored ? 'read by' : 'looked for by', readers.map(readerLine)),
    ...instances.flatMap(instanceLines),
  ];
}

function section(title: string, lines: readonly string[]): string[] {
  return lines.length === 0 ? [] : [`  ${title}`, ...lines.map((line) => `    ${line}`)];
}

function readerLine(reader: Reader): string {
  return `${reader.component} of ${label(reader)}, by ${printable(reader.through)}`;
}

function instanceLines({ component, group, active, reads, wrote, claims, events }: ExplainedInstance): string[] {
  const places = wrote.map(
    ({ output, from, to }) => `${output} ${from === to ? `line ${from}` : `lines ${from} to ${to}`}`,
  );
  return [
    `  component ${component} (group ${group})${active ? '' : ': not active, the object has none of the paths in its whenAnyPathExists'}`,
    ...indented(section('reads', reads.map(printable))),
    ...indented(section('wrote', places)),
    ...indented(section('keys', claims.map(claimLine))),
    ...indented(section('events', events.map(printable))),
  ];
}

function indented(lines: readonly string[]): string[] {
  return lines.map((line) => `  ${line}`);
}

function claimLine({ cell, key, won, winner, next }: Claim): string {
  const holder = won || winner === undefined ? 'it has it' : `${label(winner)} has it`;
  const after = next === undefined ? '' : `, next is ${label(next)}`;
  return `${printable(`${cell} ${key}`)}: ${holder}${after}`;
}

/** Names and messages come from tenants: nothing of them may move the cursor of a terminal. */
function printable(text: string): string {
  return text.replace(/[^\x20-\x7e]/g, '?');
}

function label({ alias, namespace, name }: ObjectRef): string {
  return printable(objectLabel(alias, namespace, name));
}
