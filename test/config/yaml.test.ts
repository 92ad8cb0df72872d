import { describe, expect, it } from '@jest/globals';

import { changed, GOOD, lineOf, load, mistakesOf } from './documents.js';

const CONTEXT = 'limits: { connections: 10 }';
const withContext = (yaml: string): string => changed(CONTEXT, yaml);
const context = (yaml: string): unknown => load(withContext(yaml)).extraContext;
const told = (text: string): string[] => mistakesOf(text).map(({ field, message }) => `${field}: ${message}`);

describe('YAML that loads', () => {
  it('may stand between empty documents and comments, begin with a byte order mark and end its lines as Windows does', () => {
    const expected = JSON.stringify(load(GOOD));
    for (const text of [`# note\n---\n${GOOD}---\n`, `\ufeff${GOOD}`, GOOD.replaceAll('\n', '\r\n'), `${GOOD}...\n`])
      expect(JSON.stringify(load(text).extraContext)).toBe(JSON.stringify(load(GOOD).extraContext));
    expect(JSON.stringify(load(`${GOOD}---\n# nothing\n---\n`))).toBe(expected);
  });

  it('may repeat a part by an alias, as often as it likes', () => {
    const uses = Array.from({ length: 500 }, () => '*part').join(', ');
    expect(context(`part: &part { a: [1] }\n    uses: [${uses}]`)).toMatchObject({ uses: { 499: { a: [1] } } });
  });

  it('takes an anchor that is given again from there on', () => {
    expect(context('a: &x 1\n    b: *x\n    c: &x 2\n    d: *x')).toEqual({ a: 1, b: 1, c: 2, d: 2 });
  });

  it('may merge mappings: what stands in the mapping itself counts, then the earlier one', () => {
    const merged = 'one: &one { a: 1, b: 1 }\n    two: &two { b: 2, c: 2 }\n    both: { <<: [*one, *two], a: 0 }';
    expect(context(merged)).toMatchObject({ both: { a: 0, b: 1, c: 2 } });
    const shared = 'lines:\n      <<: &shared { consumes: [routes] }\n      sources: [ingresses]';
    const text = changed('lines:\n      sources: [ingresses, services]', shared).replace(
      '      consumes: [routes]\n',
      '',
    );
    expect(load(text).components[0]).toMatchObject({ name: 'lines', consumes: ['routes'] });
  });

  it('keeps names such as __proto__ in extraContext as data', () => {
    const value = context('__proto__: { polluted: true }\n    constructor: 1');
    expect(JSON.stringify(value)).toBe('{"__proto__":{"polluted":true},"constructor":1}');
    expect(Object.getPrototypeOf(value)).toBe(Object.prototype);
  });

  it('takes numbers and truth values as names', () => {
    expect(context('80: http\n    true: yes')).toEqual({ 80: 'http', true: 'yes' });
  });
});

describe('YAML that would lose something silently', () => {
  it.each([
    ['a: !!binary aGVsbG8=', 'spec.extraContext.a: has the tag tag:yaml.org,2002:binary'],
    ['a: !!set { b, c }', 'spec.extraContext.a: has the tag tag:yaml.org,2002:set'],
    ['a: !!timestamp 2001-01-01', 'spec.extraContext.a: has the tag tag:yaml.org,2002:timestamp'],
    ['a: !reference [b]', 'spec.extraContext.a: has the tag !reference'],
    ['a: { ? [b, c] : 1 }', 'spec.extraContext.a: a list, a mapping or an alias can be no name'],
    ['a: {{ .Values.port }}', 'spec.extraContext.a: a list, a mapping or an alias can be no name'],
    ['a: { : 1 }', 'spec.extraContext.a: a name is missing before the ":"'],
    ['a: { b: 1, "b": 2 }', 'spec.extraContext.a.b: stands here twice'],
    ['a: { 1: x, "1": y }', 'spec.extraContext.a["1"]: stands here twice'],
    ['a: .nan', 'spec.extraContext.a: NaN is no number of JSON'],
    ['a: 1e999', 'spec.extraContext.a: Infinity is no number of JSON'],
    ['a: *b', 'spec.extraContext.a: no anchor &b stands above'],
    ['a: *b\n    b: &b 1', 'spec.extraContext.a: no anchor &b stands above'],
    ['a: &a { b: [*a] }', 'spec.extraContext.a.b[0]: the alias *a stands inside of what it repeats'],
    ['a: { <<: 1 }', 'spec.extraContext.a["<<"]: merges a mapping'],
  ])('%j is a mistake, told once', (yaml, message) => {
    const text = withContext(yaml);
    expect(told(text)).toEqual([expect.stringContaining(message)]);
    expect(mistakesOf(text)[0]?.line).toBe(lineOf(text, '    a:'));
  });

  it('is not told a second time as a field that is missing', () => {
    expect(told(changed('{ name: small }', '{ name: *nobody }'))).toEqual([
      expect.stringContaining('metadata.name: no anchor &nobody'),
    ]);
    expect(told(changed('kind: RenderConfig', 'kind: &x [*x]'))).toEqual([
      expect.stringContaining('kind[0]: the alias'),
    ]);
  });

  it('is told together with mistakes of other kinds', () => {
    const text = withContext('a: .nan')
      .replace('budget: 4s', 'budget: 4')
      .replace('consumes: [routes]', 'consumes: [rutes]');
    expect(mistakesOf(text).map(({ field }) => field)).toEqual([
      'spec.components.lines.consumes[0]',
      'spec.admission.budget',
      'spec.extraContext.a',
    ]);
  });
});

describe('text that is no YAML', () => {
  it.each([
    ['a tab', changed('  components:', '\tcomponents:'), 'a tab at the beginning of the line', '\tcomponents'],
    [
      'a second colon',
      changed('kind: Ingress', 'kind: In: gress'),
      'put a value that holds one in quotes',
      'In: gress',
    ],
    ['an open quote', changed('timeout: 5s', 'timeout: "5s'), 'is no valid YAML', undefined],
    ['a template without quotes', changed('template: "x"', 'template: %> x'), 'is no valid YAML', '%> x'],
  ])('has the line of %s', (_, text, words, piece) => {
    const [first] = mistakesOf(text);
    expect(first?.message).toContain(words);
    if (piece !== undefined) expect(first?.line).toBe(lineOf(text, piece));
  });

  it('tells one mistake a line, and not all that follows', () => {
    const mistakes = mistakesOf(`${GOOD}${']\n'.repeat(100)}`);
    expect(mistakes.length).toBeLessThanOrEqual(10);
    expect(new Set(mistakes.map(({ line }) => line)).size).toBe(mistakes.length);
  });
});

describe('hostile text', () => {
  it.each([
    ['brackets', '['.repeat(500_000), 'nests deeper'],
    ['braces', `a: ${'{a: '.repeat(100_000)}`, 'nests deeper'],
    ['dashes', '- '.repeat(500_000), 'nests deeper'],
    ['question marks', '? '.repeat(500_000), 'nests deeper'],
    ['colons', ': '.repeat(500_000), 'nests deeper'],
    ['2 MiB of anything', 'a'.repeat(2 * 1024 * 1024), 'is larger than'],
    ['stairs', Array.from({ length: 1_000 }, (_, at) => `${' '.repeat(at)}a:`).join('\n'), 'nests'],
  ])('%s ends with a message', (_, text, words) => {
    expect(mistakesOf(text)[0]?.message).toContain(words);
  });

  it('of many mistakes tells the first 200', () => {
    const fields = Array.from({ length: 5_000 }, (_, at) => `  wrong${at}: 1\n`).join('');
    expect(mistakesOf(changed('  outputs:\n', `${fields}  outputs:\n`))).toHaveLength(200);
  });

  it('may hold many names', () => {
    expect(context(Array.from({ length: 10_000 }, (_, at) => `k${at}: ${at}`).join('\n    '))).toMatchObject({
      k9999: 9999,
    });
  });
});
