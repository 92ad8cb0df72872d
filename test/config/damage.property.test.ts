import { describe, expect, it } from '@jest/globals';
import fc from 'fast-check';
import { existsSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { type Document, isCollection, isScalar, isSeq, type Pair, parseDocument, visit } from 'yaml';

import { parseConfig } from '../../src/config/parse-config.js';
import { ConfigError } from '../../src/config/render-config.js';
import { SHIPPED_CONFIG } from '../support/project.js';

const SHIPPED = readFileSync(join(SHIPPED_CONFIG, 'rendergate.yaml'), 'utf8');

/** Loads, or tells mistakes that have a place in the text; anything else that is thrown fails the test. */
function loadsOrTells(text: string): void {
  try {
    parseConfig(text, 'rendergate.yaml', (name) =>
      existsSync(join(SHIPPED_CONFIG, name)) ? { text: 'x' } : { problem: 'is not there', files: ['templates/x.eta'] },
    );
  } catch (error) {
    if (!(error instanceof ConfigError)) throw error;
    expect(error.diagnostics.length).toBeGreaterThan(0);
    const lines = text.split('\n');
    for (const { line, column, message } of error.diagnostics) {
      expect(lines[line - 1]).toBeDefined();
      expect(column).toBeGreaterThanOrEqual(1);
      expect(column).toBeLessThanOrEqual((lines[line - 1]?.length ?? 0) + 2);
      expect(message).not.toMatch(/undefined|\[object|Invalid input|NaN is/);
    }
  }
}

type Damage = (pair: Pair, document: Document) => void;

const replace =
  (value: unknown): Damage =>
  (pair, document) =>
    void (pair.value = document.createNode(value));

const DAMAGES: readonly Damage[] = [
  ...[null, '', 'x', 'constructor', -1, 1.5, 1e300, true, [], {}, [null], { x: [1] }, '../x', '\0'].map(replace),
  (pair) => void (isScalar(pair.key) && (pair.key.value = `${String(pair.key.value)}x`)),
  (pair) => void (isScalar(pair.key) && (pair.key.value = '__proto__')),
  (pair) => void (isCollection(pair.value) && pair.value.items.shift()),
  (pair) => void (isSeq(pair.value) && pair.value.items.push(...pair.value.items)),
  (pair) => void (isScalar(pair.value) && (pair.value.value = [pair.value.value])),
];

function damaged(text: string, at: number, damage: Damage): string {
  const document = parseDocument(text, { uniqueKeys: false });
  const pairs: Pair[] = [];
  visit(document, { Pair: (_, pair) => void pairs.push(pair) });
  const pair = pairs[at % Math.max(1, pairs.length)];
  if (pair !== undefined) damage(pair, document);
  try {
    return String(document);
  } catch {
    // Not every damage can be written down after another.
    return text;
  }
}

describe('the shipped document', () => {
  it('loads', () => {
    expect(parseConfig(SHIPPED, 'rendergate.yaml', () => ({ text: 'x' })).components).toHaveLength(6);
  });

  it('with one to three fields damaged loads, or each mistake has a place in it', () => {
    const damage = fc.tuple(fc.nat(400), fc.constantFrom(...DAMAGES));
    fc.assert(
      fc.property(fc.array(damage, { minLength: 1, maxLength: 3 }), (damages) => {
        loadsOrTells(damages.reduce((text, [at, how]) => damaged(text, at, how), SHIPPED));
      }),
      { numRuns: 150 },
    );
  });

  it('with characters damaged loads, or each mistake has a place in it', () => {
    const piece = fc.constantFrom(
      '',
      ' ',
      '\n',
      '\t',
      ':',
      ': ',
      '- ',
      '"',
      "'",
      '{',
      ']',
      '&a ',
      '*a',
      '<<: ',
      '!!set ',
      '|\n',
      '---\n',
      '\0',
      '%',
      '? ',
    );
    const damage = fc.record({ at: fc.nat(SHIPPED.length), length: fc.nat(6), piece });
    fc.assert(
      fc.property(fc.array(damage, { minLength: 1, maxLength: 3 }), (damages) => {
        loadsOrTells(
          damages.reduce(
            (text, { at, length, piece: put }) => text.slice(0, at) + put + text.slice(at + length),
            SHIPPED,
          ),
        );
      }),
      { numRuns: 150 },
    );
  });
});
