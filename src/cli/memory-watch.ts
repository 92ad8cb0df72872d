import type { Logger } from 'pino';
import { containerMemory } from '../config/container-memory.js';

export interface MemoryWatchOptions {
  readonly log: Pick<Logger, 'warn'>;
  /** Bytes that the process may use; default: what the container allows. */
  readonly limit?: number;
  /** Bytes that it uses now. */
  readonly used?: () => number;
  readonly everyMs?: number;
}

const WARN_ABOVE = 0.9;
const REARM_BELOW = 0.8;
const MIB = 1024 * 1024;

/**
 * Warns once when the process comes near its container's memory. The heap limit of the render thread counts neither
 * ArrayBuffers nor one giant allocation (DESIGN 1), so only the process as a whole shows what the kernel will kill it for.
 */
export function watchMemory(options: MemoryWatchOptions): { close(): void } {
  const { log, limit = containerMemory(), used = () => process.memoryUsage.rss(), everyMs = 5_000 } = options;
  let warned = false;
  const timer = setInterval(() => {
    const share = used() / limit;
    if (share > WARN_ABOVE && !warned) {
      log.warn(
        {
          usedMiB: Math.round((share * limit) / MIB),
          limitMiB: Math.round(limit / MIB),
          effect:
            'the kernel ends the process at the limit; reviews are then denied until it has started and rendered again',
          fix: 'raise the memory of the container, or lower render.heap and check.memory',
        },
        'memory is nearly used up',
      );
    }
    warned = share > (warned ? REARM_BELOW : WARN_ABOVE);
  }, everyMs);
  timer.unref();
  return { close: () => clearInterval(timer) };
}
