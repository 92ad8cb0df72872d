import { readFileSync } from 'node:fs';

const NAMESPACE_FILE = '/var/run/secrets/kubernetes.io/serviceaccount/namespace';

/** The namespace that this process belongs to: as given, else its Pod's, else `rendergate`. */
export function ownNamespace(given: string | undefined): string {
  if (given !== undefined) return given;
  try {
    return readFileSync(NAMESPACE_FILE, 'utf8').trim() || 'rendergate';
  } catch {
    return 'rendergate';
  }
}
