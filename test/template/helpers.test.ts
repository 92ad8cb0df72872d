import { describe, expect, it } from '@jest/globals';
import fc from 'fast-check';

import { TemplateFault } from '../../src/template/faults.js';
import { HELPERS } from '../../src/template/helpers.js';

const { identifier, pathKey, duration, size, sortBy, unique, isIp, isIpv6, isCidr } = HELPERS;

const part = fc.oneof(
  fc.string({ unit: 'grapheme', maxLength: 4 }),
  fc.string({ unit: fc.constantFrom('_', '-', '5', 'f', 'a', '.', '/', 'F'), maxLength: 4 }),
);

describe('identifier()', () => {
  it('joins its parts and escapes all that a name of HAProxy cannot hold', () => {
    expect(identifier('shop', 'web.v1', 80)).toBe('shop_web.v1_80');
    expect(identifier('a_b', 'c/d é')).toBe('a__5fb_c__2fd__20__c3__a9');
    fc.assert(
      fc.property(fc.array(part, { minLength: 1 }), (parts) => expect(identifier(...parts)).toMatch(/^[\w.-]+$/)),
    );
  });

  it('never gives two lists one name', () => {
    const lists = fc.array(part, { minLength: 1, maxLength: 4 });
    fc.assert(
      fc.property(lists, lists, (left, right) => {
        expect(identifier(...left) === identifier(...right)).toBe(JSON.stringify(left) === JSON.stringify(right));
      }),
      { numRuns: 2_000 },
    );
    expect(identifier('a', '', '5f')).not.toBe(identifier('a_'));
    expect(identifier('', 'a')).not.toBe(identifier('_a'));
    expect(identifier('a')).not.toBe(identifier('a', ''));
  });

  it('fails where half of a surrogate pair would be lost', () => {
    expect(() => identifier('a\ud800')).toThrow(TemplateFault);
  });
});

describe('pathKey()', () => {
  it.each([
    ['/a b', '/a%20b'],
    ['/é/"x"', '/%C3%A9/%22x%22'],
    ['/a%20b', '/a%20b'],
    ['/a?b#c', '/a%3Fb%23c'],
    ['/😀', '/%F0%9F%98%80'],
    ["/-._~!$&'()*+,;=:@", "/-._~!$&'()*+,;=:@"],
    [7, '7'],
  ])('writes %j as clients send it', (path, key) => {
    expect(pathKey(path)).toBe(key);
  });

  it('is the same when it is done twice', () => {
    fc.assert(
      fc.property(fc.string({ unit: 'grapheme' }), (path) => expect(pathKey(pathKey(path))).toBe(pathKey(path))),
    );
  });

  it('fails with half of a surrogate pair', () => {
    expect(() => pathKey('/\udc00')).toThrow(/half a surrogate pair/);
  });
});

describe('duration() and size()', () => {
  it.each([
    ['90s', 90_000],
    ['750ms', 750],
    ['10m', 600_000],
    ['1H', 3_600_000],
    ['1d', 86_400_000],
    [' 5s ', 5_000],
    ['1500us', 2],
  ])('duration of %j is %d ms', (text, ms) => {
    expect(duration('spec.timeout', text)).toBe(ms);
  });

  it.each([
    ['0', 0],
    [512, 512],
    ['8k', 8_192],
    ['2M', 2_097_152],
    ['1g', 1_073_741_824],
  ])('size of %j is %d bytes', (text, bytes) => {
    expect(size('spec.size', text)).toBe(bytes);
  });

  it.each([
    '',
    '5 parsecs',
    '-1s',
    '1.5s',
    '1e3s',
    '5',
    's',
    null,
    undefined,
    {},
    '5constructor',
    '9'.repeat(20) + 's',
  ])('duration of %j fails and names the field', (value) => {
    expect(() => duration('spec.timeout', value)).toThrow(
      /^spec\.timeout: ".*" is not a duration such as 90s or 750ms$/,
    );
  });

  it('fails where a number would not be exact any more', () => {
    expect(() => size('spec.size', '999999999999999g')).toThrow('is too large');
    expect(() => duration('spec.timeout', '999999999999999d')).toThrow('is too large');
  });
});

describe('the other helpers', () => {
  it('sortBy() is stable, by code units, and leaves its argument alone', () => {
    const values = Object.freeze([
      { k: 'b', n: 1 },
      { k: 'B', n: 2 },
      { k: 'a', n: 3 },
      { k: 'b', n: 4 },
    ]);
    expect(sortBy(values, (value) => (value as { k: string }).k).map((value) => (value as { n: number }).n)).toEqual([
      2, 3, 1, 4,
    ]);
    expect(sortBy(['é', 'z', 'a', '😀', '\uffff'])).toEqual(['a', 'z', 'é', '😀', '\uffff']);
    expect(sortBy([10, 9, 100])).toEqual([9, 10, 100]);
  });

  it('unique() keeps the first of each', () => {
    expect(unique(['b', 'a', 'b', 'c', 'a'])).toEqual(['b', 'a', 'c']);
  });

  it.each([
    ['192.0.2.1', true, false, true],
    ['192.0.2.0/24', false, false, true],
    ['192.0.2.0/33', false, false, false],
    ['2001:db8::1', true, true, true],
    ['2001:db8::/32', false, false, true],
    ['2001:db8::/129', false, false, false],
    ['192.0.2.1/24/1', false, false, false],
    ['192.0.2.1/', false, false, false],
    ['192.0.2.1/-1', false, false, false],
    ['192.0.2', false, false, false],
    ['example.com', false, false, false],
    ['', false, false, false],
    [7, false, false, false],
    [null, false, false, false],
  ])('knows addresses: %j', (value, ip, ipv6, cidr) => {
    expect([isIp(value), isIpv6(value), isCidr(value)]).toEqual([ip, ipv6, cidr]);
  });

  it('base64, sha256, JSON and YAML are what they are called', () => {
    fc.assert(
      fc.property(fc.string({ unit: 'grapheme' }), (text) => {
        expect(HELPERS.base64Decode(HELPERS.base64Encode(text))).toBe(text);
      }),
    );
    expect(HELPERS.sha256('a')).toBe('ca978112ca1bbdcafac231b39a23dc4da786eff8147c4e72b9807785afee48bb');
    expect(HELPERS.toJson({ b: 1, a: [null, 'é'] })).toBe('{"b":1,"a":[null,"é"]}');
    expect(HELPERS.toJson(undefined)).toBe('null');
    expect(HELPERS.toYaml({ b: 1, a: ['x'] })).toBe('a:\n  - x\nb: 1\n');
  });

  it('fail() names field and reason', () => {
    expect(() => HELPERS.fail('spec.line', 'is wrong')).toThrow(new TemplateFault('is wrong', 'spec.line'));
  });
});
