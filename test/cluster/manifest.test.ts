import { describe, expect, it } from '@jest/globals';
import { splitDocuments } from '../../src/cluster/manifest-text.js';
import { parseManifests } from '../../src/cluster/manifest.js';

const SERVICE = 'apiVersion: v1\nkind: Service\nmetadata:\n  name: web\n  namespace: shop\n';

function names(text: string): string[] {
  const { objects, problems } = parseManifests(text, 'test.yaml');
  expect(problems).toEqual([]);
  return objects.map(({ kind, namespace, name }) => `${kind} ${namespace}/${name}`);
}

function problems(text: string): string[] {
  return parseManifests(text, 'test.yaml').problems.map(({ line, message }) => `${line ?? '-'}: ${message}`);
}

function only(text: string): Record<string, unknown> {
  const { objects, problems } = parseManifests(text, 'test.yaml');
  expect(problems).toEqual([]);
  return JSON.parse(objects[0]?.text ?? 'null') as Record<string, unknown>;
}

describe('parseManifests', () => {
  it('reads several documents and ignores empty ones', () => {
    const text = `# nothing yet\n---\n${SERVICE}---\n---\n# a comment\n---\n${SERVICE.replace('web', 'api')}...\n`;
    expect(names(text)).toEqual(['Service shop/web', 'Service shop/api']);
    expect(parseManifests(text, 'f').objects.map(({ line }) => line)).toEqual([3, 12]);
  });

  it.each(['', '\n\n', '---\n', '---\n---\n', '# only a comment\n', 'null\n'])('finds nothing in %j', (text) => {
    expect(names(text)).toEqual([]);
  });

  it('reads JSON, also with tabs, and YAML that begins like JSON', () => {
    const object = { apiVersion: 'v1', kind: 'Service', metadata: { name: 'web', namespace: 'shop' } };
    expect(names(JSON.stringify(object))).toEqual(['Service shop/web']);
    expect(names(JSON.stringify(object, null, '\t'))).toEqual(['Service shop/web']);
    expect(names('{apiVersion: v1, kind: Service, metadata: {name: web, namespace: shop}}')).toEqual([
      'Service shop/web',
    ]);
  });

  it('flattens lists, whose items may leave their kind to a typed list', () => {
    expect(names('apiVersion: v1\nkind: List\nitems: []\n')).toEqual([]);
    const inner = '{apiVersion: v1, kind: List, items: [{apiVersion: v1, kind: Secret, metadata: {name: a}}]}';
    expect(names(`apiVersion: v1\nkind: List\nitems:\n- ${inner}\n`)).toEqual(['Secret /a']);
    const typed = 'apiVersion: networking.k8s.io/v1\nkind: IngressList\nitems:\n- metadata: {name: web}\n';
    expect(only(typed)).toEqual({ apiVersion: 'networking.k8s.io/v1', kind: 'Ingress', metadata: { name: 'web' } });
  });

  it('keeps dates and merge keys as JSON can hold them', () => {
    const text = `${SERVICE}base: &base {a: 1, b: 2}\nspec:\n  <<: *base\n  b: 3\n  when: 2024-01-01T00:00:00Z\n`;
    expect(only(text)['spec']).toEqual({ a: 1, b: 3, when: '2024-01-01T00:00:00Z' });
  });

  it('takes keys called __proto__ and constructor as data', () => {
    const text = `${SERVICE}__proto__: {polluted: yes}\nconstructor: {prototype: {polluted: yes}}\n`;
    const json = JSON.stringify({
      apiVersion: 'v1',
      kind: 'S',
      metadata: { name: 'constructor', namespace: '__proto__' },
    });
    expect(Object.keys(only(text))).toContain('__proto__');
    expect(names(json.replace('"kind"', '"__proto__":{"polluted":1},"kind"'))).toEqual(['S __proto__/constructor']);
    expect(({} as Record<string, unknown>)['polluted']).toBeUndefined();
  });

  it.each<[string, string, string[]]>([
    ['kind', 'apiVersion: v1\nmetadata: {name: a}\n', ['1: kind is missing']],
    ['apiVersion', '# x\n---\n\nkind: A\nmetadata: {name: a}\n', ['4: apiVersion is missing']],
    ['metadata', 'apiVersion: v1\nkind: A\n', ['1: metadata.name is missing']],
    ['a name', 'apiVersion: v1\nkind: A\nmetadata:\n  labels: {}\n', ['3: metadata.name is missing']],
    [
      'a name in text',
      'apiVersion: v1\nkind: A\nmetadata:\n  name: 12\n',
      ['4: metadata.name must be text: put it in quotes'],
    ],
    [
      'a clean name',
      'apiVersion: v1\nkind: A\nmetadata:\n  name: "a\\nb"\n',
      ['4: metadata.name has a control character'],
    ],
    ['an object', `${SERVICE}---\n- a\n`, ['7: is a sequence, not a Kubernetes object']],
    ['one value a key', `${SERVICE}spec: {}\nspec: {}\n`, ['7: the same key twice in one mapping']],
    [
      'one value a key in JSON',
      '{"apiVersion":"v1",\n"kind":"A",\n"k\\u0069nd":"B"}',
      ['3: the same key twice in one mapping'],
    ],
    ['JSON numbers', `${SERVICE}spec:\n  weight: .inf\n`, ['7: is a number that JSON cannot hold']],
    ['sound items', 'kind: List\nitems:\n- {apiVersion: v1,\n   kind: A}\n', ['3: items[0]: metadata.name is missing']],
    ['closed brackets', `${SERVICE}spec: {a: [1, 2}\n`, ['6: missed comma between flow collection entries']],
  ])('says what is wrong and on which line: no %s', (_what, text, expected) => {
    expect(problems(text)).toEqual(expected);
  });

  it('takes objects without a name when asked to', () => {
    const text = 'apiVersion: v1\nkind: A\nmetadata: {generateName: a-}\n';
    expect(problems(text)).toEqual(['3: metadata.name is missing']);
    const { objects } = parseManifests(text, 'f', { nameless: true });
    expect(objects.map(({ kind, name }) => [kind, name])).toEqual([['A', '']]);
  });

  it('gives the sound objects of a file beside its problems', () => {
    const { objects, problems } = parseManifests(`${SERVICE}---\nkind: A\n`, 'f');
    expect(objects).toHaveLength(1);
    expect(problems.length).toBeGreaterThan(0);
  });

  it.each([
    '*hunter2',
    '!hunter2 x',
    '"hunter2',
    '{hunter2',
    '@hunter2',
    '[a, "hunter2',
    '!<hunter2> a',
    "'hunter2\n--- ",
  ])('never repeats the value %s in a problem', (value) => {
    const found = problems(`apiVersion: v1\nkind: Secret\nmetadata: {name: a}\nstringData:\n  password: ${value}\n`);
    expect(found.length).toBeGreaterThan(0);
    expect(found.join()).not.toContain('hunter2');
  });
});

describe('bounds of parseManifests', () => {
  const nested = (levels: number): string => `${'{"a":'.repeat(levels)}1${'}'.repeat(levels)}`;
  const block = (levels: number): string => Array.from({ length: levels }, (_, i) => `${'  '.repeat(i)}a:`).join('\n');
  const within = (value: string): string => `{"apiVersion":"v1","kind":"A","metadata":{"name":"a"},"spec":${value}}`;

  it('takes 64 levels and refuses 65, in JSON and YAML alike', () => {
    expect(names(within(nested(63)))).toEqual(['A /a']);
    expect(problems(within(nested(64)))).toEqual(['1: nests deeper than 64 levels']);
    expect(problems(`${block(65)} 1\n`)).toEqual([expect.stringContaining('nests deeper than 64 levels')]);
    expect(problems(`${block(64)} 1\n`).join()).not.toContain('deeper');
  });

  it.each(['[', '{"a":', '- ', '? ', '[[]', '!!seq [', '&a ['])('refuses 200,000 times %j', (opening) => {
    expect(problems(opening.repeat(200_000))).toHaveLength(1);
  });

  it('refuses alias bombs, of values and of characters, and cycles', () => {
    const rows = Array.from(
      { length: 11 },
      (_, i) =>
        `b${i}: &b${i} [${Array(10)
          .fill(i === 0 ? 'x' : `*b${i - 1}`)
          .join()}]`,
    );
    expect(problems(`${SERVICE}${rows.join('\n')}\n`).join()).toContain('more than 1000000 values');
    const long = `${SERVICE}a: &a ${'x'.repeat(1 << 20)}\nb: [${Array(64).fill('*a').join()}]\n`;
    expect(problems(long).join()).toContain('characters, aliases written out');
    expect(problems(`${SERVICE}a: &a\n  b: *a\n`).join()).toContain('nests deeper');
    const merges = `a: &a {${Array.from({ length: 5000 }, (_, i) => `k${i}: 1`).join()}}\n${Array.from({ length: 9 }, (_, i) => `m${i}: {<<: *a}`).join('\n')}`;
    expect(problems(merges).join()).toContain('merge keys exceeded');
  });

  it('refuses more than 32 MiB, and lists no more than twenty problems', () => {
    expect(problems('#'.repeat(32 * 1024 * 1024 + 1))).toEqual(['-: is larger than 32 MiB: split the file']);
    const found = problems(`apiVersion: v1\nkind: List\nitems:\n${'- {a: 1}\n'.repeat(50_000)}`);
    expect(found).toHaveLength(21);
    expect(found.at(-1)).toBe('-: has more problems than are listed here');
  });
});

describe('splitDocuments', () => {
  it('cuts at marks that stand at the beginning of a line, and nowhere else', () => {
    const pieces = splitDocuments('a: |\n  ---\n  x\n---\nb: "--- "\n--- c\n...\n---x: 1\n');
    expect(pieces).toEqual([
      { text: 'a: |\n  ---\n  x\n', firstLine: 1 },
      { text: '---\nb: "--- "\n', firstLine: 4 },
      { text: '--- c\n', firstLine: 6 },
      { text: '\n---x: 1\n', firstLine: 7 },
    ]);
  });

  it('leaves a directive with its document', () => {
    expect(names(`%YAML 1.2\n---\n${SERVICE}`)).toEqual(['Service shop/web']);
    expect(names(`${SERVICE}...\n%YAML 1.2\n---\n${SERVICE.replace('web', 'api')}`)).toHaveLength(2);
  });

  it('keeps Windows line ends and line separators inside texts apart from marks', () => {
    expect(names(`${SERVICE}---\n${SERVICE.replace('web', 'api')}`.replaceAll('\n', '\r\n'))).toHaveLength(2);
    expect(only(`${SERVICE}note: "a\u2028---\u2028b"\n`)['note']).toBe('a\u2028---\u2028b');
  });
});
