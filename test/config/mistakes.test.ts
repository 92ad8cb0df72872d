import { describe, expect, it } from '@jest/globals';

import { changed, GOOD, lineOf, mistakesOf } from './documents.js';

/** What is replaced, by what, the field that is named, words of the message, and a piece on the line it points to. */
type Row = readonly [from: string, to: string, field: string, words: string, at?: string];

const SPEC = 'spec.';
const ROWS: readonly Row[] = [
  [
    'apiVersion: rendergate.dev/v1alpha1',
    'apiVersion: rendergate.dev/v1',
    'apiVersion',
    'is not rendergate.dev/v1alpha1',
  ],
  ['kind: RenderConfig', 'kind: Rendering', 'kind', '"Rendering" is not RenderConfig'],
  ['kind: RenderConfig\n', '', 'kind', 'a missing value is not RenderConfig', 'apiVersion'],
  ['{ name: small }', '{ name: Small }', 'metadata.name', '"Small" is no name'],
  ['{ name: small }', '{}', 'metadata.name', 'is missing; expected a text'],
  ['review: true', 'reveiw: true', `${SPEC}watchedResources.ingresses.reveiw`, 'did you mean "review"?'],
  ['review: true', 'review: "yes"', `${SPEC}watchedResources.ingresses.review`, '"yes" is not true or false'],
  ['kind: Ingress', 'kind: ingress', `${SPEC}watchedResources.ingresses.kind`, 'no kind such as Ingress'],
  [
    'apiVersion: networking.k8s.io/v1',
    'apiVersion: networking/x/1',
    `${SPEC}watchedResources.ingresses.apiVersion`,
    'apiVersion such as',
  ],
  ['resource: ingresses', 'resource: Ingresses', `${SPEC}watchedResources.ingresses.resource`, 'plural'],
  ['      resource: ingresses\n', '', `${SPEC}watchedResources.ingresses.resource`, 'is missing', 'ingresses:'],
  [
    '    services: {',
    '    my-services: { apiVersion: v1, kind: A, resource: as }\n    services: {',
    `${SPEC}watchedResources.my-services`,
    'alias: small letter first',
    'my-services',
  ],
  [
    '    services: {',
    '    __proto__: {}\n    services: {',
    `${SPEC}watchedResources.__proto__`,
    'can be no name',
    '__proto__',
  ],
  ['$.metadata.namespace', 'metadata.namespace', `${SPEC}watchedResources.ingresses.indexBy[0]`, 'begin with $'],
  ['$.metadata.namespace', '$.a[?x]', `${SPEC}watchedResources.ingresses.indexBy[0]`, 'a name or [*] at character'],
  ['$.status', '$.a[*].b', `${SPEC}watchedResources.ingresses.ignoreFields[0]`, '[*] is not possible here'],
  ['requires: [services]', 'requires: [servces]', `${SPEC}snippets.note.requires[0]`, 'did you mean "services"?'],
  ['templateFile: note.eta', 'templateFile: nota.eta', `${SPEC}snippets.note.templateFile`, '"nota.eta" is not there'],
  [
    'templateFile: note.eta',
    'templateFile: note.eta\n      template: x',
    `${SPEC}snippets.note`,
    'either template',
    'templateFile',
  ],
  ['      templateFile: note.eta\n', '', `${SPEC}snippets.note`, 'either template', 'requires: [services]'],
  ['      source: ingresses', '      source: ingreses', `${SPEC}components.routes.source`, 'did you mean "ingresses"?'],
  ['      source: ingresses\n', '', `${SPEC}components.routes`, 'either source or sources', 'group: routes'],
  ['sources: [ingresses, services]', 'sources: []', `${SPEC}components.lines.sources`, 'is empty'],
  ...[
    ['[]', '', 'is empty, so the component would never run'],
    ['[spec.tls]', '[0]', 'has to begin with $'],
    ['["$.spec.rules[?(@.host)]"]', '[0]', 'something else than a name or [*]'],
    ['["$.spec.tls", "$.spec.tls"]', '[1]', 'is named twice'],
  ].map(([paths, at, message]): Row => [
    'sources: [ingresses, services]',
    `sources: [ingresses, services]\n      whenAnyPathExists: ${paths}`,
    `${SPEC}components.lines.whenAnyPathExists${at}`,
    message ?? '',
  ]),
  [
    'sources: [ingresses, services]',
    'sources: [ingresses, ingresses]',
    `${SPEC}components.lines.sources[1]`,
    'named twice',
  ],
  [
    'sources: [ingresses, services]',
    'sources: ingresses',
    `${SPEC}components.lines.sources`,
    '"ingresses" is not a list',
  ],
  ['group: lines', 'group: [lines]', `${SPEC}components.lines.group`, '["lines"] is no name'],
  ['      group: lines\n', '', `${SPEC}components.lines.group`, 'is missing', 'lines:'],
  ['      kind: text\n', '      kind: txt\n', `${SPEC}components.routes.kind`, 'did you mean "text"?'],
  ['[publishValue]', '[publishvalue]', `${SPEC}components.routes.effects[0]`, 'did you mean "publishValue"?'],
  ['[publishValue]', '[publishValue, publishValue]', `${SPEC}components.routes.effects[1]`, 'named twice'],
  ['consumes: [routes]', 'consumes: [rotes]', `${SPEC}components.lines.consumes[0]`, 'did you mean "routes"?'],
  ['consumes: [routes]', 'consumes: [lines]', `${SPEC}components.lines.consumes[0]`, 'its own group'],
  [
    'optionalConsumes: []',
    'optionalConsumes: [zzzzzz]',
    `${SPEC}components.lines.optionalConsumes[0]`,
    'expected one of routes, lines',
  ],
  [
    'effects: [publishValue]',
    'effects: [publishValue]\n      consumes: [lines]',
    `${SPEC}components.routes.consumes[0]`,
    'circle: routes -> lines -> routes',
  ],
  [
    '    lines:\n',
    '    more: { source: services, group: routes, template: x }\n    lines:\n',
    `${SPEC}components.more.kind`,
    'writes the same group "routes" as text',
    'more:',
  ],
  ['  components:\n', '  componets:\n', `${SPEC}componets`, 'did you mean "components"?'],
  ['    haproxy.cfg:', '    haproxy.conf:', `${SPEC}outputs`, 'haproxy.cfg is missing', 'notes.txt'],
  ['    notes.txt:', '    ../notes.txt:', `${SPEC}outputs["../notes.txt"]`, 'no relative file name'],
  ['    notes.txt:', '    /etc/notes.txt:', `${SPEC}outputs["/etc/notes.txt"]`, 'no relative file name'],
  ['    notes.txt:', '    files/notes.txt:', `${SPEC}outputs["files/notes.txt"]`, 'lies inside the output "files/"'],
  [
    'effects: [publishValue]',
    'effects: [publishValue]\n      optionalConsumes: [lines]',
    `${SPEC}components.routes.optionalConsumes[0]`,
    'circle: routes -> lines -> routes',
  ],
  [
    'effects: [publishValue]',
    'effects: [recordEvent]',
    `${SPEC}outputs["files/"].cell.group`,
    'no component of the group "routes" has the effect publishValue',
    'files/:',
  ],
  [
    '    services: {',
    '    constructor: { apiVersion: v1, kind: Secret, resource: secrets }\n    services: {',
    `${SPEC}watchedResources.constructor`,
    'every object of JavaScript has that name',
    '    constructor',
  ],
  ['    note:\n', '    valueOf:\n', `${SPEC}snippets.valueOf`, 'no name of small letters', '    valueOf:'],
  [
    'apiVersion: v1, kind: Service',
    'apiVersion: networking.k8s.io/v1, kind: Ingress',
    `${SPEC}watchedResources.services.kind`,
    'is watched already, as "ingresses"',
    '    services:',
  ],
  ['$.status', "$.metadata['name']", `${SPEC}watchedResources.ingresses.ignoreFields[0]`, "holds the object's name"],
  ['$.status', '$', `${SPEC}watchedResources.ingresses.ignoreFields[0]`, "holds the object's name", 'ignoreFields'],
  [
    '    notes.txt:',
    '    files/deeper/notes.txt:',
    `${SPEC}outputs["files/deeper/notes.txt"]`,
    'lies inside the output "files/"',
  ],
  [
    '    notes.txt:',
    '    haproxy.cfg/notes.txt:',
    `${SPEC}outputs["haproxy.cfg/notes.txt"]`,
    'the output "haproxy.cfg"',
  ],
  ['    notes.txt:', '    files:', `${SPEC}outputs.files`, 'lies inside the output "files/"'],
  [
    '    files/: {',
    '    more/: { kind: text, cell: { group: routes, name: route } }\n    files/: {',
    `${SPEC}outputs["files/"].cell`,
    'the output "more/" takes the same cell',
    'files/:',
  ],
  ['    notes.txt:', '    notes/:', `${SPEC}outputs["notes/"]`, 'needs a cell'],
  ['    files/:', '    files:', `${SPEC}outputs.files`, 'has to end with "/"'],
  ['group: routes, name', 'group: rutes, name', `${SPEC}outputs["files/"].cell.group`, 'did you mean "routes"?'],
  ['sensitive: true, cell', 'template: x, cell', `${SPEC}outputs["files/"]`, 'use one'],
  [
    'kind: text, template: "x"',
    'template: "x"',
    `${SPEC}outputs["notes.txt"].kind`,
    'is missing; expected one of haproxy, map, crtList, text',
  ],
  ['timeout: 5s', 'timeout: 5', `${SPEC}check.timeout`, 'no duration from 100ms to 60s'],
  ['timeout: 5s', 'timeout: 5m', `${SPEC}check.timeout`, 'no duration from 100ms to 60s'],
  ['timeout: 5s', 'memory: 1.5', `${SPEC}check.memory`, 'no whole number from 16 to 65536 (MiB)'],
  ['timeout: 5s', 'command: []', `${SPEC}check.command`, 'is empty'],
  ['budget: 4s', 'budget: 40s', `${SPEC}admission.budget`, 'no duration from 100ms to 29s'],
  ['margin: 100ms', 'margin: 4s', `${SPEC}admission.margin`, 'leave nothing of the budget'],
  ['budget: 4s', 'mode: warm', `${SPEC}admission.mode`, 'did you mean "warn"?'],
  ['budget: 4s', 'queueLength: 0', `${SPEC}admission.queueLength`, 'from 1 to 10000'],
  ['heap: 64', 'heap: lots', `${SPEC}render.heap`, '"lots" is no whole number'],
  ['limits: { connections: 10 }', '- limits', `${SPEC}extraContext`, 'no mapping', '- limits'],
  ['connections: 10', 'connections: .inf', `${SPEC}extraContext.limits.connections`, 'Infinity is no number of JSON'],
  [
    'limits: { connections: 10 }',
    `deep: ${'['.repeat(70)}${']'.repeat(70)}`,
    `${SPEC}extraContext`,
    'deeper than 64',
    'deep',
  ],
];

describe('a mistake in a RenderConfig', () => {
  it.each(ROWS.map((row) => ({ row, title: `${JSON.stringify(row[0])} -> ${JSON.stringify(row[1])}` })))(
    '$title is told once, with its field',
    ({ row: [from, to, field, words, at] }) => {
      const text = changed(from, to);
      const mistakes = mistakesOf(text);
      expect(mistakes).toHaveLength(1);
      expect(mistakes[0]).toMatchObject({ file: 'some/config.yaml', field, message: expect.stringContaining(words) });
      const piece = at ?? to.trim().split('\n').at(-1) ?? '';
      expect(mistakes[0]?.line).toBe(lineOf(text, piece));
    },
  );

  it('is told together with all others, of whatever kind, in the order of the file', () => {
    const text = changed('kind: RenderConfig', 'kind: Config')
      .replace('review: true', 'reveiw: true')
      .replace('templateFile: note.eta', 'templateFile: gone.eta')
      .replace('consumes: [routes]', 'consumes: [rotes]')
      .replace('timeout: 5s', 'timeout: soon')
      .replace('margin: 100ms', 'margin: 4s');
    const mistakes = mistakesOf(text);
    expect(mistakes.map(({ field }) => field)).toEqual([
      'kind',
      'spec.watchedResources.ingresses.reveiw',
      'spec.snippets.note.templateFile',
      'spec.components.lines.consumes[0]',
      'spec.check.timeout',
      'spec.admission.margin',
    ]);
    const lines = mistakes.map(({ line }) => line);
    expect(lines).toEqual([...lines].sort((a, b) => a - b));
  });

  it('does not make names missing that stand in an entry with another mistake', () => {
    const text = changed('      kind: text\n', '      kind: txt\n').replace('resource: ingresses', 'resource: 1');
    expect(mistakesOf(text).map(({ field }) => field)).toEqual([
      'spec.watchedResources.ingresses.resource',
      'spec.components.routes.kind',
    ]);
  });
});

describe('a file that is no RenderConfig document', () => {
  it('gets one message when it is a manifest of another kind', () => {
    const manifest = 'apiVersion: networking.k8s.io/v1\nkind: Ingress\nmetadata: { name: web }\nspec: { rules: [] }\n';
    expect(mistakesOf(manifest)).toEqual([
      {
        file: 'some/config.yaml',
        line: 2,
        column: 7,
        field: 'kind',
        message:
          '"Ingress" of networking.k8s.io/v1 is not RenderConfig of rendergate.dev/v1alpha1; is this the file you meant?',
      },
    ]);
  });

  it.each([
    ['', 'the file is empty', 1],
    ['# nothing\n', 'the file is empty', 1],
    ['- a\n- b\n', 'is not a mapping', 1],
    ['just words\n', 'is not a mapping', 1],
    [`${GOOD}---\n${GOOD}`, 'a second document', GOOD.split('\n').length],
    [changed('kind: RenderConfig', 'kind: RenderConfig\nkind: RenderConfig'), 'stands here twice', 3],
    [changed('metadata: { name: small }', 'metadata: { name: small'), 'no valid YAML', undefined],
    [changed('metadata: { name: small }', '\tmetadata: {}'), 'no valid YAML', 3],
    [changed('{ name: small }', '{ name: *nobody }'), 'nobody', undefined],
  ])('%j is refused with a place', (text, words, line) => {
    const [first] = mistakesOf(text);
    expect(first?.message).toContain(words);
    if (line !== undefined) expect(first?.line).toBe(line);
  });

  it('may not grow by aliases without bounds', () => {
    const bomb = ['a0: &a0 [x, x]'];
    for (let i = 1; i < 30; i++) bomb.push(`a${i}: &a${i} [*a${i - 1}, *a${i - 1}, *a${i - 1}]`);
    const text = changed('limits: { connections: 10 }', bomb.join('\n    '));
    expect(mistakesOf(text)[0]?.message).toContain('aliases written out');
  });
});
