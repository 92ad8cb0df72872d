import { stringify } from 'yaml';
import type { RenderConfig } from '../config/render-config.js';
import { installation, RECOVERY, removal } from './install.js';
import type { InstallOptions, Manifest } from './manifest.js';

/** The installation as multi-document YAML, with its comments. Throws ConfigTooLargeError. */
export function printInstallation(config: RenderConfig, options: InstallOptions): string {
  const head = `Printed by "rendergate manifests". Kubernetes 1.30 or newer. To install, or to bring up to date:

    kubectl apply --server-side -f install.yaml

If writes are refused that should not be, this lifts the registration:

    ${RECOVERY}`;
  const sections = installation(config, options).map(({ note, objects }) => {
    const [first = '', ...rest] = objects.map(yamlOf);
    return ['---\n', comment(note), first, ...rest.map((text) => `---\n${text}`)].join('');
  });
  return comment(head) + sections.join('');
}

/** What `kubectl delete -f` takes to remove it all. */
export function printRemoval(config: RenderConfig, options: InstallOptions): string {
  const { namespace } = options;
  const head = `Printed by "rendergate manifests --uninstall". The registration goes first, so that nothing is refused meanwhile; the
Namespace goes last, and with it what the server wrote there (its Lease, its certificate, what it published):

    kubectl delete --ignore-not-found -f uninstall.yaml

Everything in the namespace ${namespace} is deleted. If only the registration is to go:

    ${RECOVERY}`;
  return (
    comment(head) +
    removal(config, options)
      .map((object) => `---\n${yamlOf(object)}`)
      .join('')
  );
}

/** kubectl reads YAML 1.1, in which a bare `on` is a boolean; long lines stay whole, as templates need them. */
function yamlOf(object: Manifest): string {
  return stringify(object, { version: '1.1', lineWidth: 0, aliasDuplicateObjects: false });
}

function comment(text: string): string {
  return text
    .split('\n')
    .map((line) => (line === '' ? '#\n' : `# ${line}\n`))
    .join('');
}
