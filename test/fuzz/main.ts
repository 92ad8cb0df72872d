import { parseArgs } from 'node:util';
import { createCompartment, lockdownThread } from '../../src/template/compartment.js';
import { Campaign, type Failure } from './campaign.js';
import { describeStep } from './steps.js';
import { describeTally, neverSeen } from './tally.js';

const USAGE = `Usage: npm run fuzz -- [--histories N] [--seed S] [--minutes M] [--no-shrink]

Random histories of changes, renders, reviews, refusals and accidents: every render must equal a cold one and the answer
key, byte for byte, and run exactly the instances whose observed inputs changed. History number i has the seed S + i;
--histories 1 --seed S runs one again. Stops at the first difference, shrinks it and prints it. Exit code 1 then.`;

/** Fewer histories may miss a kind of step by chance. */
const ENOUGH_FOR_ALL = 200;
const PROGRESS_EVERY_MS = 10_000;

interface Options {
  readonly histories: number;
  readonly seed: number;
  readonly minutes: number;
  readonly shrinks: boolean;
}

process.exitCode = main();

function main(): number {
  const options = readOptions();
  if (options === undefined) {
    console.error(USAGE);
    return 2;
  }
  lockdownThread();
  const campaign = new Campaign(createCompartment());
  console.log(`fuzz: seed ${options.seed}`);
  const failure = runAll(campaign, options);
  if (failure !== undefined) printFailure(failure);
  console.log(describeTally(campaign.tally));
  const { histories, commits, reviews, executions } = campaign.tally;
  const missing = failure === undefined && histories >= ENOUGH_FOR_ALL ? neverSeen(campaign.tally) : [];
  if (missing.length > 0) console.log(`nothing is proved about what never came up: ${missing.join(', ')}`);
  const differences = failure === undefined ? 0 : 1;
  console.log(
    `${histories} histories, ${commits} commits, ${reviews} reviews, ${executions} executions compared, ${differences} differences`,
  );
  return differences + missing.length === 0 ? 0 : 1;
}

function runAll(campaign: Campaign, { histories, seed, minutes, shrinks }: Options): Failure | undefined {
  const started = performance.now();
  let printed = started;
  for (let at = 0; at < histories; at++) {
    const failure = campaign.run(seed + at, shrinks);
    if (failure !== undefined) return failure;
    const now = performance.now();
    if (now - started > minutes * 60_000) return undefined;
    if (now - printed < PROGRESS_EVERY_MS) continue;
    printed = now;
    console.log(`${at + 1} histories, ${campaign.tally.commits} commits`);
  }
  return undefined;
}

function printFailure({ seed, message, config, steps }: Failure): void {
  console.log(
    `\nDIFFERENCE in the history of seed ${seed} (npm run fuzz -- --histories 1 --seed ${seed}):\n${message}\n`,
  );
  console.log('components:');
  for (const { name, kind, sources, group, names, when } of config.components) {
    const gates = when === undefined ? '' : `, when there is ${when.join(' or ')}`;
    console.log(
      `  ${name}: ${kind} of ${sources.join('+')} in ${group}, reads ${names.other} and ${names.producer}${gates}`,
    );
  }
  if (config.limit !== undefined) console.log(`  an output fails beyond ${config.limit} hosts`);
  console.log('steps:');
  steps.forEach((step, at) => console.log(`  ${at + 1}. ${describeStep(step)}`));
  console.log('');
}

function readOptions(): Options | undefined {
  try {
    const { values } = parseArgs({
      options: {
        histories: { type: 'string' },
        seed: { type: 'string' },
        minutes: { type: 'string' },
        'no-shrink': { type: 'boolean' },
      },
    });
    const minutes = numberOf(values.minutes, Infinity);
    const histories = numberOf(values.histories, values.minutes === undefined ? 2_000 : Infinity);
    const seed = numberOf(values.seed, Math.floor(Math.random() * 1_000_000_000));
    return { histories, seed, minutes, shrinks: values['no-shrink'] !== true };
  } catch {
    return undefined;
  }
}

function numberOf(text: string | undefined, otherwise: number): number {
  if (text === undefined) return otherwise;
  if (!/^\d+(\.\d+)?$/.test(text)) throw new Error(`${text} is no number`);
  return Number(text);
}
