/** A Kubernetes object as it is printed: plain JSON. */
export interface Manifest {
  readonly apiVersion: string;
  readonly kind: string;
  readonly metadata: { readonly name: string; readonly namespace?: string; readonly [field: string]: unknown };
  readonly [field: string]: unknown;
}

/** A file of the configuration, as the Pod shall see it below `CONFIG_FOLDER`. */
export interface ConfigFile {
  /** Relative, with `/`: `templates/backends.eta`. */
  readonly path: string;
  readonly text: string;
}

export interface InstallOptions {
  /** Namespace of its own: uninstalling deletes it with everything in it. */
  readonly namespace: string;
  /** Image of rendergate. */
  readonly image: string;
  /** Replicas of the webhook server. */
  readonly replicas: number;
  /** Image of HAProxy; its version should be the one of the checker in `image`. */
  readonly haproxyImage: string;
  /** The RenderConfig, as `rendergate.yaml`, and the template files that it names. */
  readonly files: readonly ConfigFile[];
}

/** Name of the server's objects; the program looks for some of them by this name. */
export const NAME = 'rendergate';
export const HAPROXY_NAME = `${NAME}-haproxy`;

/** Numeric, because the kubelet proves `runAsNonRoot` by number only; the user of the image. */
export const USER = 65_532;

export type Component = 'server' | 'haproxy';

/** What Services, policies and spreading select Pods by. Never changes: the selector of a Deployment can't. */
export function selectorOf(component: Component): Readonly<Record<string, string>> {
  return { 'app.kubernetes.io/name': NAME, 'app.kubernetes.io/component': component };
}

/** Metadata of an object, labelled so that `kubectl get all -l app.kubernetes.io/name=rendergate` finds it. */
export function metadata(name: string, namespace?: string, component?: Component): Manifest['metadata'] {
  const labels = component === undefined ? { 'app.kubernetes.io/name': NAME } : selectorOf(component);
  return { name, ...(namespace === undefined ? {} : { namespace }), labels };
}
