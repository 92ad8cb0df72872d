import { totalmem } from 'node:os';

/** Memory that this process may use, bytes: the container's limit, or the machine's memory where there is none. */
export function containerMemory(): number {
  const limit = process.constrainedMemory();
  // Without a limit Linux says 2^63 or so, other systems 0.
  return limit > 0 && limit < totalmem() ? limit : totalmem();
}
