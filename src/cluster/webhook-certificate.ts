import type { Logger } from 'pino';
import type { ApiClient } from './api-client.js';
import { ApiError } from './api-error.js';
import { Backoff } from './backoff.js';
import { Bell } from './bell.js';
import { type CertificatePair, certificateWarnings, checkPair } from './certificate-pair.js';
import { Rotation, type RotationStep } from './certificate-rotation.js';
import { followObject } from './follow-object.js';
import type { Reflector } from './reflector.js';
import { SaidOnce } from './said-once.js';
import {
  anchorOf,
  certificatesIn,
  contentOf,
  dataOf,
  expiryOf,
  OWN_LABEL,
  ownerOf,
  type TlsContent,
  type TlsSecret,
} from './tls-secret.js';
import { readRegisteredBundle } from './webhook-configuration.js';

export interface WebhookCertificateOptions {
  readonly client: ApiClient;
  readonly namespace: string;
  /** The Service by which the API server calls. */
  readonly service: string;
  /** The Secret of type kubernetes.io/tls. */
  readonly secret: string;
  readonly log: Logger;
  /**
   * Called with each new usable content of the Secret, also when the bundle alone has changed. If it throws, the content
   * is not taken.
   */
  readonly onPair?: (pair: CertificatePair, caBundle: string) => void;
  /** Name of the ValidatingWebhookConfiguration whose caBundle must know a CA before its certificate is used. */
  readonly configuration?: string;
  /** How long a new certificate is good. Default: a year. It is renewed when a third of this is left. */
  readonly lifetimeMs?: number;
  /** After this all API servers and replicas know what was written. Default: 5 minutes, far below a third of the lifetime. */
  readonly propagationMs?: number;
  /** Wall clock, milliseconds since 1970. */
  readonly clock?: () => number;
}

const YEAR_MS = 365 * 24 * 60 * 60 * 1000;
/** A watch that was lost silently is found after two and a half minutes. */
const PROPAGATION_MS = 5 * 60 * 1000;
/** The leader looks at the clock at least this often. */
const LOOK_MS = 60_000;

/**
 * The certificate of the webhook, from a Secret that all replicas share. Each replica follows it and keeps the last good
 * pair; the leader makes it, and renews it without a failed handshake (see Rotation). A Secret of cert-manager or of
 * anybody else is served as it is and never written. To renew at once, delete the Secret: calls go on meanwhile, and the
 * old CA is out of the bundle after about twice `propagationMs`.
 */
export class WebhookCertificate {
  readonly #options: Required<WebhookCertificateOptions>;
  readonly #calledName: string;
  readonly #secretName: string;
  readonly #reflector: Reflector;
  readonly #closing = new AbortController();
  readonly #changed = new Bell();
  readonly #said = new SaidOnce();
  #stored: TlsSecret | undefined;
  #held: TlsContent | undefined;
  #leading: Promise<void> = Promise.resolve();
  #toReady: (pair: CertificatePair) => void = () => undefined;
  /** Resolves with the first usable pair, which may be long after the start: a leader has to make it. */
  readonly ready = new Promise<CertificatePair>((resolve) => (this.#toReady = resolve));

  constructor(options: WebhookCertificateOptions) {
    this.#options = {
      ...{ onPair: () => undefined, configuration: 'rendergate', clock: Date.now },
      ...{ lifetimeMs: YEAR_MS, propagationMs: PROPAGATION_MS },
      ...options,
    };
    const { client, namespace, service, secret, log } = this.#options;
    this.#calledName = `${service}.${namespace}.svc`;
    this.#secretName = `${namespace}/${secret}`;
    this.#reflector = followObject<TlsSecret>({
      ...{ client, log, untilListed: 'without a known certificate no review is answered' },
      object: { apiVersion: 'v1', kind: 'Secret', resource: 'secrets', name: secret, namespace },
      onObject: (stored) => this.#take(stored),
    });
  }

  /** The pair in use; undefined until there was one. */
  get pair(): CertificatePair | undefined {
    return this.#held?.pair;
  }

  /** The CAs to trust, PEM. Empty when the Secret's owner names none: then the system's CAs count. */
  get caBundle(): string | undefined {
    return this.#held?.bundle.join('');
  }

  start(): void {
    this.#reflector.start();
  }

  /** Makes and renews the certificate until the term ends. Never rejects. */
  lead(term: AbortSignal): Promise<void> {
    const signal = AbortSignal.any([term, this.#closing.signal]);
    return (this.#leading = this.#leading.then(() => this.#lead(signal)));
  }

  async close(): Promise<void> {
    this.#closing.abort();
    await Promise.all([this.#reflector.close(), this.#leading]);
  }

  #take(stored: TlsSecret | undefined): void {
    this.#stored = stored;
    this.#changed.ring();
    if (stored === undefined) return this.#missing();
    const content = contentOf(stored);
    const problem = this.#problemOf(stored, content) ?? this.#handOver(content);
    if (problem === undefined) this.#said.over('content');
    else if (this.#said.isNews('content', problem)) this.#notUsed(stored, problem);
  }

  #missing(): void {
    const { log } = this.#options;
    if (!this.#said.isNews('content', 'missing')) return;
    const fields = { secret: this.#secretName, next: 'the leader makes one' };
    if (this.#held === undefined) log.info(fields, 'waiting for the TLS Secret');
    else log.warn(fields, 'the TLS Secret was deleted: its last good pair stays in use');
  }

  #problemOf(stored: TlsSecret, { pair, bundle }: TlsContent): string | undefined {
    const outcome = checkPair(pair);
    if (outcome.kind === 'bad') {
      return `${outcome.which === 'key' ? 'tls.key' : 'tls.crt'}: ${outcome.problem}`;
    }
    if (expiryOf(pair.cert) <= this.#options.clock()) return 'tls.crt: it has expired';
    if (ownerOf(stored) === 'rendergate' && anchorOf(pair.cert, bundle) === undefined)
      return 'ca.crt: it does not hold the CA that has signed tls.crt';
    return undefined;
  }

  #notUsed(stored: TlsSecret, problem: string): void {
    const isOwn = ownerOf(stored) === 'rendergate';
    const fields = {
      secret: this.#secretName,
      problem,
      effect: this.#held === undefined ? 'no review is answered over TLS' : 'the last good pair stays in use',
      fix: isOwn
        ? 'none needed: the leader replaces it'
        : `put a valid certificate and its key there, or delete the Secret and the leader makes one`,
    };
    this.#options.log.warn(fields, 'the TLS Secret is not used');
  }

  /** What the receiver says against the content; undefined: it was taken. */
  #handOver(content: TlsContent): string | undefined {
    const { log, onPair } = this.#options;
    const { pair, bundle } = content;
    const isSame =
      this.#held?.pair.cert === pair.cert && this.#held.pair.key === pair.key && this.caBundle === bundle.join('');
    if (isSame) return undefined;
    try {
      onPair(pair, bundle.join(''));
    } catch (error) {
      return error instanceof Error ? error.message : String(error);
    }
    if (this.#held?.pair.cert !== pair.cert) this.#warn(content);
    this.#held = content;
    const validTo = new Date(expiryOf(pair.cert)).toISOString();
    log.info({ secret: this.#secretName, validTo, authorities: bundle.length }, 'TLS certificate in use');
    this.#toReady(pair);
    return undefined;
  }

  #warn({ pair, bundle }: TlsContent): void {
    const warnings = [...certificateWarnings(pair.cert, [this.#calledName], new Date(this.#options.clock()))];
    if (bundle.length > 0 && anchorOf(pair.cert, bundle) === undefined)
      warnings.push('ca.crt does not hold the CA that has signed it');
    if (warnings.length === 0) return;
    const fields = {
      secret: this.#secretName,
      warnings,
      effect: 'the API server refuses the connection, and with it every request that is to be reviewed',
      fix: `let the Secret hold a certificate for ${this.#calledName}, and its CA in ca.crt`,
    };
    this.#options.log.warn(fields, 'the API server will not accept the TLS certificate');
  }

  async #lead(signal: AbortSignal): Promise<void> {
    const { service, namespace, lifetimeMs, propagationMs } = this.#options;
    const name = this.#calledName;
    // Loopback for `kubectl port-forward`, and an API server that calls by URL on the same machine.
    const names = [name, `${name}.cluster.local`, `${service}.${namespace}`, service, 'localhost', '127.0.0.1', '::1'];
    const rotation = new Rotation({ names, calledName: name, lifetimeMs, propagationMs });
    const backoff = new Backoff();
    while (!signal.aborted) {
      let waitMs: number;
      try {
        waitMs = await this.#step(rotation, signal);
        backoff.reset();
      } catch (error) {
        if (signal.aborted) return;
        waitMs = this.#failed(error, backoff);
      }
      await this.#changed.wait(Math.min(waitMs, LOOK_MS), signal);
    }
  }

  /** How long there is nothing to do, unless the Secret changes. */
  async #step(rotation: Rotation, signal: AbortSignal): Promise<number> {
    const stored = this.#stored;
    if (!this.#reflector.isListed) return LOOK_MS;
    if (stored !== undefined && ownerOf(stored) !== 'rendergate') return this.#leaveAlone(stored);
    this.#said.over('owner');
    const { client, clock, configuration } = this.#options;
    const step = await rotation.step({
      stored: stored === undefined ? undefined : contentOf(stored),
      held: this.#held,
      trusted: async () => {
        const bundle = await readRegisteredBundle(client, configuration, signal);
        return bundle === undefined ? undefined : certificatesIn(bundle);
      },
      now: clock(),
      elapsed: performance.now(),
    });
    if (step.kind === 'wait') return this.#waited(step);
    signal.throwIfAborted();
    await this.#write(stored, step.content, signal);
    this.#said.over('write');
    this.#options.log.info({ secret: this.#secretName, step: step.what }, 'TLS Secret written');
    // The watch brings it back.
    return LOOK_MS;
  }

  #leaveAlone(stored: TlsSecret): number {
    const owner = ownerOf(stored);
    if (this.#said.isNews('owner', owner)) {
      const by = owner === 'cert-manager' ? 'cert-manager' : 'somebody else (it has not our label)';
      const fix = 'to have rendergate make and renew one, delete the Secret';
      this.#options.log.info({ secret: this.#secretName, by, fix }, 'the TLS Secret is kept by others: only served');
    }
    return LOOK_MS;
  }

  #waited({ ms, untrusted }: RotationStep & { readonly kind: 'wait' }): number {
    const { log, configuration } = this.#options;
    if (untrusted === undefined) this.#said.over('untrusted');
    else if (this.#said.isNews('untrusted', 'yes'))
      log.info({ configuration }, 'the new certificate is used when the webhook configuration trusts its CA');
    return ms;
  }

  /** Guarded by the revision: what another leader, or anybody, has written meanwhile is not lost. */
  async #write(stored: TlsSecret | undefined, content: TlsContent, signal: AbortSignal): Promise<void> {
    const { client, namespace, secret: name } = this.#options;
    const path = `/api/v1/namespaces/${namespace}/secrets`;
    const query = { fieldManager: 'rendergate' };
    if (stored === undefined) {
      const data = Object.fromEntries(Object.entries(dataOf(content)).filter(([, value]) => value !== null));
      const metadata = { name, namespace, labels: OWN_LABEL };
      const body = { apiVersion: 'v1', kind: 'Secret', type: 'kubernetes.io/tls', metadata, data };
      await client.json({ method: 'POST', path, query, body, signal });
      return;
    }
    const body = { metadata: { resourceVersion: stored.metadata.resourceVersion }, data: dataOf(content) };
    const contentType = 'application/merge-patch+json';
    await client.json({ method: 'PATCH', path: `${path}/${name}`, query, body, contentType, signal });
  }

  #failed(error: unknown, backoff: Backoff): number {
    const waitMs = backoff.next();
    const problem = error instanceof Error ? error.message : String(error);
    const { log, configuration } = this.#options;
    const status = error instanceof ApiError ? error.status : undefined;
    if (status === 409) log.debug({ problem }, 'the TLS Secret was written by another: looked at again');
    else if (this.#said.isNews('write', problem)) {
      const fix = `give the service account create on Secrets in its namespace, get, list, watch and patch on ${this.#secretName}, and get on the ValidatingWebhookConfiguration ${configuration}`;
      const effect = this.#held === undefined ? 'there is no TLS certificate' : 'the TLS certificate is not renewed';
      log.error({ problem, effect, ...(status === 403 ? { fix } : {}) }, 'the TLS Secret cannot be kept');
    }
    return waitMs;
  }
}
