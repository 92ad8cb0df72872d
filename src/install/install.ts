import type { RenderConfig } from '../config/render-config.js';
import { serverAccess } from './access.js';
import { configMap } from './config-map.js';
import { haproxy } from './haproxy.js';
import type { InstallOptions, Manifest } from './manifest.js';
import { namespace } from './namespace.js';
import { networkPolicy } from './network.js';
import { server } from './server.js';
import { webhook } from './webhook.js';

/** What belongs together in the printed file. */
export interface Section {
  /** Lines of the comment above it. */
  readonly note: string;
  readonly objects: readonly Manifest[];
}

/** Lifts the registration: every write goes through again, without review. */
export const RECOVERY = 'kubectl delete validatingwebhookconfiguration rendergate';

/** Everything to install, in the order in which it is to be applied. Throws ConfigTooLargeError. */
export function installation(config: RenderConfig, options: InstallOptions): Section[] {
  const sections: readonly [string, (config: RenderConfig, options: InstallOptions) => Manifest[]][] = [
    ['A namespace of its own: deleting it deletes everything in it.', namespace],
    [
      'What the server may do: read what the configuration watches, write Events, its own registration, and in its namespace.',
      serverAccess,
    ],
    ['The RenderConfig and its template files ("/" in a path is "__" in a key).', configMap],
    ['The webhook server.', server],
    ['Who may talk to it, and to whom it talks.', networkPolicy],
    ['HAProxy, with the published configuration beside it.', haproxy],
    // Last, so that a file that could not be applied to its end has blocked nobody.
    [registrationNote(options), webhook],
  ];
  return sections.map(([note, objectsOf]) => ({ note, objects: objectsOf(config, options) }));
}

function registrationNote({ namespace: own }: InstallOptions): string {
  return `The registration with the API server.

caBundle is missing on purpose: the server makes its CA when it first runs and writes the field by server-side apply.
Applying this file again leaves it alone. failurePolicy is Fail, so until then, and whenever no replica answers, the API server
refuses every write of these kinds with 'failed calling webhook "validate.rendergate.dev"': seconds after a first install
where the images are there, longer where they have to be pulled. Writes in ${own} and kube-system are never
reviewed, so rendergate itself can always be installed and mended. To lift it:

    ${RECOVERY}

Applying this file again brings it back.`;
}

/**
 * What to delete, in a safe order: the registration first, so that nothing is refused for want of an answer; then what
 * depends on others before what it depends on; the Namespace last.
 */
export function removal(config: RenderConfig, options: InstallOptions): Manifest[] {
  return installation(config, options)
    .flatMap(({ objects }) => objects)
    .reverse()
    .map(({ apiVersion, kind, metadata: { name, namespace: within } }) => ({
      apiVersion,
      kind,
      metadata: { name, ...(within === undefined ? {} : { namespace: within }) },
    }));
}
