import type { RenderConfig } from '../config/render-config.js';
import { type InstallOptions, type Manifest, NAME } from './manifest.js';

/** The namespace, in which no Pod may run that is not confined: ours need nothing else. */
export function namespace(_config: RenderConfig, { namespace: name }: InstallOptions): Manifest[] {
  const levels = ['enforce', 'audit', 'warn'].map((mode) => [`pod-security.kubernetes.io/${mode}`, 'restricted']);
  const labels = { 'app.kubernetes.io/name': NAME, ...Object.fromEntries(levels) };
  return [{ apiVersion: 'v1', kind: 'Namespace', metadata: { name, labels } }];
}
