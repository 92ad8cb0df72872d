import { afterAll, describe, expect, it } from '@jest/globals';
import { mkdirSync, symlinkSync, writeFileSync } from 'node:fs';
import { execFileSync } from 'node:child_process';
import { join } from 'node:path';

import { loadConfig } from '../../src/config/load-config.js';
import { ConfigError, formatDiagnostic } from '../../src/config/render-config.js';
import { makeScratch } from '../support/scratch.js';
import { changed, GOOD } from './documents.js';

const scratch = makeScratch();
afterAll(() => scratch.remove());

let folders = 0;
/** A folder with a document and its one template file. */
function folderWith(text: string, note = 'a note\n'): string {
  const folder = scratch.folder(`config-${folders++}`);
  writeFileSync(join(folder, 'rendergate.yaml'), text);
  writeFileSync(join(folder, 'note.eta'), note);
  return folder;
}

/** What is told, without the folder. */
function told(path: string, folder = path): readonly string[] {
  try {
    loadConfig(path);
    return [];
  } catch (error) {
    if (!(error instanceof ConfigError)) throw error;
    return error.diagnostics.map((diagnostic) => formatDiagnostic(diagnostic).replaceAll(`${folder}/`, ''));
  }
}

const templateFile = (name: string): string => folderWith(changed('note.eta', name));

describe('loadConfig', () => {
  it('reads a folder, or the file in it', () => {
    const folder = folderWith(GOOD);
    const config = loadConfig(folder);
    expect(config.snippets[0]?.template).toEqual({ name: 'note', text: 'a note\n', file: 'note.eta', firstLine: 1 });
    expect(loadConfig(join(folder, 'rendergate.yaml'))).toEqual(config);
  });

  it('names a template file as it is given, and an inline template by the document', () => {
    const files = loadConfig(folderWith(GOOD)).outputs.map(({ content }) =>
      content.from === 'template' ? content.template.file : '',
    );
    expect(files).toEqual(['rendergate.yaml', 'rendergate.yaml', '']);
  });

  it.each([
    ['a path that is not there', '/nowhere/at/all', 'the RenderConfig is not there'],
    ['a device', '/dev/null', 'is no file'],
    ['nothing', '', 'is no file'],
    ['a NUL', 'a\0b', "can't be read"],
    ['a name without end', 'x'.repeat(5_000), 'has a name that is too long'],
  ])('tells %s', (_, path, words) => {
    expect(told(path)).toEqual([expect.stringContaining(words)]);
    expect(told(path)).toEqual([expect.stringContaining('--config takes a file, or a folder with rendergate.yaml')]);
  });

  it('tells a folder in which the document has another name, and a file in the place of a folder', () => {
    const folder = scratch.folder('other-name');
    writeFileSync(join(folder, 'rendergate.yml'), GOOD);
    expect(told(folder)).toEqual([expect.stringContaining('did you mean "rendergate.yml"?')]);
    expect(told(join(folder, 'rendergate.yml', 'x'))).toEqual([expect.stringContaining('has a file in its path')]);
  });

  it('does not wait for a pipe', () => {
    const pipe = join(scratch.folder('pipe'), 'rendergate.yaml');
    execFileSync('mkfifo', [pipe]);
    expect(told(pipe)).toEqual([expect.stringContaining('is no file')]);
  });

  it('tells a document that is no text', () => {
    const folder = scratch.folder('binary');
    writeFileSync(join(folder, 'rendergate.yaml'), Buffer.from([0xff, 0xfe, 0x00]));
    expect(told(folder)).toEqual([expect.stringContaining('the RenderConfig is no UTF-8 text')]);
  });
});

describe('a template file', () => {
  it.each([
    ['../note.eta', 'is no path below'],
    ['a/../note.eta', 'is no path below'],
    ['/etc/passwd', 'is no path below'],
    ['""', 'is no path below'],
    ['..', 'is no path below'],
    ['nota.eta', '"nota.eta" is not there; did you mean "note.eta"?'],
    ['templates/note.eta', 'is not there'],
    ['note.eta/x', 'has a file in its path where a folder should be'],
  ])('%s is refused', (name, words) => {
    expect(told(templateFile(name))).toEqual([expect.stringContaining(words)]);
    expect(told(templateFile(name))[0]).toMatch(/^rendergate\.yaml:16:21: spec\.snippets\.note\.templateFile: /);
  });

  it('may be a link, if what it leads to lies in the folder', () => {
    const folder = templateFile('links/note.eta');
    mkdirSync(join(folder, 'links'));
    symlinkSync('../note.eta', join(folder, 'links/note.eta'));
    expect(told(folder)).toEqual([]);
  });

  it('may lie in a folder that is mounted as Kubernetes mounts a ConfigMap', () => {
    const folder = scratch.folder('mounted');
    mkdirSync(join(folder, '..2024'));
    writeFileSync(join(folder, '..2024', 'rendergate.yaml'), GOOD);
    writeFileSync(join(folder, '..2024', 'note.eta'), 'a note\n');
    symlinkSync('..2024', join(folder, '..data'));
    for (const name of ['rendergate.yaml', 'note.eta']) symlinkSync(`..data/${name}`, join(folder, name));
    expect(told(folder)).toEqual([]);
  });

  it('may not be a link that leads out, by the file or by a folder', () => {
    const outside = join(scratch.folder('outside'), 'secret');
    writeFileSync(outside, 'secret');
    const byFile = templateFile('out.eta');
    symlinkSync(outside, join(byFile, 'out.eta'));
    expect(told(byFile)).toEqual([expect.stringContaining('is a link that leads out of the folder')]);
    const byFolder = templateFile('out/secret');
    symlinkSync(join(outside, '..'), join(byFolder, 'out'));
    expect(told(byFolder)).toEqual([expect.stringContaining('is a link that leads out of the folder')]);
  });

  it('may not be a folder, a link to itself, or other than UTF-8', () => {
    const folder = templateFile('sub');
    mkdirSync(join(folder, 'sub'));
    expect(told(folder)).toEqual([expect.stringContaining('is no file')]);
    const loop = templateFile('loop');
    symlinkSync('loop', join(loop, 'loop'));
    expect(told(loop)).toEqual([expect.stringContaining('is a link that leads to itself')]);
    const latin = folderWith(GOOD);
    writeFileSync(join(latin, 'note.eta'), Buffer.from('gr\xfcn', 'latin1'));
    expect(told(latin)).toEqual([expect.stringContaining('"note.eta" is no UTF-8 text')]);
  });

  it('may hold no NUL, in the document neither', () => {
    expect(told(folderWith(GOOD, 'a\nb\0c\n'))).toEqual([
      expect.stringMatching(/^note\.eta:2:2: spec\.snippets\.note\.templateFile: a template can hold no NUL/),
    ]);
    expect(told(folderWith(changed('template: "x"', 'template: "x\\0"')))).toEqual([
      expect.stringContaining('spec.outputs["notes.txt"].template: a template can hold no NUL'),
    ]);
  });

  it('that cannot be read is told with all other mistakes', () => {
    expect(told(folderWith(changed('note.eta', 'nota.eta').replace('timeout: 5s', 'timeout: 5')))).toHaveLength(2);
  });
});
