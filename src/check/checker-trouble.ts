import type { CheckFile } from './checker.js';
import { printableText, splitMessages } from './checker-messages.js';

/** HAProxy did not get at the files: a fault of the command or of the directory, not of what is in the files. */
const NOT_READ = /^(?:Could not change to directory|Cannot open configuration file)/i;

const OUT_OF_MEMORY = /out of memory|not enough memory|cannot allocate memory/i;

/**
 * Why a non-zero exit says nothing about the files, or undefined if it is a verdict. The words are believed only if no
 * file contains them: otherwise a value could quote them and turn its own refusal into an endless retry.
 */
export function checkerTrouble(output: Buffer, files: readonly CheckFile[], memoryMiB: number): string | undefined {
  if (splitMessages(output).some((message) => NOT_READ.test(message.text)))
    return 'the checker could not open the files; check.command must read {dir}, and its user must be able to enter the folders above it';
  const starved = OUT_OF_MEMORY.test(printableText(output)) && !files.some((file) => OUT_OF_MEMORY.test(file.text));
  return starved ? `the checker ran out of memory at ${memoryMiB} MiB; raise check.memory` : undefined;
}
