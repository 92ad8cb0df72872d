import { systemErrorCode } from '../cluster/system-error.js';

const EFFECT = 'HAProxy still runs the configuration before';

/** The published configuration is not in use: `reason` says why, `effect` what follows, `fix` what to do. One line. */
export class ReloadError extends Error {
  override readonly name = 'ReloadError';
  readonly code = 'RELOAD_FAILED';

  constructor(
    readonly reason: string,
    readonly fix: string,
    readonly effect: string = EFFECT,
  ) {
    super(`HAProxy was not reloaded: ${reason}; ${effect}; ${fix}`);
  }
}

/** Nobody knows what became of a reload that was asked for and never reported. */
export const UNKNOWN_EFFECT = 'HAProxy may still run the configuration before';

const UNREACHABLE: ReadonlyMap<string, readonly [reason: string, fix: string]> = new Map([
  ['ENOENT', ['there is no socket', 'start HAProxy in master-worker mode with this socket (-W -S)']],
  ['ECONNREFUSED', ['nobody listens at the socket', 'start HAProxy in master-worker mode with this socket (-W -S)']],
  ['EACCES', ['this user may not use the socket', "give it the right to (-S 'PATH,mode,660,group,NAME')"]],
]);

/** Why a master socket could not be reached. */
export function unreachable(path: string, error: unknown): ReloadError {
  const code = systemErrorCode(error);
  const [reason, fix] = UNREACHABLE.get(code) ?? [`the socket cannot be used (${code})`, 'look at its path and rights'];
  return new ReloadError(`${reason}: ${path}`, fix);
}
