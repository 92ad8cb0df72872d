import type { Logger } from 'pino';
import { objectLabel } from '../render/keys.js';
import type { QuarantineEntry } from '../render/protocol.js';

/** Says once what came into quarantine and what left it. */
export class QuarantineReport {
  #entries: readonly QuarantineEntry[] = [];

  constructor(private readonly log: Pick<Logger, 'info' | 'warn'>) {}

  /** As last told. */
  get entries(): readonly QuarantineEntry[] {
    return this.#entries;
  }

  tell(now: readonly QuarantineEntry[]): void {
    const before = new Set(this.#entries.map(entryKey));
    const after = new Set(now.map(entryKey));
    for (const entry of now.filter((candidate) => !before.has(entryKey(candidate)))) {
      const effect = entry.servedOld ? 'its last accepted revision is served' : 'it is not served';
      this.log.warn({ object: label(entry), reason: entry.reason, effect }, 'object quarantined');
    }
    for (const entry of this.#entries.filter((candidate) => !after.has(entryKey(candidate)))) {
      this.log.info({ object: label(entry) }, 'object left quarantine');
    }
    this.#entries = now;
  }
}

function entryKey(entry: QuarantineEntry): string {
  return `${label(entry)} ${entry.reason}`;
}

function label({ alias, namespace, name }: QuarantineEntry): string {
  return objectLabel(alias, namespace, name);
}
