import { setTimeout as delay } from 'node:timers/promises';
import type { Logger } from 'pino';
import type { ApiClient } from './api-client.js';
import { ApiError } from './api-error.js';
import { Backoff } from './backoff.js';
import { Bell } from './bell.js';
import { followObject } from './follow-object.js';
import { SaidOnce } from './said-once.js';
import {
  CONFIGURATION,
  configurationPath,
  readConfiguration,
  WEBHOOK_NAME,
  type WebhookConfiguration,
  type WebhookRule,
} from './webhook-configuration.js';

export interface WebhookRegistrationOptions {
  readonly client: ApiClient;
  /** What the API server is to send for review, in the order of the install manifests. */
  readonly rules: readonly WebhookRule[];
  readonly log: Logger;
  /** Name of the ValidatingWebhookConfiguration. Default: `rendergate`. */
  readonly configuration?: string;
}

/** The watch tells each change; this is for what it could not tell. */
const LOOK_MS = 60_000;
/** Whoever writes the same fields again and again is not answered faster. */
const QUARREL_MS = 5_000;
const INSTALL = 'rendergate manifests | kubectl apply -f -';

/**
 * Keeps the CA bundle and the rules of our entry in the ValidatingWebhookConfiguration, and nothing else of it, by
 * server-side apply. What others make of these two fields is reported and put back. It is never created here: who deletes
 * it, or has not installed it yet, wants no reviews.
 */
export class WebhookRegistration {
  readonly #name: string;
  readonly #changed = new Bell();
  readonly #said = new SaidOnce();
  #caBundle: string | undefined;

  constructor(private readonly options: WebhookRegistrationOptions) {
    this.#name = options.configuration ?? 'rendergate';
  }

  /** PEM of the CAs that the API server is to trust from now on. Empty: the caBundle is left to others. */
  trust(caBundle: string): void {
    this.#caBundle = caBundle;
    this.#changed.ring();
  }

  /** Keeps the configuration until the term ends; nothing is written before `trust` was called. Never rejects. */
  async lead(term: AbortSignal): Promise<void> {
    const { client, log } = this.options;
    const watch = followObject<WebhookConfiguration>({
      ...{ client, log, untilListed: 'changes of the webhook configuration are seen once a minute only' },
      object: { ...CONFIGURATION, name: this.#name },
      onObject: () => this.#changed.ring(),
    });
    watch.start();
    const backoff = new Backoff();
    while (!term.aborted) {
      let waitMs = LOOK_MS;
      try {
        await this.#keep(term);
        backoff.reset();
      } catch (error) {
        if (!term.aborted) waitMs = this.#failed(error, backoff);
      }
      await this.#changed.wait(waitMs, term);
    }
    await watch.close();
  }

  async #keep(term: AbortSignal): Promise<void> {
    const caBundle = this.#caBundle;
    if (caBundle === undefined) return;
    const found = await readConfiguration(this.options.client, this.#name, term);
    const missing = this.#missingPart(found);
    if (found === undefined || missing !== undefined) return this.#reportMissing(missing ?? '');
    this.#said.over('missing');
    const isForced = await this.#apply(found, caBundle, term);
    this.#said.over('failure');
    if (isForced) await delay(QUARREL_MS, undefined, { signal: term });
  }

  #missingPart(found: WebhookConfiguration | undefined): string | undefined {
    if (found === undefined) return `there is no ${CONFIGURATION.kind} ${this.#name}`;
    if (found.webhooks?.some(({ name }) => name === WEBHOOK_NAME)) return undefined;
    return `the ${CONFIGURATION.kind} ${this.#name} has no webhook ${WEBHOOK_NAME}`;
  }

  #reportMissing(problem: string): void {
    if (!this.#said.isNews('missing', problem)) return;
    const effect = 'the API server sends nothing for review';
    this.options.log.warn({ problem, effect, fix: INSTALL }, 'the webhook is not registered');
  }

  /** Whether fields had to be taken back from somebody. */
  async #apply(found: WebhookConfiguration, caBundle: string, term: AbortSignal): Promise<boolean> {
    try {
      await this.#patch(found, caBundle, false, term);
      this.#said.over('conflict');
      return false;
    } catch (error) {
      if (!(error instanceof ApiError && error.status === 409 && error.message.includes('conflict with'))) throw error;
      this.#reportConflict(error.message);
      await this.#patch(found, caBundle, true, term);
      return true;
    }
  }

  /**
   * The least that the API server accepts for a change of an entry that is there: its key and our fields. The uid makes
   * it refuse, instead of creating the object, when it was deleted meanwhile. A scope that is not given conflicts with
   * the default of the installed one.
   */
  async #patch(found: WebhookConfiguration, caBundle: string, isForced: boolean, signal: AbortSignal): Promise<void> {
    const { uid, resourceVersion } = found.metadata;
    const { apiVersion, kind } = CONFIGURATION;
    const clientConfig = { caBundle: Buffer.from(caBundle).toString('base64') };
    const rules = this.options.rules.map((rule) => ({ scope: '*', ...rule }));
    const webhook = { name: WEBHOOK_NAME, ...(caBundle === '' ? {} : { clientConfig }), rules };
    const { metadata } = await this.options.client.json<WebhookConfiguration>({
      method: 'PATCH',
      path: configurationPath(this.#name),
      query: { fieldManager: 'rendergate', ...(isForced ? { force: 'true' } : {}) },
      contentType: 'application/apply-patch+yaml',
      body: { apiVersion, kind, metadata: { name: this.#name, uid }, webhooks: [webhook] },
      signal,
    });
    if (metadata.resourceVersion === resourceVersion) return;
    this.options.log.info({ configuration: this.#name, rules: rules.length }, 'webhook registered');
  }

  #reportConflict(problem: string): void {
    if (!this.#said.isNews('conflict', problem)) return;
    const fix = `install the manifests of this version and configuration (${INSTALL}), and let nothing else set caBundle or rules (with cert-manager: remove the annotation cert-manager.io/inject-ca-from)`;
    const effect = 'its caBundle and rules are put back';
    this.options.log.warn({ problem, effect, fix }, 'the webhook configuration was changed by another');
  }

  #failed(error: unknown, backoff: Backoff): number {
    const problem = error instanceof Error ? error.message : String(error);
    if (this.#said.isNews('failure', problem)) {
      const isForbidden = error instanceof ApiError && error.status === 403;
      const fix = `give the service account get, list, watch and patch on the ${CONFIGURATION.kind} ${this.#name}`;
      const effect = 'the API server may not trust a new certificate, or not send all changes for review';
      this.options.log.error(
        { problem, effect, ...(isForbidden ? { fix } : {}) },
        'the webhook is not kept registered',
      );
    }
    return backoff.next();
  }
}
