import { describe, expect, it } from '@jest/globals';

import { Doorbell } from '../../src/render/doorbell.js';

describe('a doorbell', () => {
  it('does not let anybody sleep who has missed a ring', () => {
    const bell = new Doorbell();
    const { rings } = bell;
    new Doorbell(bell.shared).ring();
    expect(bell.wait(rings, 60_000)).toBe(true);
  });

  it('says that nobody rang', () => {
    const bell = new Doorbell();
    bell.ring();
    expect(bell.wait(bell.rings, 1)).toBe(false);
  });
});
