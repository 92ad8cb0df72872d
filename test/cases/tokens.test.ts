import { X509Certificate, createPrivateKey } from 'node:crypto';

import { describe, expect, it } from '@jest/globals';

import { CONTROLLER, createTokenReplacer, generatePairs } from './tokens.js';

const VALUES = { canaryFile: '/canary/file', canaryLua: '/canary/run.lua', pairs: new Map() };

function replaced(document: unknown): unknown {
  return createTokenReplacer(VALUES)(document);
}

describe('tokens', () => {
  it('replaces the controller and the canary paths wherever they stand in a string', () => {
    const document = { controller: '@controller', list: ['-f @canary-file', 'lua-load @canary-lua\n'] };
    expect(replaced(document)).toEqual({
      controller: CONTROLLER,
      list: ['-f /canary/file', 'lua-load /canary/run.lua\n'],
    });
  });

  it('leaves @stored and every other @ alone', () => {
    const document = { oldObject: '@stored', mail: 'jane@example.com', number: 7, nothing: null };
    expect(replaced(document)).toEqual(document);
  });

  it('makes random bytes once for each token, and others for another number', () => {
    const [first, again, other] = replaced(['@random:40', '@random:40', '@random:40#2']) as string[];
    expect(Buffer.from(first ?? '', 'base64')).toHaveLength(40);
    expect(again).toBe(first);
    expect(other).not.toBe(first);
  });

  it('gives the certificate at tls.crt and its key at tls.key', async () => {
    const data = { 'tls.crt': '@generated-pair:shop.example.com', 'tls.key': '@generated-pair:shop.example.com' };
    const replace = createTokenReplacer({ ...VALUES, pairs: await generatePairs({ data }) });
    const secret = replace({ data }).data;
    const certificate = new X509Certificate(Buffer.from(secret['tls.crt'], 'base64'));
    const key = createPrivateKey(Buffer.from(secret['tls.key'], 'base64'));
    expect(certificate.subjectAltName).toBe('DNS:shop.example.com');
    expect(certificate.checkPrivateKey(key)).toBe(true);
  });

  it('makes another pair for another number', async () => {
    const pairs = await generatePairs(['@generated-pair:a.example.com', '@generated-pair:a.example.com#2']);
    expect([...pairs.keys()]).toEqual(['a.example.com', 'a.example.com#2']);
    expect(pairs.get('a.example.com')?.key).not.toBe(pairs.get('a.example.com#2')?.key);
  });

  it('refuses a pair outside of tls.crt and tls.key, where it would have no meaning', async () => {
    const replace = createTokenReplacer({ ...VALUES, pairs: await generatePairs('@generated-pair:a.example.com') });
    expect(() => replace({ name: '@generated-pair:a.example.com' })).toThrow('tls.crt');
  });

  it('repeats a part, whatever it holds', () => {
    expect(replaced('@text:a*b *3')).toBe('a*b a*b a*b ');
    expect(replaced('before @text:xy*2 after')).toBe('before xyxy after');
  });

  it('reads a JSON literal for text that YAML cannot carry, and no token in it', () => {
    expect(replaced('@json:"\\ud800 \\u0000 \\"@controller\\""')).toBe('\ud800 \u0000 "@controller"');
  });

  it('leaves keys alone, and keeps __proto__ a key', () => {
    const document = JSON.parse('{"__proto__":"@controller","@controller":"x"}') as unknown;
    expect(JSON.stringify(replaced(document))).toBe(`{"__proto__":"${CONTROLLER}","@controller":"x"}`);
  });
});
