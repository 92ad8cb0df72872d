import type { Logger } from 'pino';
import { createReloader, type Reloader, type ReloadTarget } from '../reconcile/reload.js';
import { UsageError } from './failure.js';

export interface ReloadFlags {
  /** Master socket of a HAProxy (`haproxy -W -S PATH`). */
  readonly reloadSocket?: string;
  /** Words separated by spaces; no shell sees them. */
  readonly reloadCommand?: string;
}

/** Undefined where neither flag is given: somebody else reloads. Throws UsageError for both, and for a command without words. */
export function openReloader(
  flags: ReloadFlags,
  log: Logger,
  onRunning: (version: string) => void = () => undefined,
): Reloader | undefined {
  const target = targetOf(flags);
  return target === undefined ? undefined : createReloader({ target, log, onRunning });
}

function targetOf({ reloadSocket, reloadCommand }: ReloadFlags): ReloadTarget | undefined {
  if (reloadSocket !== undefined && reloadCommand !== undefined)
    throw new UsageError('--reload-socket and --reload-command exclude each other: give one of them');
  if (reloadSocket !== undefined) return { socket: reloadSocket };
  if (reloadCommand === undefined) return undefined;
  const command = reloadCommand.split(/\s+/).filter((word) => word !== '');
  if (command.length === 0) throw new UsageError('--reload-command is empty; it begins with the name of a program');
  return { command };
}
