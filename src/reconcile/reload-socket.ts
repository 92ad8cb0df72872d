import { setTimeout as delay } from 'node:timers/promises';
import { printableText, splitMessages } from '../check/checker-messages.js';
import { filterMessage } from '../check/message-filter.js';
import { systemErrorCode } from '../cluster/system-error.js';
import { askMaster, parseProcesses, type MasterState } from './master-socket.js';
import { ReloadError, UNKNOWN_EFFECT, unreachable } from './reload-error.js';

/** A master that loads leaves the question in its queue, so this counts only while it has gone away. */
const POLL_MS = 50;

const SEE_LOG = "see HAProxy's own log for the cause";

/**
 * Asks a HAProxy master (2.6 or newer) to reload, and looks whether it did: 2.6 begins anew as the same process and
 * closes the connection without a word; from 2.7 on it answers `Success=1` or `Success=0` with the messages of its start.
 * Where the configuration is not taken, the master counts a failed reload and the old workers go on. Resolves with the
 * version of the new workers; rejects with ReloadError, after `timeoutMs` at the latest.
 */
export async function reloadBySocket(
  path: string,
  timeoutMs: number,
  signal: AbortSignal,
): Promise<string | undefined> {
  const stop = new AbortController();
  const abort = (): void => stop.abort();
  // Not AbortSignal.any: on Node 20 each call stays with the long-lived signal for good.
  if (signal.aborted) abort();
  signal.addEventListener('abort', abort, { once: true });
  const timer = setTimeout(abort, timeoutMs);
  const talk = new MasterTalk(path, stop.signal);
  try {
    return await talk.reload();
  } catch (error) {
    if (!stop.signal.aborted) throw error;
    throw signal.aborted ? givenUp() : talk.tooLate(timeoutMs);
  } finally {
    clearTimeout(timer);
    signal.removeEventListener('abort', abort);
  }
}

/** One reload of one master. */
class MasterTalk {
  #asked = false;
  /** Why the master could not be asked last, if it could not. */
  #trouble: unknown;

  constructor(
    private readonly path: string,
    private readonly signal: AbortSignal,
  ) {}

  async reload(): Promise<string | undefined> {
    const before = await this.#stateBefore();
    this.#asked = true;
    const answer = await askMaster(this.path, 'reload', this.signal);
    refuseFailure(answer);
    return this.#outcome(before);
  }

  /** A master that somebody else makes load just now has no answer yet; another program has one that is none. */
  async #stateBefore(): Promise<MasterState> {
    for (;;) {
      const answer = await askMaster(this.path, 'show proc', this.signal).catch((error: unknown) => {
        if (this.signal.aborted) throw error;
        throw unreachable(this.path, error);
      });
      const text = printableText(answer);
      const state = parseProcesses(text);
      if (state !== undefined) return state;
      if (text.trim() !== '') throw notTheMaster(this.path);
      await delay(POLL_MS, undefined, { signal: this.signal });
    }
  }

  async #outcome(before: MasterState): Promise<string | undefined> {
    for (;;) {
      const state = await this.#stateAfter();
      if (state !== undefined && hasLoaded(before, state)) {
        if (state.failed > 0) throw new ReloadError('it does not take the published configuration', SEE_LOG);
        if (state.workers.some((worker) => !before.workers.includes(worker))) return state.version;
      }
      await delay(POLL_MS, undefined, { signal: this.signal });
    }
  }

  /** A master can be away for a while: it begins anew, or a supervisor starts another one. */
  async #stateAfter(): Promise<MasterState | undefined> {
    try {
      const answer = await askMaster(this.path, 'show proc', this.signal);
      this.#trouble = undefined;
      return parseProcesses(printableText(answer));
    } catch (error) {
      if (this.signal.aborted) throw error;
      this.#trouble = error;
      return undefined;
    }
  }

  tooLate(timeoutMs: number): ReloadError {
    if (!this.#asked) return new ReloadError(`its master did not answer within ${timeoutMs} ms: ${this.path}`, SEE_LOG);
    const gone = `its master went away and did not come back within ${timeoutMs} ms (${systemErrorCode(this.#trouble)})`;
    if (this.#trouble !== undefined)
      return new ReloadError(gone, `start it with absolute paths (-C, -f), ${SEE_LOG}`, 'HAProxy may have ended');
    return new ReloadError(`it did not finish loading within ${timeoutMs} ms`, SEE_LOG, UNKNOWN_EFFECT);
  }
}

/** A master with another process number was started after we had looked, so it has read what was published before that. */
function hasLoaded(before: MasterState, now: MasterState): boolean {
  return now.pid !== before.pid || now.reloads > before.reloads;
}

/** Anything but silence and success is a refusal: `Success=0` and the start's messages, or `Permission denied`. */
function refuseFailure(answer: Buffer): void {
  const text = printableText(answer).trim();
  if (text === '' || /^Success=1\b/.test(text)) return;
  if (!/^Success=0\b/.test(text)) {
    const fix = 'give the socket the level admin, which it has by default';
    throw new ReloadError(`its master refuses the command: ${shown(text.split('\n')[0] ?? '')}`, fix);
  }
  const alerts = splitMessages(answer).filter(({ severity }) => severity === 'alert');
  const said = shown(alerts.map((alert) => alert.text).join('; '));
  throw new ReloadError(`it does not take the published configuration${said === '' ? '' : `: ${said}`}`, SEE_LOG);
}

/** HAProxy's own words only: it quotes lines of the configuration, which may hold secrets. */
function shown(text: string): string {
  return filterMessage(text, { lines: [], fileNamed: () => undefined, sensitive: false, foreign: false });
}

function notTheMaster(path: string): ReloadError {
  const fix = 'give the path of the master socket (-S), not of a stats socket; HAProxy 2.6 or newer is needed';
  return new ReloadError(`${path} does not answer as a HAProxy master does`, fix);
}

function givenUp(): ReloadError {
  return new ReloadError('the reload was given up before it ended', 'reload it by hand if need be', UNKNOWN_EFFECT);
}
