/** What the HTTPS server needs from the rest of the program. It knows nothing of rendering. */

export interface ReviewCall {
  /** The raw body, decoded as UTF-8. */
  readonly body: string;
  /** Value of `?timeout=` as sent, or undefined. */
  readonly timeout: string | undefined;
  /** `performance.now()` when the request's headers had arrived: deadlines count from here. */
  readonly receivedAt: number;
  /** Aborted when the caller's connection goes away. */
  readonly signal: AbortSignal;
}

export interface ReviewReply {
  readonly status: number;
  /** A JSON document. */
  readonly body: string;
}

/** Never rejects: every failure is a well-formed answer. */
export type ReviewHandler = (call: ReviewCall) => Promise<ReviewReply>;

/** One entry of /livez or /readyz. `note` is shown beside a healthy entry, `reason` says why it fails. */
export type HealthResult =
  { readonly ok: true; readonly note?: string } | { readonly ok: false; readonly reason: string };

export interface HealthCheck {
  readonly name: string;
  check(): HealthResult | Promise<HealthResult>;
  /** For `/readyz/<name>?own`: what this replica knows by itself. A check that asks other replicas gives them this. */
  own?(): HealthResult;
}
