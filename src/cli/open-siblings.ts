import type { Logger } from 'pino';
import type { ApiClient } from '../cluster/api-client.js';
import type { Siblings } from '../cluster/siblings.js';
import { UsageError } from './failure.js';
import { ownNamespace } from './own-namespace.js';

export interface SiblingFlags {
  readonly namespace?: string;
  /** Service of the replicas; undefined: there is only this one, and nobody is asked. */
  readonly service?: string;
  readonly port: number;
}

/**
 * Whom this replica asks while it is cold (decision 0029, 4); undefined without `--service`. Throws UsageError where they
 * can't be found.
 */
export async function openSiblings(
  flags: SiblingFlags,
  client: ApiClient | undefined,
  ca: () => string | undefined,
  log: Logger,
): Promise<Siblings | undefined> {
  const { service, port } = flags;
  if (service === undefined) return undefined;
  if (client === undefined)
    throw new UsageError('--service needs --kube: the API server tells the addresses of the replicas');
  if (port === 0) throw new UsageError('--service needs a fixed --port: all replicas listen on the same one');
  const { Siblings } = await import('../cluster/siblings.js');
  const namespace = ownNamespace(flags.namespace);
  const ownAddress = process.env['POD_IP'];
  return new Siblings({
    ...{ client, namespace, service, ownAddress, ca, port, log },
    serverName: serverName(service, namespace),
  });
}

/** What the certificate has to be valid for, so that the API server and the siblings take it. */
export function serverNames({ service, namespace }: Pick<SiblingFlags, 'service' | 'namespace'>): readonly string[] {
  return service === undefined ? [] : [serverName(service, ownNamespace(namespace))];
}

function serverName(service: string, namespace: string): string {
  return `${service}.${namespace}.svc`;
}
