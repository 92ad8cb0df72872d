import { describe, expect, it } from '@jest/globals';
import { parseProcesses } from '../../src/reconcile/master-socket.js';

/** As HAProxy 2.6.12 prints it. */
const TWO_RELOADS = `#<PID>          <type>          <reloads>       <uptime>        <version>
4711            master          2 [failed: 0]   0d00h01m08s     2.6.12-1+deb12u4
# workers
4760            worker          0               0d00h00m00s     2.6.12-1+deb12u4
# old workers
4713            worker          1               0d00h01m00s     2.6.12-1+deb12u4
# programs

`;

describe("the answer to 'show proc'", () => {
  it('tells of the master, and of the workers that take new connections', () => {
    expect(parseProcesses(TWO_RELOADS)).toEqual({
      pid: 4711,
      reloads: 2,
      failed: 0,
      workers: [4760],
      version: '2.6.12-1+deb12u4',
    });
  });

  it('counts reloads that failed', () => {
    expect(parseProcesses(TWO_RELOADS.replace('[failed: 0]', '[failed: 3]'))?.failed).toBe(3);
  });

  it.each(['', 'Unknown command', '4711 worker 0 0d 2.6\n'])('is none as %j', (text) => {
    expect(parseProcesses(text)).toBeUndefined();
  });
});
