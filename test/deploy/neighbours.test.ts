import { writeFileSync } from 'node:fs';
import { join } from 'node:path';

import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';

import { developmentCertificate } from '../../src/server/development-certificate.js';
import { rendergate } from '../cli/run-cli.js';
import { makeScratch } from '../support/scratch.js';

/** What the shipped configuration says when one namespace comes into the hosts of another. */
const scratch = makeScratch();
const warnings = new Map<string, readonly string[]>();

beforeAll(async () => {
  const { cert, key } = await developmentCertificate(join(scratch.path, 'certs'), ['shop.example.com']);
  const data = { 'tls.crt': Buffer.from(cert).toString('base64'), 'tls.key': Buffer.from(key).toString('base64') };
  const secret = (namespace: string): object => ({
    ...{ apiVersion: 'v1', kind: 'Secret', type: 'kubernetes.io/tls', data },
    metadata: { name: 'tls', namespace },
  });
  const resources = scratch.folder('resources');
  const stored = [
    {
      apiVersion: 'networking.k8s.io/v1',
      kind: 'IngressClass',
      metadata: { name: 'haproxy' },
      spec: { controller: 'rendergate.dev/haproxy' },
    },
    secret('victim'),
    secret('other'),
    ingress('victim', 'wild', ['*.example.com'], '2025-01-01T00:00:00Z', ['*.example.com']),
    ingress('victim', 'shop', ['shop.example.org'], '2025-01-01T00:00:00Z'),
  ];
  writeFileSync(join(resources, 'stored.json'), stored.map((object) => JSON.stringify(object)).join('\n---\n'));
  const changes = [
    ingress('other', 'below', ['pay.example.com']),
    { ...ingress('other', 'no-paths', []), spec: { ingressClassName: 'haproxy', rules: [{ host: 'a.example.com' }] } },
    ingress('other', 'same-host', ['shop.example.org'], undefined, [], '/login'),
    ingress('other', 'certificate', ['own.example.net'], undefined, ['shop.example.org', 'b.example.com']),
    ingress('victim', 'own', ['own.example.com', 'shop.example.org'], undefined, [], '/own'),
    ingress('other', 'alone', ['alone.example.net']),
  ];
  const input = changes.map((object) => JSON.stringify(object)).join('\n---\n');
  const args = ['review', '-f', '-', '--operation', 'CREATE', '--resources', resources, '--output', 'json'];
  const { stdout } = await rendergate(args, { input });
  const results = JSON.parse(stdout) as { object: { name: string }; verdict: string; warnings: string[] }[];
  for (const { object, verdict, warnings: said } of results) {
    if (verdict !== 'allowed') throw new Error(`${object.name}: ${verdict}`);
    warnings.set(
      object.name,
      said.filter((line) => !/Service/.test(line)),
    );
  }
}, 60_000);

afterAll(() => scratch.remove());

function ingress(
  namespace: string,
  name: string,
  hosts: readonly string[],
  creationTimestamp = '2026-05-05T00:00:00Z',
  tls: readonly string[] = [],
  path = '/',
): object {
  const backend = { service: { name: 'web', port: { number: 80 } } };
  return {
    apiVersion: 'networking.k8s.io/v1',
    kind: 'Ingress',
    metadata: { namespace, name, creationTimestamp },
    spec: {
      ingressClassName: 'haproxy',
      ...(tls.length > 0 && { tls: [{ hosts: tls, secretName: 'tls' }] }),
      rules: hosts.map((host) => ({ host, http: { paths: [{ path, pathType: 'Prefix', backend }] } })),
    },
  };
}

describe('a namespace that comes into the hosts of another is told', () => {
  it.each([
    ['below', ['other/below: takes pay.example.com from *.example.com of victim/wild']],
    ['no-paths', ['other/no-paths: takes a.example.com from *.example.com of victim/wild']],
    ['same-host', ['other/same-host: shop.example.org is also served by victim/shop, of another namespace']],
    [
      'certificate',
      [
        'other/certificate: brings the certificate of shop.example.org, which victim/shop serves',
        'other/certificate: takes b.example.com from the certificate of *.example.com of victim/wild',
      ],
    ],
  ])('%s', (name, expected) => {
    expect(warnings.get(name)).toEqual(expected);
  });

  it('which its own hosts are not a reason for', () => {
    expect([warnings.get('own'), warnings.get('alone')]).toEqual([[], []]);
  });
});
