import { getHeapStatistics } from 'node:v8';
import type { ProgressBuffer } from './progress.js';
import { RenderStopped } from './template-fault.js';

const MIB = 1024 * 1024;

/**
 * Notes how much heap the thread uses, and ends the render with a clear message before the engine would end the thread
 * (DESIGN 1). Throws RenderStopped.
 */
export function stopOverLimit(progress: ProgressBuffer, limitBytes: number): void {
  const used = getHeapStatistics().used_heap_size;
  progress.heap(used / MIB);
  if (used <= limitBytes) return;
  throw new RenderStopped(
    'heap',
    `the render uses ${Math.round(used / MIB)} MiB of heap, more than its limit allows; raise render.heap and the container's memory`,
  );
}
