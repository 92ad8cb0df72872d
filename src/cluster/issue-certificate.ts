import { randomBytes } from 'node:crypto';
import { isIP } from 'node:net';

/** PEM texts. `ca` is what a client has to trust. */
export interface IssuedCertificate {
  readonly cert: string;
  readonly key: string;
  readonly ca: string;
}

export interface IssueOptions {
  /** DNS names and IP addresses. */
  readonly names: readonly string[];
  /** What the CA is called; some random digits are added. */
  readonly authority: string;
  /** Both certificates expire after this, milliseconds; X.509 rounds down to seconds. */
  readonly lifetimeMs: number;
  /** Milliseconds since 1970; default: now. */
  readonly now?: number;
}

/** Another machine's clock may be a little behind. */
const BACKDATE_MS = 5 * 60 * 1000;

/** A new CA and a server certificate that it has signed. The CA's key is forgotten: nobody can sign with it later. */
export async function issueCertificate({
  names,
  authority: authorityName,
  lifetimeMs,
  now = Date.now(),
}: IssueOptions): Promise<IssuedCertificate> {
  // Loaded only here: the ASN.1 code behind it is large and a server with a real certificate never needs it.
  const { generate } = await import('selfsigned');
  const common = {
    keyType: 'ec',
    curve: 'P-256',
    algorithm: 'sha256',
    notBeforeDate: new Date(now - BACKDATE_MS),
    notAfterDate: new Date(now + lifetimeMs),
  } as const;
  // A name of its own, so that a client which still trusts an earlier CA says "unknown issuer", not "bad signature".
  const authority = await generate(
    [{ name: 'commonName', value: `${authorityName} ${randomBytes(4).toString('hex')}` }],
    {
      ...common,
      extensions: [
        { name: 'basicConstraints', cA: true, pathLenConstraint: 0, critical: true },
        { name: 'keyUsage', keyCertSign: true, cRLSign: true, critical: true },
      ],
    },
  );
  const leaf = await generate([{ name: 'commonName', value: 'rendergate' }], {
    ...common,
    ca: { key: authority.private, cert: authority.cert },
    extensions: [
      { name: 'basicConstraints', cA: false, critical: true },
      { name: 'keyUsage', digitalSignature: true, critical: true },
      { name: 'extKeyUsage', serverAuth: true },
      { name: 'subjectAltName', altNames: names.map(altName) },
    ],
  });
  return { cert: endLine(leaf.cert), key: endLine(leaf.private), ca: endLine(authority.cert) };
}

/** PEM files get concatenated (several CAs in one bundle), which needs the last newline. */
export function endLine(pem: string): string {
  return `${pem.trimEnd()}\n`;
}

function altName(name: string): { type: 2; value: string } | { type: 7; ip: string } {
  return isIP(name) === 0 ? { type: 2, value: name } : { type: 7, ip: name };
}
