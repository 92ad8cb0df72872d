import { chmodSync, existsSync, mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import type { CheckFile, CheckLane, CheckOutcome, CheckRequest } from '../../src/check/checker.js';
import { createHaproxyChecker, type HaproxyChecker } from '../../src/check/haproxy-checker.js';
import type { CheckSettings } from '../../src/config/render-config.js';

export const HAPROXY_CHECK: readonly string[] = ['haproxy', '-c', '-C', '{dir}', '-f', 'haproxy.cfg'];

/** A folder for stand-ins and what they write, open to the user that checkers run as under root. */
export class Workshop {
  readonly folder = mkdtempSync(join(tmpdir(), 'check-test-'));
  readonly log: object[] = [];
  private readonly checkers: HaproxyChecker[] = [];

  constructor() {
    chmodSync(this.folder, 0o1777);
  }

  /** A shell script that stands for the checker; {here} is this folder. */
  script(body: string, mode = 0o755): string {
    const path = join(this.folder, `stand-in-${readdirSync(this.folder).length}`);
    writeFileSync(path, `#!/bin/sh\n${body.replaceAll('{here}', this.folder)}\n`);
    chmodSync(path, mode);
    return path;
  }

  checker(command: readonly string[], settings: Partial<CheckSettings> = {}): HaproxyChecker {
    const checker = createHaproxyChecker({
      settings: { command, timeoutMs: 20_000, memoryMiB: 1024, concurrency: 2, ...settings },
      workDirectory: this.folder,
      log: (message, fields) => this.log.push({ message, ...fields }),
    });
    this.checkers.push(checker);
    return checker;
  }

  /** What a stand-in wrote into this folder, once it has. */
  async written(name: string): Promise<string> {
    const path = join(this.folder, name);
    await until(() => existsSync(path) && readFileSync(path, 'utf8').endsWith('\n'));
    return readFileSync(path, 'utf8').trim();
  }

  /** Private directories that are still there. */
  leftOver(): readonly string[] {
    return readdirSync(this.folder).filter((name) => name.startsWith('rendergate-check-'));
  }

  async close(): Promise<void> {
    await Promise.all(this.checkers.map((checker) => checker.close()));
    rmSync(this.folder, { recursive: true, force: true });
  }
}

export function file(name: string, text: string, sensitive = false): CheckFile {
  return { name, text, sensitive };
}

export function request(files: readonly CheckFile[] = [], more: Partial<CheckRequest> = {}): CheckRequest {
  const lane: CheckLane = 'admission';
  return { files: () => Promise.resolve(files), lane, signal: new AbortController().signal, ...more };
}

/** The outcome without its duration. */
export function summary(outcome: CheckOutcome): object {
  const { durationMs, ...rest } = outcome;
  return Number.isFinite(durationMs) && durationMs >= 0 ? rest : { ...rest, durationMs };
}

export async function until(condition: () => boolean): Promise<void> {
  while (!condition()) await new Promise((resolve) => setTimeout(resolve, 5));
}

/** Gone, or a zombie that only waits for its parent. */
export function isDead(pid: string): boolean {
  try {
    return readFileSync(`/proc/${pid}/stat`, 'utf8').split(') ')[1]?.startsWith('Z') ?? true;
  } catch {
    return true;
  }
}
