import { randomBytes } from 'node:crypto';

import { generate } from 'selfsigned';

/** Controller name of the shipped configuration's IngressClass. */
export const CONTROLLER = 'rendergate.dev/haproxy';

/** PEM texts. */
export interface CertificatePair {
  readonly cert: string;
  readonly key: string;
}

export interface TokenValues {
  readonly canaryFile: string;
  readonly canaryLua: string;
  /** By the token's text after the colon: `shop.example.com#2`. */
  readonly pairs: ReadonlyMap<string, CertificatePair>;
}

const PAIR = '@generated-pair:([A-Za-z0-9.*-]+(?:#\\d+)?)';

/** In one pass from left to right, so that what a token stands for is never read as a token again. */
const TOKEN = new RegExp(
  [
    '@controller',
    '@canary-file',
    '@canary-lua',
    PAIR,
    '@random:(\\d+)((?:#\\d+)?)',
    '@json:("(?:[^"\\\\]|\\\\.)*")',
  ].join('|'),
  'gs',
);

/** The whole value, so that the repeated part may hold anything. */
const WHOLE_TEXT = /^@text:(.*)\*(\d+)$/s;
const EMBEDDED_TEXT = /@text:([^*\n]*)\*(\d+)/g;

/** Makes the certificates that a document names, each once. */
export async function generatePairs(document: unknown): Promise<ReadonlyMap<string, CertificatePair>> {
  const names = new Set([...JSON.stringify(document).matchAll(new RegExp(PAIR, 'g'))].map((match) => match[1] ?? ''));
  const pairs = new Map<string, CertificatePair>();
  for (const name of names) pairs.set(name, await generatePair(name.replace(/#\d+$/, '')));
  return pairs;
}

async function generatePair(host: string): Promise<CertificatePair> {
  const { cert, private: key } = await generate([{ name: 'commonName', value: host.slice(0, 64) }], {
    keyType: 'ec',
    curve: 'P-256',
    algorithm: 'sha256',
    extensions: [{ name: 'subjectAltName', altNames: [{ type: 2, value: host }] }],
  });
  return { cert, key };
}

/** Replaces every token but `@stored`, whose meaning changes from review to review, in all strings of a document. */
export function createTokenReplacer(values: TokenValues): <T>(document: T) => T {
  const randoms = new Map<string, string>();
  const random = (bytes: string, mark: string): string => {
    const token = `${bytes}${mark}`;
    const known = randoms.get(token) ?? randomBytes(Number(bytes)).toString('base64');
    randoms.set(token, known);
    return known;
  };
  const replace = (text: string, key: string): string => {
    const whole = WHOLE_TEXT.exec(text);
    if (whole !== null) return (whole[1] ?? '').repeat(Number(whole[2]));
    const repeated = text.replace(EMBEDDED_TEXT, (_, part: string, times: string) => part.repeat(Number(times)));
    return repeated.replace(TOKEN, (token, pair?: string, bytes?: string, mark?: string, json?: string) => {
      if (pair !== undefined) return pairValue(values, pair, key);
      if (bytes !== undefined) return random(bytes, mark ?? '');
      if (json !== undefined) return String(JSON.parse(json));
      if (token === '@controller') return CONTROLLER;
      return token === '@canary-file' ? values.canaryFile : values.canaryLua;
    });
  };
  return <T>(document: T): T => mapStrings(document, replace) as T;
}

function pairValue(values: TokenValues, name: string, key: string): string {
  const pair = values.pairs.get(name);
  if (pair === undefined) throw new Error(`no pair was generated for ${name}`);
  if (key !== 'tls.crt' && key !== 'tls.key') {
    throw new Error(`@generated-pair:${name} stands at ${key}; it has a meaning in tls.crt and tls.key only`);
  }
  return Buffer.from(key === 'tls.crt' ? pair.cert : pair.key).toString('base64');
}

/** `key` is the nearest key of an object above the string; list elements have that of their list. */
function mapStrings(value: unknown, replace: (text: string, key: string) => string, key = ''): unknown {
  if (typeof value === 'string') return value.includes('@') ? replace(value, key) : value;
  if (Array.isArray(value)) return value.map((entry: unknown) => mapStrings(entry, replace, key));
  if (typeof value !== 'object' || value === null) return value;
  return Object.fromEntries(Object.entries(value).map(([name, entry]) => [name, mapStrings(entry, replace, name)]));
}
