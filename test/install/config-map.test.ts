import { mkdirSync, readFileSync, symlinkSync, writeFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { afterAll, describe, expect, it } from '@jest/globals';
import fc from 'fast-check';
import { loadConfig } from '../../src/config/load-config.js';
import { configFiles } from '../../src/install/config-files.js';
import { configDigest, configMap, ConfigTooLargeError, keyOf } from '../../src/install/config-map.js';
import { SHIPPED_CONFIG } from '../support/project.js';
import { makeScratch } from '../support/scratch.js';
import { only, options, shipped } from './installed.js';

const scratch = makeScratch('rg-install-');
afterAll(() => scratch.remove());

interface Volume {
  readonly name: string;
  readonly configMap?: { readonly name: string; readonly items: readonly { key: string; path: string }[] };
}

/** As the kubelet mounts it: files of a hidden folder, which is swapped as a whole, behind links. */
function mount(folder: string): string {
  const { name, items } = (only('Deployment', 'rendergate').spec.template.spec.volumes as Volume[])[0]?.configMap ?? {
    name: 'none',
    items: [],
  };
  const data = only('ConfigMap', name).data as Record<string, string>;
  const hidden = '..2026_12_07_10_00_00.1';
  for (const { key, path } of items) {
    mkdirSync(dirname(join(folder, hidden, path)), { recursive: true });
    writeFileSync(join(folder, hidden, path), data[key] ?? '');
  }
  symlinkSync(hidden, join(folder, '..data'));
  for (const top of new Set(items.map(({ path }) => path.split('/')[0] ?? '')))
    symlinkSync(join('..data', top), join(folder, top));
  return folder;
}

describe('the ConfigMap', () => {
  it('loads inside the Pod as the same configuration', () => {
    expect(loadConfig(mount(scratch.folder('mounted')))).toEqual(shipped);
  });

  it('holds the document byte for byte, and is rendergate.yaml whatever the document was called', () => {
    const folder = scratch.folder('renamed');
    const text = readFileSync(join(SHIPPED_CONFIG, 'rendergate.yaml'), 'utf8');
    const inline = text.replaceAll(/templateFile: \S+?(?=[,\s])/g, 'template: "x"');
    writeFileSync(join(folder, 'edge.yaml'), inline);
    const path = join(folder, 'edge.yaml');
    expect(configFiles(path, loadConfig(path))).toEqual([{ path: 'rendergate.yaml', text: inline }]);
  });

  it('names a template file once, however its path is written and however often it is used', () => {
    const component = shipped.components[0];
    if (component === undefined) throw new Error('no component');
    const again = { ...component, template: { ...component.template, file: `./${component.template.file}` } };
    const config = { ...shipped, components: [...shipped.components, again] };
    expect(configFiles(SHIPPED_CONFIG, config)).toEqual(options.files);
  });

  it('has keys that the API server takes, a different one for each path', () => {
    expect(keyOf('templates/haproxy.cfg.eta')).toBe('templates__haproxy.cfg.eta');
    const path = fc.stringMatching(/^[a-z_/\u00e4 .5f]{1,8}$/u);
    fc.assert(
      fc.property(path, path, (one, other) => {
        expect(keyOf(one)).toMatch(/^[-._a-zA-Z0-9]+$/);
        if (one !== other) expect(keyOf(one)).not.toBe(keyOf(other));
      }),
    );
  });

  it('that would be too large is refused with the size, what follows and the largest files', () => {
    const files = [...options.files, { path: 'templates/huge.eta', text: 'ä'.repeat(512 * 1024) }];
    const error = (() => {
      try {
        configMap(shipped, { ...options, files });
      } catch (thrown) {
        return thrown;
      }
    })();
    expect(error).toBeInstanceOf(ConfigTooLargeError);
    expect(String(error)).toMatch(
      /takes \d+ bytes, and a ConfigMap holds 1048576, .* refuse it; shorten .*: templates\/huge\.eta \(1048576\), /,
    );
  });

  it('may be exactly as large as the API server allows', () => {
    const files = [{ path: 'rendergate.yaml', text: 'x'.repeat(1024 * 1024) }];
    expect(configMap(shipped, { ...options, files })).toHaveLength(1);
  });

  it('rolls the replicas when any text or path of it changes', () => {
    const [first, ...rest] = options.files;
    if (first === undefined) throw new Error('no files');
    const digest = configDigest(options.files);
    expect(only('Deployment', 'rendergate').spec.template.metadata.annotations).toEqual({
      'rendergate.dev/config-digest': digest,
    });
    expect(configDigest([{ ...first, text: `${first.text} ` }, ...rest])).not.toBe(digest);
    expect(configDigest([{ ...first, path: 'other.yaml' }, ...rest])).not.toBe(digest);
  });
});
