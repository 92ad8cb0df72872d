import fc from 'fast-check';
import { describe, expect, it } from '@jest/globals';
import { isMap, isScalar, isSeq, parseDocument, type Node, type Pair, visit } from 'yaml';

import { loadConfig } from '../../src/config/load-config.js';
import { SHIPPED_CONFIG } from '../support/project.js';
import { changed, GOOD, lineOf, load, mistakesOf } from './documents.js';

describe('a RenderConfig', () => {
  it('is completed with defaults', () => {
    const config = load(GOOD);
    expect(config.check).toEqual({
      command: ['haproxy', '-c', '-C', '{dir}', '-f', 'haproxy.cfg'],
      timeoutMs: 5_000,
      memoryMiB: 1_024,
      concurrency: 2,
    });
    expect(config.admission).toEqual({
      mode: 'enforce',
      budgetMs: 4_000,
      marginMs: 100,
      renderTimeoutMs: 2_000,
      queueLength: 256,
      maxBodyBytes: 7 * 1024 * 1024,
    });
    expect(config.render).toEqual({ timeoutMs: 30_000, heapMiB: 64, maxInstanceBytes: 1024 * 1024, debounceMs: 10 });
    expect(config.watchedResources.find(({ alias }) => alias === 'services')).toEqual({
      ...{ alias: 'services', apiVersion: 'v1', kind: 'Service', resource: 'services' },
      ...{ indexBy: [], review: false, optional: false, ignoreFields: [] },
    });
  });

  it('takes half of the memory for the heap where nothing is said', () => {
    const { heapMiB } = load(changed('heap: 64, ', '')).render;
    expect(heapMiB).toBeGreaterThanOrEqual(128);
    expect(Number.isInteger(heapMiB)).toBe(true);
  });

  it('has its parts sorted by name, and haproxy.cfg before other outputs', () => {
    const config = load(GOOD);
    expect(config.components.map(({ name }) => name)).toEqual(['lines', 'routes']);
    expect(config.outputs.map(({ name }) => name)).toEqual(['haproxy.cfg', 'notes.txt', 'files/']);
  });

  it('takes source for a list of one', () => {
    expect(load(GOOD).components.map(({ sources }) => sources)).toEqual([['ingresses', 'services'], ['ingresses']]);
  });

  it('loads as it is shipped', () => {
    expect(loadConfig(SHIPPED_CONFIG).components.length).toBeGreaterThan(0);
  });
});

describe('the place of an inline template', () => {
  const firstLine = (text: string): number | undefined =>
    load(text).components.find(({ name }) => name === 'routes')?.template.firstLine;
  const block = "template: |\n        <% shared.publish('route', item.metadata.name, 1); %>";

  it('is the line below the mark of a block', () => {
    expect(firstLine(GOOD)).toBe(lineOf(GOOD, '<% shared.publish'));
  });

  it.each(['>', '|-', '|2-  # a comment', '|+\n'])('is right below the mark %j too', (mark) => {
    const text = changed(block, block.replace('|', mark).replace('        <%', '          <%'));
    expect(firstLine(text)).toBe(lineOf(text, 'template: ') + 1);
  });

  it.each(['x', '"x"', "'x'"])('is the line of the scalar %s itself', (scalar) => {
    const text = changed(block, `template: ${scalar}`);
    expect(firstLine(text)).toBe(lineOf(text, `template: ${scalar}`));
  });
});

describe('loadConfig', () => {
  it('tells what it could not read', () => {
    expect(() => loadConfig('/nowhere/at/all.yaml')).toThrow(
      /the RenderConfig is not there; --config takes a file, or a folder/,
    );
    expect(() => loadConfig('/dev/null')).toThrow(/is no file/);
  });
});

/** Pairs of the document, for random damage. */
function pairsOf(text: string): { readonly count: number; damage(at: number, how: number): string } {
  const document = parseDocument(text);
  const pairs: Pair[] = [];
  visit(document, { Pair: (_, pair) => void pairs.push(pair) });
  return {
    count: pairs.length,
    damage: (at, how) => {
      const pair = pairs[at % pairs.length];
      if (pair === undefined) return text;
      DAMAGES[how % DAMAGES.length]?.(pair, document);
      return document.toString();
    },
  };
}

type Damage = (pair: Pair, document: ReturnType<typeof parseDocument>) => void;
const DAMAGES: readonly Damage[] = [
  (pair, document) => void (pair.value = document.createNode(null)),
  (pair, document) => void (pair.value = document.createNode(-1)),
  (pair, document) => void (pair.value = document.createNode([{ a: ['b'] }])),
  (pair, document) => void (pair.value = document.createNode({ '': { x: true } })),
  (pair, document) => void (pair.value = document.createNode('constructor')),
  (pair, document) => void (pair.key = document.createNode('__proto__')),
  (pair, document) =>
    void (pair.key = document.createNode(`${String((pair.key as Node & { value: unknown }).value)}x`)),
  (pair, document) => {
    if (isMap(pair.value) || isSeq(pair.value)) pair.value.items.shift();
    else if (isScalar(pair.value)) pair.value = document.createNode([pair.value.value]);
  },
];

it('whatever is damaged, a document loads or each mistake has a line of the file', () => {
  const lines = GOOD.split('\n').length * 3;
  fc.assert(
    fc.property(fc.nat(500), fc.nat(DAMAGES.length - 1), fc.nat(500), fc.nat(DAMAGES.length - 1), (a, how, b, more) => {
      const text = pairsOf(pairsOf(GOOD).damage(a, how)).damage(b, more);
      for (const { line, column, message } of mistakesOf(text)) {
        expect(line).toBeGreaterThanOrEqual(1);
        expect(line).toBeLessThanOrEqual(lines);
        expect(column).toBeGreaterThanOrEqual(1);
        expect(message).not.toMatch(/undefined|\[object|Invalid input/);
      }
    }),
    { numRuns: 400 },
  );
});
