import type { Logger } from 'pino';
import type { ApiClient } from './api-client.js';
import { Reflector } from './reflector.js';

export interface FollowedObject {
  readonly apiVersion: string;
  readonly kind: string;
  /** Plural of the REST path. */
  readonly resource: string;
  readonly name: string;
  /** Undefined: the object is one of the cluster's own. */
  readonly namespace?: string;
}

export interface FollowOptions<T> {
  readonly client: ApiClient;
  readonly object: FollowedObject;
  readonly log: Logger;
  /** What its user can't do before it was listed, for the log. */
  readonly untilListed: string;
  /** Called with each version, and with undefined where there is none (any more). Must not throw. */
  readonly onObject: (object: T | undefined) => void;
}

/** A reflector of one object by its name. It is to be started and closed by the caller. */
export function followObject<T>({ client, object, log, untilListed, onObject }: FollowOptions<T>): Reflector {
  const { apiVersion, kind, resource, name, namespace } = object;
  const parsed = (text: string | undefined): T | undefined =>
    text === undefined ? undefined : (JSON.parse(text) as T);
  return new Reflector({
    client,
    log,
    untilListed,
    resource: {
      ...{ alias: `${resource}/${name}`, apiVersion, kind, resource, optional: false },
      // With a selector by name, a role that names the object is enough for list and watch.
      fieldSelector: `metadata.name=${name}`,
      ...(namespace === undefined ? {} : { namespace }),
    },
    sink: {
      listed: (_alias, [first]) => onObject(parsed(first?.text)),
      changed: (changes) => onObject(parsed(changes.at(-1)?.text)),
    },
  });
}
