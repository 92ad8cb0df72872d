import { describe, expect, it } from '@jest/globals';
import fc from 'fast-check';
import { isMap, isScalar, parseDocument, stringify, type Scalar } from 'yaml';

import { parseConfig, type TemplateMistake } from '../../src/config/parse-config.js';
import { type ConfigDiagnostic, ConfigError, type TemplateSource } from '../../src/config/render-config.js';
import { offsetInFile } from '../../src/config/template-place.js';
import { GOOD } from './documents.js';

/** What is told of a document in whose inline templates `oops` is a mistake. */
function mistakesOf(text: string): readonly ConfigDiagnostic[] {
  try {
    parseConfig(text, 'some/config.yaml', () => ({ text: 'fine\n  oops\n' }), oopsIn);
    return [];
  } catch (error) {
    if (!(error instanceof ConfigError)) throw error;
    return error.diagnostics;
  }
}

function oopsIn({ text }: TemplateSource): readonly TemplateMistake[] {
  const at = text.indexOf('oops');
  if (at < 0) return [];
  const before = text.slice(0, at).split('\n');
  return [{ line: before.length, column: (before.at(-1)?.length ?? 0) + 1, message: 'oops is no word' }];
}

const INLINE = `${GOOD}`.replace('templateFile: note.eta', 'template: fine');
const withTemplate = (yaml: string): string => INLINE.replace('template: "x"', `template: ${yaml}`);

/** Line and column, from 1, of `oops` in the file. */
function place(text: string): { line: number; column: number } {
  const before = text.slice(0, text.indexOf('oops')).split('\n');
  return { line: before.length, column: (before.at(-1)?.length ?? 0) + 1 };
}

describe('a mistake in an inline template', () => {
  /** Inside of the flow mapping of the good document only flow scalars can stand. */
  it.each(['oops', '"oops"', "'oops'", '"two words, oops"', "'a ''quote'' oops'.length", '"a # oops"'])(
    'has its line and column in the scalar %s',
    (scalar) => {
      const text = withTemplate(scalar);
      const [first, ...more] = mistakesOf(text);
      expect(more).toEqual([]);
      expect(first?.line).toBe(place(text).line);
      if (!scalar.includes("''")) expect(first?.column).toBe(place(text).column);
    },
  );

  const inBlock = (mark: string, lines: readonly string[]): string =>
    INLINE.replace(
      '    notes.txt: { kind: text, template: "x" }',
      ['    notes.txt:', '      kind: text', `      template: ${mark}`, ...lines].join('\n'),
    );

  it.each<[string, readonly string[]]>([
    ['|', ['        fine', '        oops']],
    ['|', ['        fine', '          oops', '        fine']],
    ['|', ['', '        fine', '', '', '        so oops']],
    ['|', ['        fine', '          ', '            oops']],
    ['|-', ['              oops']],
    ['|+ # a comment', ['        oops', '', '']],
    ['|2', ['            fine', '        oops']],
    ['|2', ['            oops', '        fine']],
    ['&anchor |', ['        oops']],
    ['!!str |', ['        fine', '        oops']],
    ['>', ['        oops']],
    ['>', ['        folded', '        to oops', '        one line']],
    ['>-', ['        folded', '', '        two oops', '        lines']],
    ['>', ['        folded', '          more indented oops', '        and back']],
    ['>2', ['            more', '            more oops', '        back']],
    ['>', ['        fine fine', '        fine', '        fine fine oops']],
  ])('has its line and column in the block %s %j', (mark, lines) => {
    const text = inBlock(mark, lines);
    expect(mistakesOf(text)).toEqual([expect.objectContaining(place(text))]);
    const windows = text.replaceAll('\n', '\r\n');
    expect(mistakesOf(windows)).toEqual([expect.objectContaining(place(windows))]);
  });

  it('names the field, the file and shows the line as it stands there', () => {
    const text = inBlock('|', ['        fine', '        oops', '        fine']);
    const { line, column } = place(text);
    expect(mistakesOf(text)[0]).toEqual({
      file: 'some/config.yaml',
      field: 'spec.outputs["notes.txt"].template',
      line,
      column,
      message: [
        'oops is no word',
        `   ${line - 1} |         fine`,
        `>   ${line} |         oops`,
        `    ${line + 1} |         fine`,
      ]
        .join('\n')
        .replace('   ', '    '),
    });
  });
});

it('a mistake in a template file has its place there, and is told with those of the document', () => {
  const mistakes = mistakesOf(GOOD.replace('timeout: 5s', 'timeout: 5'));
  expect(mistakes).toEqual([
    expect.objectContaining({ file: 'some/config.yaml', field: 'spec.check.timeout' }),
    {
      file: 'some/note.eta',
      field: 'spec.snippets.note.templateFile',
      line: 2,
      column: 3,
      message: 'oops is no word\n     1 | fine\n>    2 |   oops\n     3 | ',
    },
  ]);
});

it('every visible character of a block scalar is found where it stands in the file', () => {
  const line = fc.string({ unit: fc.constantFrom('a', 'b', '  ', ' ', '#', ':', '%'), maxLength: 8 });
  fc.assert(
    fc.property(fc.array(line, { maxLength: 8 }), fc.constantFrom('BLOCK_LITERAL', 'BLOCK_FOLDED'), (lines, type) => {
      const text = `x${lines.join('\n')}\n`;
      const file = stringify({ deep: { er: text } }, { defaultStringType: type as 'BLOCK_LITERAL', indent: 3 });
      const scalar = scalarOf(file);
      if (!scalar.type?.startsWith('BLOCK')) return;
      String(scalar.value)
        .split('\n')
        .forEach((own, at) => {
          for (let column = 1; column <= own.length; column++) {
            const character = own[column - 1] ?? '';
            if (character !== ' ') expect(file[offsetInFile(scalar, file, at + 1, column)]).toBe(character);
          }
        });
    }),
    { numRuns: 300 },
  );
});

function scalarOf(file: string): Scalar {
  const deep = parseDocument(file).get('deep');
  const scalar = isMap(deep) ? deep.get('er', true) : undefined;
  if (!isScalar(scalar)) throw new Error(`no scalar in ${file}`);
  return scalar;
}
