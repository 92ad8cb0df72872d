import { chmodSync, mkdirSync, writeFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { objectLabel } from '../render/keys.js';
import type { FlatFile } from '../render/output-tree.js';
import { offline, type Offline } from './offline.js';

export interface RenderOptions {
  readonly config: string;
  readonly resources: string;
  readonly output: string;
}

/** Exit code 0 written and checked, 1 an object had to be left out, 2 written but not checked. */
export async function render(options: RenderOptions): Promise<void> {
  process.exitCode = await offline(options, (ready) => writeRender(options.output, ready));
}

async function writeRender(directory: string, { runtime }: Offline): Promise<number> {
  const { host, coordinator } = runtime;
  const reply = await host.request('reconcile', { timeoutMs: undefined });
  if (reply.kind !== 'rendered') {
    process.stderr.write(
      `error: nothing was rendered: ${reply.kind === 'failed' ? reply.faults.map((fault) => fault.reason).join('; ') : reply.message}\n`,
    );
    return 1;
  }
  const files = await host.request('files', { render: reply.render });
  for (const file of files) writeFile(directory, file);
  process.stdout.write(`${files.length} files written to ${directory}\n`);
  for (const { alias, namespace, name, reason } of reply.quarantined) {
    process.stderr.write(`warning: ${objectLabel(alias, namespace, name)} is left out: ${reason}\n`);
  }
  if (coordinator.problem !== undefined) {
    process.stderr.write(`warning: the files are not checked: ${coordinator.problem}\n`);
    return 2;
  }
  return reply.quarantined.length > 0 ? 1 : 0;
}

function writeFile(directory: string, file: FlatFile): void {
  const path = join(directory, file.name);
  mkdirSync(dirname(path), { recursive: true });
  const mode = file.sensitive ? 0o600 : 0o644;
  writeFileSync(path, file.text, { mode });
  // Of a file that was there already writing keeps the mode.
  chmodSync(path, mode);
}
