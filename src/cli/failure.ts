import { ManifestPathError } from '../cluster/manifest-directory.js';
import { ConfigError } from '../config/render-config.js';

/** The command was called wrongly; its message says how to call it. */
export class UsageError extends Error {
  override readonly name = 'UsageError';
  readonly code = 'USAGE';
}

/** Codes of errors whose message is written for a person; of any other the name is given too. */
const KNOWN_CODES: ReadonlySet<string> = new Set([
  'USAGE',
  'CONFIG_INVALID',
  'CONFIG_TOO_LARGE',
  'MANIFESTS_UNREADABLE',
  'TEMPLATE_INVALID',
  'CERTIFICATE_UNUSABLE',
]);

/** Prints an error as kubectl does, on stderr, and gives the exit code. */
export function reportFailure(error: unknown, exitCode: number): number {
  if (error instanceof ConfigError) {
    const count = error.diagnostics.length;
    process.stderr.write(`error: the configuration has ${count} mistake${count === 1 ? '' : 's'}\n${error.message}\n`);
    return 2;
  }
  if (error instanceof ManifestPathError) {
    process.stderr.write(`error: ${error.message}\n`);
    return 2;
  }
  const { message, code } =
    error instanceof Error ? (error as Error & { code?: string }) : { message: String(error), code: undefined };
  const known = code !== undefined && KNOWN_CODES.has(code);
  process.stderr.write(`error: ${known ? '' : `${error instanceof Error ? error.name : 'unexpected'}: `}${message}\n`);
  return code === 'TEMPLATE_INVALID' ? 2 : exitCode;
}
