import { X509Certificate, randomBytes } from 'node:crypto';
import { mkdir, open, readFile, rename, rm } from 'node:fs/promises';
import { join } from 'node:path';

import { checkPair, covers } from '../cluster/certificate-pair.js';
import { type IssuedCertificate, issueCertificate } from '../cluster/issue-certificate.js';

const FILES = { cert: 'tls.crt', key: 'tls.key', ca: 'ca.crt' } as const;
const ALWAYS = ['localhost', '127.0.0.1', '::1'];
const DAY_MS = 24 * 60 * 60 * 1000;
/** Room to renew before anybody sees an expired certificate. */
const RENEW_BEFORE_MS = 7 * DAY_MS;
const LIFETIME_MS = 365 * DAY_MS;

/**
 * A certificate for development and tests in `directory` (`tls.crt`, `tls.key` with mode 0600, `ca.crt`), valid for
 * localhost, its addresses and `names` (DNS names or IP addresses). What is there is reused while it parses, belongs
 * together, covers the names and is valid for 7 more days. The CA's key is never stored: nobody can sign with it later.
 * Throws what the file system throws when the directory can't be written.
 */
export async function developmentCertificate(directory: string, names: readonly string[]): Promise<IssuedCertificate> {
  const wanted = [...new Set([...ALWAYS, ...names])];
  const stored = await readStored(directory);
  if (stored !== undefined && isUsable(stored, wanted)) return stored;
  const fresh = await issueCertificate({
    names: wanted,
    authority: 'rendergate development CA',
    lifetimeMs: LIFETIME_MS,
  });
  await mkdir(directory, { recursive: true });
  // A crash between the files leaves parts that do not belong together, which the next start finds and replaces.
  await writeAtomically(join(directory, FILES.key), fresh.key, 0o600);
  await writeAtomically(join(directory, FILES.cert), fresh.cert, 0o644);
  await writeAtomically(join(directory, FILES.ca), fresh.ca, 0o644);
  return fresh;
}

async function readStored(directory: string): Promise<IssuedCertificate | undefined> {
  const read = (name: string): Promise<string> => readFile(join(directory, name), 'utf8');
  try {
    return { cert: await read(FILES.cert), key: await read(FILES.key), ca: await read(FILES.ca) };
  } catch {
    return undefined;
  }
}

function isUsable(stored: IssuedCertificate, names: readonly string[]): boolean {
  if (checkPair(stored).kind !== 'ok') return false;
  try {
    const leaf = new X509Certificate(stored.cert);
    const authority = new X509Certificate(stored.ca);
    const soonest = Math.min(Date.parse(leaf.validTo), Date.parse(authority.validTo));
    return (
      soonest - Date.now() > RENEW_BEFORE_MS &&
      leaf.verify(authority.publicKey) &&
      names.every((name) => covers(leaf, name))
    );
  } catch {
    return false;
  }
}

async function writeAtomically(path: string, text: string, mode: number): Promise<void> {
  const temporary = `${path}.${randomBytes(4).toString('hex')}.tmp`;
  try {
    // `wx`: the mode counts only for a file that is new.
    const file = await open(temporary, 'wx', mode);
    try {
      await file.writeFile(text);
      await file.sync();
    } finally {
      await file.close();
    }
    await rename(temporary, path);
  } catch (error) {
    await rm(temporary, { force: true });
    throw error;
  }
}
