import { randomUUID } from 'node:crypto';
import { hostname } from 'node:os';
import type { Logger } from 'pino';
import type { ApiClient } from '../cluster/api-client.js';
import type { CertificatePair } from '../cluster/certificate-pair.js';
import type { Leadership } from '../cluster/leadership.js';
import type { WebhookCertificate } from '../cluster/webhook-certificate.js';
import type { RenderConfig } from '../config/render-config.js';
import { NAME } from '../install/manifest.js';
import { reviewRules } from '../install/webhook.js';
import type { HealthCheck } from '../server/contract.js';
import { UsageError } from './failure.js';
import { ownNamespace } from './own-namespace.js';

export interface DutyFlags {
  readonly namespace?: string;
  readonly service?: string;
  /** One of several replicas: only the one that holds the Lease publishes and writes. */
  readonly leaderElect?: boolean;
  /** The certificate is kept in this Secret, and its CA in the webhook's registration. */
  readonly tlsSecret?: string;
}

type TermListener = (term: AbortSignal) => void;

/**
 * What a replica does in the cluster besides reviewing: it is elected, and while it leads it keeps the certificate and
 * the registration of the webhook (DESIGN 9). Without an election it leads from the start.
 */
export class ClusterDuties {
  #term: AbortSignal | undefined;
  readonly #listeners: TermListener[] = [];
  readonly #closing = new AbortController();
  /** Takes each new pair into use; throws for one that can't be. */
  onPair: (pair: CertificatePair) => void = () => undefined;

  constructor(
    private readonly leadership: Leadership | undefined,
    public certificate: WebhookCertificate | undefined,
  ) {}

  get isElected(): boolean {
    return this.leadership !== undefined;
  }

  /** Entries of /readyz: a follower is as ready as the leader. */
  get checks(): readonly HealthCheck[] {
    const { leadership } = this;
    if (leadership === undefined) return [];
    const note = (): string =>
      leadership.isLeader ? 'leader' : `follower of ${leadership.holder ?? leadership.problem ?? 'nobody yet'}`;
    return [{ name: 'leadership', check: () => ({ ok: true, note: note() }) }];
  }

  /** Told of the running term, and of each that follows. */
  eachTerm(listener: TermListener): void {
    this.#listeners.push(listener);
    if (this.#term !== undefined && !this.#term.aborted) listener(this.#term);
  }

  /** The first certificate: a leader may have to make it. */
  get ready(): Promise<CertificatePair> {
    if (this.certificate === undefined) throw new Error('there is no certificate without --tls-secret');
    return this.certificate.ready;
  }

  /** Takes part in the election. */
  start(): void {
    if (this.leadership === undefined) this.#begin(this.#closing.signal);
    else this.leadership.start((term) => this.#begin(term));
  }

  /** Ends the term and gives the Lease back. */
  async close(): Promise<void> {
    this.#closing.abort();
    await this.leadership?.close();
    await this.certificate?.close();
  }

  #begin(term: AbortSignal): void {
    this.#term = term;
    for (const listener of this.#listeners) listener(term);
  }
}

/** Throws UsageError where flags do not go together. */
export async function openDuties(
  config: RenderConfig,
  flags: DutyFlags,
  client: ApiClient | undefined,
  log: Logger,
): Promise<ClusterDuties> {
  const { leaderElect = false, tlsSecret } = flags;
  if (!leaderElect && tlsSecret === undefined) return new ClusterDuties(undefined, undefined);
  if (client === undefined) throw new UsageError('--leader-elect and --tls-secret need a cluster: give --kube');
  const namespace = ownNamespace(flags.namespace);
  const duties = new ClusterDuties(leaderElect ? await leadershipIn(namespace, client, log) : undefined, undefined);
  if (tlsSecret !== undefined) await keepRegistered(duties, config, { ...flags, namespace, tlsSecret }, client, log);
  duties.certificate?.start();
  return duties;
}

async function leadershipIn(namespace: string, client: ApiClient, log: Logger): Promise<Leadership> {
  const { Leadership } = await import('../cluster/leadership.js');
  const identity = `${process.env['POD_NAME'] ?? hostname()}_${randomUUID().slice(0, 8)}`;
  return new Leadership({ client, namespace, name: NAME, identity, log });
}

async function keepRegistered(
  duties: ClusterDuties,
  config: RenderConfig,
  { namespace, service, tlsSecret: secret }: DutyFlags & { readonly namespace: string; readonly tlsSecret: string },
  client: ApiClient,
  log: Logger,
): Promise<void> {
  if (service === undefined) throw new UsageError('--tls-secret needs --service: the certificate is for its name');
  const { WebhookCertificate } = await import('../cluster/webhook-certificate.js');
  const { WebhookRegistration } = await import('../cluster/webhook-registration.js');
  const registration = new WebhookRegistration({ client, rules: reviewRules(config), log });
  const certificate = new WebhookCertificate({
    ...{ client, namespace, service, secret, log },
    onPair: (pair, caBundle) => {
      duties.onPair(pair);
      registration.trust(caBundle);
    },
  });
  duties.certificate = certificate;
  duties.eachTerm((term) => {
    void certificate.lead(term);
    if (config.watchedResources.some(({ review }) => review)) void registration.lead(term);
  });
}
