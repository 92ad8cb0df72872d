import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, it } from '@jest/globals';
import { loadAll } from 'js-yaml';
import { parseAllDocuments } from 'yaml';
import type { Manifest } from '../../src/install/manifest.js';
import { printInstallation, printRemoval } from '../../src/install/print.js';
import { rendergate } from '../cli/run-cli.js';
import { PROJECT_ROOT } from '../support/project.js';
import { installed, options, shipped } from './installed.js';

const idOf = ({ kind, metadata: { namespace = '', name } }: Manifest): string => `${kind} ${namespace}/${name}`;
const RECOVERY = 'kubectl delete validatingwebhookconfiguration rendergate';

describe('what is printed to install', () => {
  const text = printInstallation(shipped, options);

  it('reads back as the same objects', () => {
    expect(loadAll(text)).toEqual(installed());
    expect(parseAllDocuments(text).map((document) => document.toJS() as unknown)).toEqual(installed());
  });

  it('keeps words that YAML 1.1 would take for something else', () => {
    const files = [
      { path: 'rendergate.yaml', text: 'on' },
      { path: 'a.eta', text: '  x \n\n\ttab: 0777 # no\n' },
    ];
    const printed = printInstallation(shipped, { ...options, files });
    const [map] = parseAllDocuments(printed, { version: '1.1' })
      .map((document) => document.toJS() as Manifest)
      .filter(({ kind }) => kind === 'ConfigMap');
    expect(map?.['data']).toEqual({ 'rendergate.yaml': 'on', 'a.eta': '  x \n\n\ttab: 0777 # no\n' });
  });

  it('begins with the Namespace, ends with the registration, and says how to get rid of that', () => {
    const ids = installed().map(idOf);
    expect(ids.at(0)).toBe('Namespace /gate');
    expect(ids.at(-1)).toBe('ValidatingWebhookConfiguration /rendergate');
    expect(new Set(ids).size).toBe(ids.length);
    expect(text.split(`#     ${RECOVERY}\n`)).toHaveLength(3);
    expect(text).toContain('caBundle is missing on purpose');
  });
});

describe('what is printed to uninstall', () => {
  const text = printRemoval(shipped, options);
  const removed = (loadAll(text) as Manifest[]).map(idOf);

  it('is what was installed, the registration first and the Namespace last', () => {
    expect([...removed].sort()).toEqual(installed().map(idOf).sort());
    expect(removed.at(0)).toBe('ValidatingWebhookConfiguration /rendergate');
    expect(removed.at(-1)).toBe('Namespace /gate');
    expect(text).toContain(`#     ${RECOVERY}\n`);
  });

  it('takes the registration away even where the configuration at hand reviews nothing', () => {
    const watchedResources = shipped.watchedResources.map((watched) => ({ ...watched, review: false }));
    expect(printRemoval({ ...shipped, watchedResources }, options)).toBe(text);
  });
});

describe('rendergate manifests', () => {
  it.each([
    ['install.yaml', []],
    ['uninstall.yaml', ['--uninstall']],
  ])('prints deploy/kubernetes/%s, which is current (else: npm run manifests)', async (name, args) => {
    const { code, stdout, stderr } = await rendergate(['manifests', ...args]);
    expect({ code, stderr }).toEqual({ code: 0, stderr: '' });
    expect(stdout).toBe(readFileSync(join(PROJECT_ROOT, 'deploy/kubernetes', name), 'utf8'));
  });

  it('uses its options', async () => {
    const args = ['--namespace', 'edge', '--image', 'r.example:5000/gate@sha256:ab', '--replicas', '5'];
    const { stdout } = await rendergate(['manifests', ...args, '--haproxy-image', 'haproxy:3.0']);
    expect(stdout).toContain('namespace: edge');
    expect(stdout).toContain('image: r.example:5000/gate@sha256:ab');
    expect(stdout).toContain('image: haproxy:3.0');
    expect(stdout).toContain('replicas: 5');
  });

  it.each([
    [['--namespace', 'Edge'], /--namespace "Edge" is no name/],
    [['--namespace', 'kube-system'], /--namespace kube-system is the cluster's own: .* uninstalling deletes it/],
    [['--replicas', '0'], /give a whole number from 1 to 100/],
    [['--image', 'a b'], /give an image such as/],
    [['--config', 'nowhere'], /nowhere/],
  ])('called with %j exits with 2, prints nothing and says why', async (args, said) => {
    const { code, stdout, stderr } = await rendergate(['manifests', ...args]);
    expect({ code, stdout }).toEqual({ code: 2, stdout: '' });
    expect(stderr).toMatch(said);
  });
});
