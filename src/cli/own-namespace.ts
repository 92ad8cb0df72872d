import { readFileSync } from 'node:fs';

const NAMESPACE_FILE = '/var/run/secrets/kubernetes.io/serviceaccount/namespace';

/** The namespace that this process belongs to: as given, else its Pod's (by service account or POD_NAMESPACE), else `rendergate`. */
export function ownNamespace(given: string | undefined): string {
  if (given !== undefined) return given;
  return ofServiceAccount() ?? process.env['POD_NAMESPACE'] ?? 'rendergate';
}

function ofServiceAccount(): string | undefined {
  try {
    return readFileSync(NAMESPACE_FILE, 'utf8').trim() || undefined;
  } catch {
    return undefined;
  }
}
