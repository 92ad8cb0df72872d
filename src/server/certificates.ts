import { readFileSync, watch } from 'node:fs';
import { dirname } from 'node:path';

import type { Logger } from 'pino';

import { checkPair, codeOf } from '../cluster/certificate-pair.js';
import type { CertificatePair } from '../cluster/certificate-pair.js';

export { developmentCertificate } from './development-certificate.js';

export interface CertificateFiles {
  readonly certFile: string;
  readonly keyFile: string;
}

/** The message says which file, what is wrong with it, and what to do; it never quotes a file. */
export class CertificateError extends Error {
  readonly code = 'certificate';
}

/** Reads a pair that a server can use. Throws CertificateError. */
export function loadCertificate({ certFile, keyFile }: CertificateFiles): CertificatePair {
  const pair = { cert: readPem('certificate', certFile), key: readPem('key', keyFile) };
  const outcome = checkPair(pair);
  if (outcome.kind === 'ok') return pair;
  const file = outcome.which === 'certificate' ? certFile : keyFile;
  throw new CertificateError(message(outcome.which, file, outcome.problem));
}

function readPem(which: string, file: string): string {
  try {
    return readFileSync(file, 'utf8');
  } catch (cause) {
    throw new CertificateError(message(which, file, `it cannot be read (${codeOf(cause)})`), { cause });
  }
}

function message(which: string, file: string, problem: string): string {
  return `TLS ${which} file ${file}: ${problem}; it is not used; put a PEM certificate and its unencrypted PEM key there`;
}

export interface CertificateWatchOptions {
  /** The pair in use, so that a change between loading and watching is not missed; by default what the files hold now. */
  readonly served?: CertificatePair;
  readonly rereadMs?: number;
}

export interface CertificateWatch {
  close(): void;
}

/** Whatever the file system did not tell us is seen after this, milliseconds (controller-runtime's certwatcher: 10 s). */
const REREAD_MS = 10_000;
/** One replacement makes several events; a read between them would only find halves. */
const SETTLE_MS = 50;

/**
 * Calls `onChange` with each new usable pair. It watches the folders, since a mounted Secret is replaced by swapping a
 * symlink in them, and reads again every 10 s. After a bad read, or if `onChange` throws, the last good pair stays in
 * use; each problem is logged once.
 */
export function watchCertificate(
  files: CertificateFiles,
  onChange: (pair: CertificatePair) => void,
  log: Logger,
  { served, rereadMs = REREAD_MS }: CertificateWatchOptions = {},
): CertificateWatch {
  const reread = createReread(files, onChange, log, served);
  let settling: NodeJS.Timeout | undefined;
  const soon = (): void => {
    clearTimeout(settling);
    settling = setTimeout(reread, SETTLE_MS).unref();
  };
  const closers = foldersOf(files).map((folder) => watchFolder(folder, soon, log));
  const timer = setInterval(reread, rereadMs).unref();
  return {
    close() {
      clearInterval(timer);
      clearTimeout(settling);
      for (const close of closers) close();
    },
  };
}

function createReread(
  files: CertificateFiles,
  onChange: (pair: CertificatePair) => void,
  log: Logger,
  served: CertificatePair | undefined,
): () => void {
  let current = served ?? loadOrUndefined(files);
  let known: string | undefined;
  return () => {
    try {
      const next = loadCertificate(files);
      if (next.cert !== current?.cert || next.key !== current.key) {
        onChange(next);
        current = next;
        log.info({ certFile: files.certFile }, 'TLS certificate reloaded');
      }
      known = undefined;
    } catch (error) {
      const reason = error instanceof Error ? error.message : String(error);
      if (reason !== known) log.warn({ reason }, 'TLS certificate not reloaded: the last good one stays in use');
      known = reason;
    }
  };
}

function loadOrUndefined(files: CertificateFiles): CertificatePair | undefined {
  try {
    return loadCertificate(files);
  } catch {
    return undefined;
  }
}

function foldersOf({ certFile, keyFile }: CertificateFiles): readonly string[] {
  return [...new Set([dirname(certFile), dirname(keyFile)])];
}

/** A folder that can't be watched (missing, removed, no inotify left) is covered by the timed re-read. */
function watchFolder(folder: string, onEvent: () => void, log: Logger): () => void {
  const onFailure = (error: unknown): void => log.debug({ folder, err: error }, 'folder not watched, only re-read');
  try {
    const watcher = watch(folder, { persistent: false }, onEvent);
    watcher.on('error', onFailure);
    return () => watcher.close();
  } catch (error) {
    onFailure(error);
    return () => undefined;
  }
}
