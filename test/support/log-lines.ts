import { createInterface } from 'node:readline';
import type { Readable } from 'node:stream';

/** One line of the server's log; a line that is no JSON comes as `{ raw }`. */
export type LogLine = Readonly<Record<string, unknown>>;

interface Waiter {
  readonly matches: (line: LogLine) => boolean;
  readonly resolve: (line: LogLine) => void;
  readonly reject: (error: Error) => void;
}

/** Nothing that is waited for takes this long, cold renders on a busy machine included. */
const WAIT_LIMIT_MS = 45_000;

/** Collects a process's log and lets others wait for a line instead of sleeping. */
export class LogLines {
  readonly lines: LogLine[] = [];
  private readonly waiters = new Set<Waiter>();
  private ended: string | undefined;

  constructor(stream: Readable) {
    createInterface({ input: stream }).on('line', (text) => this.add(parseLine(text)));
  }

  /**
   * The first line that matches, those that came already included (from index `from` on). Rejects, with the log's last
   * lines, when the process ends before it or nothing comes for a long time.
   */
  wait(matches: (line: LogLine) => boolean, from = 0): Promise<LogLine> {
    const known = this.lines.slice(from).find(matches);
    if (known !== undefined) return Promise.resolve(known);
    if (this.ended !== undefined) return Promise.reject(new Error(this.describe(this.ended)));
    return new Promise((resolve, reject) => this.register(matches, resolve, reject));
  }

  /** Tells everybody who still waits that no line will come. */
  end(reason: string): void {
    this.ended = reason;
    for (const waiter of [...this.waiters]) waiter.reject(new Error(this.describe(reason)));
  }

  text(): string {
    return this.lines.map((line) => (typeof line['raw'] === 'string' ? line['raw'] : JSON.stringify(line))).join('\n');
  }

  private register(matches: Waiter['matches'], resolve: Waiter['resolve'], reject: Waiter['reject']): void {
    const leave = (): void => {
      clearTimeout(timer);
      this.waiters.delete(waiter);
    };
    const timer = setTimeout(
      () => waiter.reject(new Error(this.describe(`no such line in ${WAIT_LIMIT_MS} ms`))),
      WAIT_LIMIT_MS,
    );
    const waiter: Waiter = {
      matches,
      resolve: (line) => (leave(), resolve(line)),
      reject: (error) => (leave(), reject(error)),
    };
    this.waiters.add(waiter);
  }

  private add(line: LogLine): void {
    this.lines.push(line);
    for (const waiter of [...this.waiters]) if (waiter.matches(line)) waiter.resolve(line);
  }

  private describe(reason: string): string {
    const last = this.lines.slice(-8).map((line) => `  ${JSON.stringify(line).slice(0, 600)}`);
    return `waiting for a log line: ${reason}; the last lines were\n${last.join('\n')}`;
  }
}

function parseLine(text: string): LogLine {
  try {
    const value: unknown = JSON.parse(text);
    if (typeof value === 'object' && value !== null) return value as LogLine;
  } catch {
    // Not one of ours: kept as it stands.
  }
  return { raw: text };
}
