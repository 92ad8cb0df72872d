import { execFileSync } from 'node:child_process';
import { createPrivateKey, X509Certificate } from 'node:crypto';
import {
  chmodSync,
  mkdirSync,
  readdirSync,
  readFileSync,
  renameSync,
  rmSync,
  statSync,
  symlinkSync,
  writeFileSync,
} from 'node:fs';
import { join } from 'node:path';

import { afterEach, beforeEach, describe, expect, it, jest } from '@jest/globals';

import { certificateWarnings } from '../../src/cluster/certificate-pair.js';
import type { CertificatePair } from '../../src/cluster/certificate-pair.js';
import { developmentCertificate, loadCertificate, watchCertificate } from '../../src/server/certificates.js';
import { freshCertificate, recordingLog, scratchDirectory, until } from './running-server.js';

let scratch = scratchDirectory();
let inScratch = (name: string): string => join(scratch.path, name);

beforeEach(() => {
  scratch = scratchDirectory();
  inScratch = (name) => join(scratch.path, name);
});
afterEach(() => scratch.remove());

describe('developmentCertificate', () => {
  it('signs an EC leaf for localhost, its addresses and the given names', async () => {
    const made = await developmentCertificate(inScratch('new/certs'), ['gate.infra.svc', '10.0.0.7', 'localhost']);
    const leaf = new X509Certificate(made.cert);
    expect(leaf.subjectAltName?.split(', ')).toEqual([
      'DNS:localhost',
      'IP Address:127.0.0.1',
      'IP Address:0:0:0:0:0:0:0:1',
      'DNS:gate.infra.svc',
      'IP Address:10.0.0.7',
    ]);
    expect(leaf.ca).toBe(false);
    expect(leaf.checkIssued(new X509Certificate(made.ca))).toBe(true);
    expect(createPrivateKey(made.key).asymmetricKeyDetails).toEqual({ namedCurve: 'prime256v1' });
  });

  it('is accepted by openssl as a TLS server certificate', async () => {
    const directory = inScratch('certs');
    await developmentCertificate(directory, ['gate.infra.svc']);
    const check = ['verify', '-purpose', 'sslserver', '-verify_hostname', 'gate.infra.svc'];
    const files = ['-CAfile', join(directory, 'ca.crt'), join(directory, 'tls.crt')];
    expect(execFileSync('openssl', [...check, ...files], { encoding: 'utf8' })).toMatch(/: OK\n$/);
    const text = execFileSync('openssl', ['x509', '-noout', '-text', '-in', join(directory, 'tls.crt')], {
      encoding: 'utf8',
    });
    expect(text).toContain('Signature Algorithm: ecdsa-with-SHA256');
  });

  it('keeps the key to its owner, never stores the CA key, and leaves no other files', async () => {
    await developmentCertificate(scratch.path, []);
    expect(readdirSync(scratch.path).sort()).toEqual(['ca.crt', 'tls.crt', 'tls.key']);
    expect(statSync(inScratch('tls.key')).mode & 0o777).toBe(0o600);
    expect(readFileSync(inScratch('ca.crt'), 'utf8')).not.toContain('PRIVATE');
  });

  it('is reused while it is good', async () => {
    const first = await developmentCertificate(scratch.path, ['a.example']);
    expect(await developmentCertificate(scratch.path, ['a.example'])).toEqual(first);
    expect(await developmentCertificate(scratch.path, [])).toEqual(first);
  });

  it.each<[string, () => void | Promise<unknown>]>([
    ['the certificate does not parse', () => writeFileSync(inScratch('tls.crt'), 'half a cert')],
    ['the key is missing', () => rmSync(inScratch('tls.key'))],
    ['the key is of another pair', async () => writeFileSync(inScratch('tls.key'), (await freshCertificate()).key)],
    ['the CA is another one', async () => writeFileSync(inScratch('ca.crt'), (await freshCertificate()).ca)],
    ['it would expire within 7 days', () => jest.spyOn(Date, 'now').mockReturnValue(Date.now() + 359 * 86_400_000)],
  ])('is made anew if %s', async (_why, spoil) => {
    const first = await developmentCertificate(scratch.path, []);
    await spoil();
    const second = await developmentCertificate(scratch.path, []);
    jest.restoreAllMocks();
    expect(second.cert).not.toBe(first.cert);
    expect(loadCertificate({ certFile: inScratch('tls.crt'), keyFile: inScratch('tls.key') })).toEqual({
      cert: second.cert,
      key: second.key,
    });
  });

  it('is made anew for a name that it does not cover', async () => {
    const first = await developmentCertificate(scratch.path, []);
    const second = await developmentCertificate(scratch.path, ['new.example']);
    expect(second.cert).not.toBe(first.cert);
    expect(certificateWarnings(second.cert, ['new.example', '::1'], new Date())).toEqual([]);
  });
});

function lockedKey(): string {
  const key = createPrivateKey(readFileSync(inScratch('tls.key')));
  return key.export({ type: 'pkcs8', format: 'pem', cipher: 'aes-256-cbc', passphrase: 'x' }).toString();
}

describe('loadCertificate', () => {
  const files = () => ({ certFile: inScratch('tls.crt'), keyFile: inScratch('tls.key') });

  it('gives the pair as it stands in the files', async () => {
    const { cert, key } = await developmentCertificate(scratch.path, []);
    expect(loadCertificate(files())).toEqual({ cert, key });
  });

  it.each<[string, () => void | Promise<unknown>, string]>([
    [
      'a missing certificate',
      () => rmSync(inScratch('tls.crt')),
      'TLS certificate file CERT: it cannot be read (ENOENT);',
    ],
    ['a missing key', () => rmSync(inScratch('tls.key')), 'TLS key file KEY: it cannot be read (ENOENT);'],
    [
      'an empty certificate',
      () => writeFileSync(inScratch('tls.crt'), '\n'),
      'TLS certificate file CERT: it is empty;',
    ],
    [
      'a key in the place of the certificate',
      () => writeFileSync(inScratch('tls.crt'), readFileSync(inScratch('tls.key'))),
      'CERT: it holds no PEM block CERTIFICATE;',
    ],
    [
      'a half-written certificate',
      () => writeFileSync(inScratch('tls.crt'), readFileSync(inScratch('tls.crt'), 'utf8').slice(0, 200)),
      'CERT: its certificate cannot be parsed (',
    ],
    [
      'a half-written key',
      () => writeFileSync(inScratch('tls.key'), readFileSync(inScratch('tls.key'), 'utf8').slice(0, 100)),
      'KEY: its private key cannot be parsed (',
    ],
    [
      'a key of another certificate',
      async () => writeFileSync(inScratch('tls.key'), (await freshCertificate()).key),
      'KEY: the key does not match the certificate;',
    ],
    [
      'a key with a passphrase',
      () => writeFileSync(inScratch('tls.key'), lockedKey()),
      'KEY: it is protected by a passphrase;',
    ],
  ])('names the file and the fault of %s', async (_what, spoil, expected) => {
    await developmentCertificate(scratch.path, []);
    await spoil();
    const message = expected.replace('CERT', inScratch('tls.crt')).replace('KEY', inScratch('tls.key'));
    expect(() => loadCertificate(files())).toThrow(message);
  });

  it('quotes nothing of a file', async () => {
    await developmentCertificate(scratch.path, []);
    writeFileSync(inScratch('tls.key'), '-----BEGIN PRIVATE KEY-----\nU0VDUkVU\n-----END PRIVATE KEY-----\n');
    expect(() => loadCertificate(files())).toThrow(
      expect.objectContaining({ message: expect.not.stringContaining('U0VDUkVU') }),
    );
  });
});

describe('certificateWarnings', () => {
  it('tells a name that is not covered, and a certificate before and after its time', async () => {
    const { cert } = await freshCertificate();
    expect(certificateWarnings(cert, ['localhost'], new Date())).toEqual([]);
    expect(certificateWarnings(cert, ['gate.infra.svc'], new Date())).toEqual(['it is not valid for gate.infra.svc']);
    expect(certificateWarnings(cert, [], new Date('2100-01-01'))).toEqual([
      expect.stringMatching(/^it expired on \d{4}-/),
    ]);
    expect(certificateWarnings(cert, [], new Date('2000-01-01'))).toEqual([
      expect.stringMatching(/^it is valid only from /),
    ]);
  });
});

describe('watchCertificate', () => {
  /** A folder as the kubelet mounts a Secret: the files are links into a folder that is replaced as a whole. */
  function mount(pair: CertificatePair, version: string): void {
    mkdirSync(inScratch(version));
    writeFileSync(join(inScratch(version), 'tls.crt'), pair.cert);
    writeFileSync(join(inScratch(version), 'tls.key'), pair.key);
    symlinkSync(version, inScratch('..data_tmp'));
    renameSync(inScratch('..data_tmp'), inScratch('..data'));
  }

  function mountFirst(pair: CertificatePair): { certFile: string; keyFile: string } {
    mount(pair, 'v1');
    symlinkSync('..data/tls.crt', inScratch('tls.crt'));
    symlinkSync('..data/tls.key', inScratch('tls.key'));
    return { certFile: inScratch('tls.crt'), keyFile: inScratch('tls.key') };
  }

  const never = { rereadMs: 1_000_000 };

  it('hands on the new pair of a mounted Secret, told by the file system', async () => {
    const second = await freshCertificate();
    const seen: CertificatePair[] = [];
    const files = mountFirst(await freshCertificate());
    const watching = watchCertificate(files, (pair) => seen.push(pair), recordingLog([]), never);
    mount(second, 'v2');
    await until(() => seen.length > 0);
    watching.close();
    expect(seen).toEqual([{ cert: second.cert, key: second.key }]);
  });

  it('keeps the last good pair while the files are bad, says so once, and takes the next good one', async () => {
    const second = await freshCertificate();
    const seen: CertificatePair[] = [];
    const log: Record<string, unknown>[] = [];
    const files = mountFirst(await freshCertificate());
    const watching = watchCertificate(files, (pair) => seen.push(pair), recordingLog(log), { rereadMs: 5 });
    mount({ cert: second.cert, key: 'half a k' }, 'v2');
    await until(() => log.length > 0);
    expect(log).toEqual([expect.objectContaining({ level: 40, reason: expect.stringContaining(files.keyFile) })]);
    expect(seen).toEqual([]);
    mount(second, 'v3');
    await until(() => seen.length > 0);
    watching.close();
    expect(log.filter(({ level }) => level === 40)).toHaveLength(1);
    expect(seen).toEqual([{ cert: second.cert, key: second.key }]);
  });

  it('finds a change that the file system did not tell, by reading again', async () => {
    const pair = await freshCertificate();
    const later = inScratch('later');
    const files = { certFile: join(later, 'tls.crt'), keyFile: join(later, 'tls.key') };
    const seen: CertificatePair[] = [];
    const watching = watchCertificate(files, (next) => seen.push(next), recordingLog([]), { rereadMs: 5 });
    mkdirSync(later);
    writeFileSync(files.keyFile, pair.key);
    writeFileSync(files.certFile, pair.cert);
    await until(() => seen.length > 0);
    watching.close();
    expect(seen).toEqual([{ cert: pair.cert, key: pair.key }]);
  });

  it('notices a change that happened between loading and watching', async () => {
    const files = mountFirst(await freshCertificate());
    const served = loadCertificate(files);
    const second = await freshCertificate();
    mount(second, 'v2');
    const seen: CertificatePair[] = [];
    const watching = watchCertificate(files, (pair) => seen.push(pair), recordingLog([]), { served, rereadMs: 5 });
    await until(() => seen.length > 0);
    watching.close();
    expect(seen[0]?.cert).toBe(second.cert);
  });

  it('survives the loss of its folder and a consumer that throws', async () => {
    const files = mountFirst(await freshCertificate());
    const log: Record<string, unknown>[] = [];
    let calls = 0;
    const failing = (): void => {
      calls += 1;
      throw new Error('not this one');
    };
    const watching = watchCertificate(files, failing, recordingLog(log), { rereadMs: 5 });
    mount(await freshCertificate(), 'v2');
    await until(() => calls > 1);
    chmodSync(scratch.path, 0o700);
    scratch.remove();
    await until(() => log.some(({ reason }) => String(reason).includes('ENOENT')));
    watching.close();
    expect(log.filter(({ reason }) => reason === 'not this one')).toHaveLength(1);
  });
});
