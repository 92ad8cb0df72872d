import { X509Certificate } from 'node:crypto';
import { covers } from './certificate-pair.js';
import { issueCertificate } from './issue-certificate.js';
import { anchorOf, expiryOf, goodUntil, type TlsContent } from './tls-secret.js';

export interface RotationOptions {
  /** DNS names and addresses of new certificates. */
  readonly names: readonly string[];
  /** The name that the API server calls: a certificate without it is no good. */
  readonly calledName: string;
  readonly lifetimeMs: number;
  /** After this, every API server knows a changed caBundle, and every replica a changed Secret. */
  readonly propagationMs: number;
}

export interface RotationView {
  /** The Secret's content; undefined: there is no Secret. */
  readonly stored: TlsContent | undefined;
  /** The last good content, which is being served. */
  readonly held: TlsContent | undefined;
  /** The CAs that the API server trusts for us now; undefined: it does not call us. Asked for only when it matters. */
  readonly trusted: () => Promise<readonly string[] | undefined>;
  /** Wall clock, milliseconds since 1970. */
  readonly now: number;
  /** A clock that nobody sets, milliseconds. */
  readonly elapsed: number;
}

export type RotationStep =
  | { readonly kind: 'write'; readonly what: string; readonly content: TlsContent }
  | { readonly kind: 'wait'; readonly ms: number; readonly untrusted?: true };

/** A certificate is renewed when this part of its lifetime is left. */
const RENEW_AT = 1 / 3;

/**
 * What a leader is to do next, from the Secret's content alone, so that any leader can go on where another was killed:
 *
 * 1. announce: a new CA joins the bundle, and the pair that it has signed is laid beside the one in use (`next`);
 * 2. swap: `next` is used, after the API server has trusted its CA for `propagationMs`;
 * 3. retire: the CAs other than that of the pair in use leave the bundle, `propagationMs` after the swap.
 *
 * At any time each pair that anybody may still serve is vouched for by each bundle that anybody may still trust. Waiting
 * times are not stored: one of these serves one term, and a new leader waits anew.
 */
export class Rotation {
  #waitsFor: string | undefined;
  #since = 0;

  constructor(private readonly options: RotationOptions) {}

  async step(view: RotationView): Promise<RotationStep> {
    const { stored, held, now } = view;
    const base = [stored, held].find(
      (content) => content !== undefined && this.#leftMs(content, content.pair, now) > 0,
    );
    if (base === undefined) return this.#fromNothing(stored, now);
    // Deleted or damaged while it was served: the pair in use is put back, and replaced without a failed call.
    if (base !== stored) return this.#announce(base, view);
    const renewMs = this.options.lifetimeMs * RENEW_AT;
    const { next, bundle } = base;
    if (next !== undefined && this.#leftMs(base, next, now) > renewMs) return this.#swapWhenTrusted(base, next, view);
    const restMs = this.#leftMs(base, base.pair, now) - renewMs;
    if (restMs <= 0) return this.#announce(base, view);
    if (next !== undefined || bundle.length > 1) return this.#retireWhenUnused(base, view);
    return { kind: 'wait', ms: restMs };
  }

  /** No call can succeed as things are, so nothing is lost by being quick. */
  async #fromNothing(stored: TlsContent | undefined, now: number): Promise<RotationStep> {
    if (stored?.next !== undefined && this.#leftMs(stored, stored.next, now) > 0)
      return { kind: 'write', what: 'replaced by the next one', content: swapped(stored, stored.next) };
    const { cert, key, ca } = await this.#issue(now);
    return { kind: 'write', what: 'issued', content: { pair: { cert, key }, bundle: [ca] } };
  }

  async #announce(base: TlsContent, { stored, now }: RotationView): Promise<RotationStep> {
    const { cert, key, ca } = await this.#issue(now);
    const own = anchorOf(base.pair.cert, base.bundle);
    // A `next` that the Secret still holds was never served; one that is only remembered may have been.
    const stale = base.next === undefined || base !== stored ? undefined : anchorOf(base.next.cert, base.bundle);
    const kept = base.bundle.filter((pem) => pem === own || (pem !== stale && expiryOf(pem) > now));
    const content = { pair: base.pair, bundle: [...kept, ca], next: { cert, key } };
    return { kind: 'write', what: 'announced', content };
  }

  async #swapWhenTrusted(
    base: TlsContent,
    next: NonNullable<TlsContent['next']>,
    { trusted, elapsed }: RotationView,
  ): Promise<RotationStep> {
    const bundle = await trusted();
    const isTrusted = bundle === undefined || anchorOf(next.cert, bundle) !== undefined;
    if (isTrusted && this.#hasWaited(`swap ${next.cert}`, elapsed))
      return { kind: 'write', what: 'swapped', content: swapped(base, next) };
    if (isTrusted) return this.#waitOn();
    this.#waitsFor = undefined;
    return { ...this.#waitOn(), untrusted: true };
  }

  #retireWhenUnused({ pair, bundle }: TlsContent, { elapsed }: RotationView): RotationStep {
    if (!this.#hasWaited(`retire ${bundle.join('')}`, elapsed)) return this.#waitOn();
    const own = anchorOf(pair.cert, bundle);
    return { kind: 'write', what: 'old CA retired', content: { pair, bundle: own === undefined ? bundle : [own] } };
  }

  #hasWaited(what: string, elapsed: number): boolean {
    if (this.#waitsFor !== what) this.#since = elapsed;
    this.#waitsFor = what;
    return elapsed - this.#since >= this.options.propagationMs;
  }

  #waitOn(): RotationStep & { readonly kind: 'wait' } {
    return { kind: 'wait', ms: this.options.propagationMs / 10 };
  }

  #leftMs({ bundle }: TlsContent, pair: TlsContent['pair'], now: number): number {
    const until = goodUntil(pair, bundle);
    if (until === undefined || !covers(new X509Certificate(pair.cert), this.options.calledName)) return 0;
    return until - now;
  }

  #issue(now: number): ReturnType<typeof issueCertificate> {
    const { names, lifetimeMs } = this.options;
    return issueCertificate({ names, authority: 'rendergate CA', lifetimeMs, now });
  }
}

function swapped({ bundle }: TlsContent, next: TlsContent['pair']): TlsContent {
  return { pair: next, bundle };
}
