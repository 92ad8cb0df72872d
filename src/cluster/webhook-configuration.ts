import type { ApiClient } from './api-client.js';
import { ApiError } from './api-error.js';

/** One of `rules` of a webhook, as the API server knows it. */
export interface WebhookRule {
  readonly apiGroups: readonly string[];
  readonly apiVersions: readonly string[];
  readonly operations: readonly string[];
  readonly resources: readonly string[];
  /** Default: `*`. */
  readonly scope?: 'Cluster' | 'Namespaced' | '*';
}

export interface WebhookConfiguration {
  readonly metadata: { readonly name: string; readonly uid: string; readonly resourceVersion: string };
  readonly webhooks?: readonly {
    readonly name: string;
    readonly clientConfig?: { readonly caBundle?: string };
  }[];
}

/** Our entry in the configuration. */
export const WEBHOOK_NAME = 'validate.rendergate.dev';
export const CONFIGURATION = {
  apiVersion: 'admissionregistration.k8s.io/v1',
  kind: 'ValidatingWebhookConfiguration',
  resource: 'validatingwebhookconfigurations',
} as const;

export function configurationPath(name: string): string {
  return `/apis/${CONFIGURATION.apiVersion}/${CONFIGURATION.resource}/${name}`;
}

/** Undefined: there is none. Throws ApiError. */
export async function readConfiguration(
  client: ApiClient,
  name: string,
  signal: AbortSignal,
): Promise<WebhookConfiguration | undefined> {
  try {
    return await client.json<WebhookConfiguration>({ path: configurationPath(name), signal });
  } catch (error) {
    if (error instanceof ApiError && error.status === 404) return undefined;
    throw error;
  }
}

/** PEM that the API server trusts when it calls our webhook; undefined: nothing is registered. Throws ApiError. */
export async function readRegisteredBundle(
  client: ApiClient,
  name: string,
  signal: AbortSignal,
): Promise<string | undefined> {
  const found = await readConfiguration(client, name, signal);
  const entry = found?.webhooks?.find((webhook) => webhook.name === WEBHOOK_NAME);
  return entry === undefined ? undefined : Buffer.from(entry.clientConfig?.caBundle ?? '', 'base64').toString('utf8');
}
