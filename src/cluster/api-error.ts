/** An answer of the API server that is no success, as its Status object tells it. */
export class ApiError extends Error {
  override readonly name = 'ApiError';
  readonly code = 'API_REFUSED';

  constructor(
    readonly status: number,
    message: string,
    /** Milliseconds after which the server wants to be asked again. */
    readonly retryAfterMs?: number,
  ) {
    super(message);
  }
}

const MAX_MESSAGE = 300;

/** What an answer with an error says: `GET /apis/...: 403: ingresses is forbidden: ...`. */
export function apiError(call: string, status: number, body: string, retryAfter?: string): ApiError {
  const seconds = Number(retryAfter);
  const said = statusMessage(body) ?? body;
  return new ApiError(
    status,
    `${call}: ${status}: ${said.replace(/\s+/g, ' ').trim().slice(0, MAX_MESSAGE)}`,
    retryAfter !== undefined && seconds >= 0 ? seconds * 1_000 : undefined,
  );
}

function statusMessage(body: string): string | undefined {
  try {
    const { message } = JSON.parse(body) as { readonly message?: unknown };
    return typeof message === 'string' ? message : undefined;
  } catch {
    return undefined;
  }
}
