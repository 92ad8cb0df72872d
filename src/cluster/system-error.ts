/** `ENOENT` and the like; the error's text where it has no code. */
export function systemErrorCode(error: unknown): string {
  const code: unknown = typeof error === 'object' && error !== null && 'code' in error ? error.code : undefined;
  return typeof code === 'string' ? code : String(error);
}
