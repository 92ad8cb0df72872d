import { createPrivateKey, X509Certificate } from 'node:crypto';
import type { KeyObject } from 'node:crypto';
import { isIP } from 'node:net';
import { createSecureContext } from 'node:tls';

/** PEM texts; `cert` may be followed by its intermediates. */
export interface CertificatePair {
  readonly cert: string;
  readonly key: string;
}

/** `which` names the part that is wrong; `problem` never quotes it. */
export type PairOutcome =
  { readonly kind: 'ok' } | { readonly kind: 'bad'; readonly which: 'certificate' | 'key'; readonly problem: string };

/** Whether a server can use the pair: both parse and belong together. */
export function checkPair({ cert, key }: CertificatePair): PairOutcome {
  const leaf = parseCertificate(cert);
  if (typeof leaf === 'string') return { kind: 'bad', which: 'certificate', problem: leaf };
  const privateKey = parseKey(key);
  if (typeof privateKey === 'string') return { kind: 'bad', which: 'key', problem: privateKey };
  if (!leaf.checkPrivateKey(privateKey)) {
    return { kind: 'bad', which: 'key', problem: 'the key does not match the certificate' };
  }
  try {
    createSecureContext({ cert, key });
    return { kind: 'ok' };
  } catch (error) {
    return { kind: 'bad', which: 'certificate', problem: `TLS refuses the pair: ${codeOf(error)}` };
  }
}

/** What a caller would object to although the pair can be served: expired, or a name that it does not cover (B17). */
export function certificateWarnings(cert: string, names: readonly string[], now: Date): readonly string[] {
  const leaf = new X509Certificate(cert);
  const warnings = names.filter((name) => !covers(leaf, name)).map((name) => `it is not valid for ${name}`);
  if (Date.parse(leaf.validTo) <= now.getTime()) warnings.push(`it expired on ${isoDate(leaf.validTo)}`);
  if (Date.parse(leaf.validFrom) > now.getTime()) warnings.push(`it is valid only from ${isoDate(leaf.validFrom)}`);
  return warnings;
}

/** Whether the certificate is valid for a DNS name or an IP address. */
export function covers(leaf: X509Certificate, name: string): boolean {
  // The common name is no fallback: Go, and so the API server, reads the SANs only.
  const host = (): string | undefined => leaf.checkHost(name, { subject: 'never' });
  return (isIP(name) === 0 ? host() : leaf.checkIP(name)) !== undefined;
}

function parseCertificate(text: string): X509Certificate | string {
  if (text.trim() === '') return 'it is empty';
  if (!text.includes('-----BEGIN CERTIFICATE-----')) return 'it holds no PEM block CERTIFICATE';
  try {
    return new X509Certificate(text);
  } catch (error) {
    return `its certificate cannot be parsed (${codeOf(error)})`;
  }
}

function parseKey(text: string): KeyObject | string {
  if (text.trim() === '') return 'it is empty';
  if (!/-----BEGIN [A-Z ]*PRIVATE KEY-----/.test(text)) return 'it holds no PEM block PRIVATE KEY';
  if (/BEGIN ENCRYPTED PRIVATE KEY|Proc-Type: 4,ENCRYPTED/.test(text)) return 'it is protected by a passphrase';
  try {
    return createPrivateKey(text);
  } catch (error) {
    return `its private key cannot be parsed (${codeOf(error)})`;
  }
}

/** The code alone: a library's message might quote what it read. */
export function codeOf(error: unknown): string {
  return typeof error === 'object' && error !== null && 'code' in error ? String(error.code) : 'no error code';
}

function isoDate(opensslDate: string): string {
  return new Date(opensslDate).toISOString().slice(0, 10);
}
