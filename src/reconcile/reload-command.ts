import { printableText } from '../check/checker-messages.js';
import { findProgram } from '../check/find-program.js';
import { runProgram, type RunEnd } from '../check/run-program.js';
import { ReloadError, UNKNOWN_EFFECT } from './reload-error.js';

/** The end of the output says why. */
const SHOWN_CHARACTERS = 300;

/**
 * Runs the command (its words, no shell) without input and with an empty environment, and kills it after `timeoutMs`.
 * Exit code 0 means reloaded; anything else rejects with ReloadError, which shows the end of the output on one line.
 */
export async function reloadByCommand(
  command: readonly string[],
  timeoutMs: number,
  signal: AbortSignal,
): Promise<void> {
  const [name = '', ...args] = command;
  const found = findProgram(name, process.env['PATH']);
  const end: RunEnd =
    found.kind === 'missing'
      ? found
      : await runProgram({
          program: found.path,
          args,
          directory: process.cwd(),
          runAs: undefined,
          timeoutMs,
          memoryMiB: undefined,
          signal,
          groups: new Set(),
        });
  if (end.kind === 'exited' && end.code === 0) return;
  throw errorOf(end, timeoutMs);
}

function errorOf(end: RunEnd, timeoutMs: number): ReloadError {
  const byHand = 'run the command by hand to see why';
  switch (end.kind) {
    case 'exited':
      return new ReloadError(`the reload command ended with code ${end.code}${lastWords(end.output)}`, byHand);
    case 'signalled':
      return new ReloadError(`the reload command was killed (${end.signal})`, byHand, UNKNOWN_EFFECT);
    case 'timeout':
      return new ReloadError(`the reload command did not end within ${timeoutMs} ms`, byHand, UNKNOWN_EFFECT);
    case 'aborted':
      return new ReloadError('the reload command was given up before it ended', byHand, UNKNOWN_EFFECT);
    case 'missing':
    case 'failed':
      return new ReloadError(`the reload command cannot run: ${end.problem}`, 'correct --reload-command');
  }
}

function lastWords(output: Buffer): string {
  const text = printableText(output).replace(/\s+/g, ' ').trim();
  const shown = text.length > SHOWN_CHARACTERS ? `…${text.slice(1 - SHOWN_CHARACTERS)}` : text;
  return shown === '' ? '' : `: ${shown}`;
}
