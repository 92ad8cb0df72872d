import { describe, expect, it } from '@jest/globals';

import { BadObjects } from '../../src/admission/bad-objects.js';
import { site } from '../support/render-config.js';

const MINUTE = 60_000;

describe('objects that blocked the render', () => {
  it('are known again by their content and identity', () => {
    const bad = new BadObjects();
    bad.remember(site('one', { line: 'x' }), 'too slow');
    expect(bad.reasonFor(site('one', { line: 'x' }))).toBe('too slow');
    expect(bad.reasonFor(site('one', { line: 'y' }))).toBeUndefined();
    expect(bad.reasonFor(site('two', { line: 'x' }))).toBeUndefined();
    expect(bad.reasonFor({ ...site('one', { line: 'x' }), text: undefined })).toBeUndefined();
  });

  it('are forgotten after ten minutes', () => {
    let now = 0;
    const bad = new BadObjects(() => now);
    bad.remember(site('one', {}), 'too slow');
    now = 10 * MINUTE - 1;
    expect(bad.reasonFor(site('one', {}))).toBe('too slow');
    now = 10 * MINUTE;
    expect(bad.reasonFor(site('one', {}))).toBeUndefined();
  });

  it('are a thousand at most, those that were at fault last', () => {
    const bad = new BadObjects();
    bad.remember(site('first', {}), 'x');
    bad.remember(site('second', {}), 'x');
    bad.remember(site('first', {}), 'again');
    for (let at = 0; at < 999; at++) bad.remember(site(`n${at}`, {}), 'x');
    expect(bad.reasonFor(site('first', {}))).toBe('again');
    expect(bad.reasonFor(site('second', {}))).toBeUndefined();
  });
});
