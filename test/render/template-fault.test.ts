import { describe, expect, it } from '@jest/globals';

import { fieldWithValue } from '../../src/render/template-fault.js';

describe('the field that a value comes from', () => {
  const metadata = { name: 'web', uid: '5c-90s-ee', annotations: { 'rendergate.dev/timeout-server': '90s' } };

  it.each([
    ['web', { metadata, spec: { host: 'web' } }, 'spec.host'],
    ['web', { metadata, spec: {} }, 'metadata.name'],
    ['90s', { metadata, spec: { wait: '90s' } }, 'metadata.annotations["rendergate.dev/timeout-server"]'],
    ['a b', { metadata, spec: { rules: [{ host: 'x' }, { host: 'the a b' }] } }, 'spec.rules[1].host'],
    ['80', { metadata, spec: { ports: [{ port: 80 }] } }, 'spec.ports[0].port'],
  ])('%j of %j is %s', (value, item, field) => {
    expect(fieldWithValue(item, value)).toBe(field);
  });

  it.each([['nowhere'], ['']])('is unknown for %j', (value) => {
    expect(fieldWithValue({ metadata, spec: { x: [null, true] } }, value)).toBeUndefined();
  });

  it('is unknown where there is no object', () => {
    expect(fieldWithValue(undefined, 'x')).toBeUndefined();
    expect(fieldWithValue({ spec: 'x' }, 'x')).toBe('spec');
  });
});
