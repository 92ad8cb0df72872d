import type { WatchedResource } from '../config/render-config.js';

/** `networking.k8s.io` of `networking.k8s.io/v1`; empty for the core group. */
export function groupOf({ apiVersion }: WatchedResource): string {
  return apiVersion.includes('/') ? (apiVersion.split('/')[0] ?? '') : '';
}

export function versionOf({ apiVersion }: WatchedResource): string {
  return apiVersion.split('/').at(-1) ?? apiVersion;
}
