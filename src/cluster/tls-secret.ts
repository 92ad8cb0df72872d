import { X509Certificate } from 'node:crypto';
import { type CertificatePair, checkPair } from './certificate-pair.js';
import { endLine } from './issue-certificate.js';

/** A Secret of type kubernetes.io/tls, as the API server gives it. */
export interface TlsSecret {
  readonly metadata: {
    readonly name: string;
    readonly resourceVersion: string;
    readonly labels?: Readonly<Record<string, string>>;
    readonly annotations?: Readonly<Record<string, string>>;
  };
  readonly data?: Readonly<Record<string, string>>;
}

/** What the Secret says. Nothing is checked yet but the bundle, which holds only certificates that parse. */
export interface TlsContent {
  readonly pair: CertificatePair;
  /** The CAs to trust, PEM, each once. */
  readonly bundle: readonly string[];
  /** The pair that is served as soon as everybody trusts its CA. */
  readonly next?: CertificatePair;
}

/** Only a Secret with this label, and none of cert-manager's, is ever written by us. */
export const OWN_LABEL = { 'rendergate.dev/certificate': 'issued' } as const;
const CERT_MANAGER = 'cert-manager.io/certificate-name';

export type SecretOwner = 'rendergate' | 'cert-manager' | 'unknown';

export function ownerOf({ metadata: { labels = {}, annotations = {} } }: TlsSecret): SecretOwner {
  if (CERT_MANAGER in annotations) return 'cert-manager';
  return Object.entries(OWN_LABEL).every(([key, value]) => labels[key] === value) ? 'rendergate' : 'unknown';
}

export function contentOf({ data = {} }: TlsSecret): TlsContent {
  const text = (key: string): string => Buffer.from(data[key] ?? '', 'base64').toString('utf8');
  const next = { cert: text('next.crt'), key: text('next.key') };
  return {
    pair: { cert: text('tls.crt'), key: text('tls.key') },
    bundle: certificatesIn(text('ca.crt')),
    ...(next.cert === '' && next.key === '' ? {} : { next }),
  };
}

/** The Secret's data; null takes a key away in a merge patch. */
export function dataOf({ pair, bundle, next }: TlsContent): Record<string, string | null> {
  const base64 = (text: string): string => Buffer.from(text).toString('base64');
  return {
    'tls.crt': base64(pair.cert),
    'tls.key': base64(pair.key),
    'ca.crt': base64(bundle.join('')),
    'next.crt': next === undefined ? null : base64(next.cert),
    'next.key': next === undefined ? null : base64(next.key),
  };
}

/** The certificates of a PEM text that parse, each once. */
export function certificatesIn(pem: string): readonly string[] {
  const blocks = pem.match(/-----BEGIN CERTIFICATE-----[^-]+-----END CERTIFICATE-----/g) ?? [];
  return [...new Set(blocks.filter((block) => parsed(block) !== undefined).map(endLine))];
}

/** The CA of the bundle that vouches for the certificate, or for an intermediate that follows it; undefined: none does. */
export function anchorOf(cert: string, bundle: readonly string[]): string | undefined {
  const chain = certificatesIn(cert).map((pem) => new X509Certificate(pem));
  return bundle.find((pem) => {
    const authority = new X509Certificate(pem);
    return chain.some((link) => link.checkIssued(authority) && link.verify(authority.publicKey));
  });
}

/** When the pair ends to be good, milliseconds since 1970: its certificate's or its CA's end. Undefined: it is no good at all. */
export function goodUntil({ cert, key }: CertificatePair, bundle: readonly string[]): number | undefined {
  if (checkPair({ cert, key }).kind !== 'ok') return undefined;
  const anchor = anchorOf(cert, bundle);
  return anchor === undefined ? undefined : Math.min(expiryOf(cert), expiryOf(anchor));
}

export function expiryOf(cert: string): number {
  return Date.parse(new X509Certificate(cert).validTo);
}

function parsed(pem: string): X509Certificate | undefined {
  try {
    return new X509Certificate(pem);
  } catch {
    return undefined;
  }
}
