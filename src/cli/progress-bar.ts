import { Presets, SingleBar } from 'cli-progress';
import type { RenderHost } from '../render/render-host.js';

/** Shorter renders are over before a bar could be read. */
const SHOW_AFTER_MS = 300;
const REDRAW_MS = 100;
const PLAIN_LINE_EVERY_MS = 5_000;

/** Shows how far the render is on stderr: a bar on a terminal, a plain line every few seconds elsewhere. */
export function showProgress(host: RenderHost): { stop(): void } {
  const started = performance.now();
  const bar = process.stderr.isTTY
    ? new SingleBar(
        { format: 'rendering {bar} {value}/{total} instances', stream: process.stderr, hideCursor: true },
        Presets.shades_classic,
      )
    : undefined;
  let drawn = false;
  let lastLine = started;
  const timer = setInterval(() => {
    const { done, known } = host.progress;
    const now = performance.now();
    if (now - started < SHOW_AFTER_MS || known === 0) return;
    if (bar === undefined) {
      if (now - lastLine < PLAIN_LINE_EVERY_MS) return;
      lastLine = now;
      process.stderr.write(`rendering: ${done} of ${known} instances\n`);
    } else if (drawn) {
      bar.setTotal(known);
      bar.update(done);
    } else {
      drawn = true;
      bar.start(known, done);
    }
  }, REDRAW_MS);
  return {
    stop: () => {
      clearInterval(timer);
      if (drawn) bar?.stop();
    },
  };
}
