import { describe, expect, it } from '@jest/globals';
import fc from 'fast-check';

import type { OutputKind } from '../../src/config/render-config.js';
import { TemplateFault } from '../../src/template/faults.js';
import { splitWords } from '../../src/template/haproxy-words.js';
import { formatWord, interpolate } from '../../src/template/interpolate.js';

const KINDS: readonly OutputKind[] = ['haproxy', 'map', 'crtList', 'text'];

/** What is written, or undefined when the value is refused. */
function written(value: unknown, kind: OutputKind): string | undefined {
  try {
    return interpolate(value, kind, 0);
  } catch (error) {
    if (error instanceof TemplateFault) return undefined;
    throw error;
  }
}

function faultOf(value: unknown, kind: OutputKind = 'text'): TemplateFault {
  try {
    interpolate(value, kind, 3);
  } catch (error) {
    if (error instanceof TemplateFault) return error;
  }
  throw new Error('it was written');
}

/** Words as somebody hostile, or careless, would write them. */
const hostile = fc.oneof(
  fc.string({ unit: 'binary' }),
  fc.string({ unit: 'grapheme' }),
  fc.string({ unit: fc.constantFrom(...`'"\\ #$%{}[]()\t\n\r;,=x-\u00a0\u2028é`) }),
  fc.string({ unit: fc.constantFrom('\\x41', "'", '"', '${HOME}', '%[', '\\ ', ' ', "'\\''", 'a', '\ud800') }),
);

describe('safe interpolation of kind haproxy', () => {
  it('is read back by HAProxy as the same one word, or is refused', () => {
    fc.assert(
      fc.property(hostile, (value) => {
        const text = written(value, 'haproxy');
        if (text === undefined) expect(value).toMatch(/[\p{Cc}\u2028\u2029%]|\p{Surrogate}/u);
        else expect(splitWords(text)).toEqual({ ok: true, words: [value] });
      }),
      { numRuns: 1_000 },
    );
  });

  it('stays one word between the words of the template', () => {
    fc.assert(
      fc.property(hostile, hostile, (first, second) => {
        const [one, two] = [written(first, 'haproxy'), written(second, 'haproxy')];
        if (one === undefined || two === undefined) return;
        expect(splitWords(`server ${one}_${two} check ${two}`)).toEqual({
          ok: true,
          words: ['server', `${first}_${second}`, 'check', second],
        });
      }),
      { numRuns: 300 },
    );
  });

  it.each([
    ['web-1.example.com:80', 'web-1.example.com:80'],
    ['a b', "'a b'"],
    ["it's", String.raw`'it'\''s'`],
    ['', "''"],
    ['#', "'#'"],
    ['\\', "'\\'"],
    ['$HOME', "'$HOME'"],
    ['"${HOME}"', `'"\${HOME}"'`],
    ['é', "'é'"],
  ])('writes %j as %s', (value, text) => {
    expect(interpolate(value, 'haproxy')).toBe(text);
  });

  it('refuses a percent sign, which fmt() doubles', () => {
    expect(faultOf('50%', 'haproxy').reason).toMatch(/percent sign.*fmt\(\)/);
    expect(formatWord('50%')).toBe("'50%%'");
  });

  it('doubles every percent sign in fmt(), which is one word all the same', () => {
    fc.assert(
      fc.property(hostile, (value) => {
        let text: string;
        try {
          text = formatWord(value);
        } catch (error) {
          expect(error).toBeInstanceOf(TemplateFault);
          return;
        }
        expect(splitWords(text)).toEqual({ ok: true, words: [value.replaceAll('%', '%%')] });
      }),
      { numRuns: 300 },
    );
  });
});

describe('safe interpolation of kind map and crtList', () => {
  it('stands as it is, with nothing in it that these files give a meaning, or is refused', () => {
    fc.assert(
      fc.property(hostile, fc.constantFrom('map', 'crtList'), (value, kind) => {
        const text = written(value, kind);
        if (text === undefined) return;
        expect(text).toBe(value);
        expect(text).toMatch(/^[^\s\p{Cc}#][^\s\p{Cc}]*$/u);
        if (kind === 'crtList') expect(text).not.toMatch(/[[\]]/);
      }),
      { numRuns: 1_000 },
    );
  });

  it.each([
    ['map', 'a b'],
    ['map', 'a\u00a0b'],
    ['map', '#a'],
    ['map', ''],
    ['crtList', 'a b'],
    ['crtList', '#a'],
    ['crtList', 'a[b'],
    ['crtList', 'b]'],
    ['crtList', ''],
  ] as const)('%s refuses %j', (kind, value) => {
    expect(written(value, kind)).toBeUndefined();
  });

  it.each([
    ['map', 'example.com/a#b[1]%20é$"\'\\'],
    ['crtList', 'a.pem!#é'],
  ] as const)('%s writes %j', (kind, value) => {
    expect(interpolate(value, kind)).toBe(value);
  });
});

describe('safe interpolation of kind text', () => {
  it('stands as it is on one line, or is refused', () => {
    fc.assert(
      fc.property(hostile, (value) => {
        const text = written(value, 'text');
        if (text === undefined) expect(value).toMatch(/[\p{Cc}\u2028\u2029]|\p{Surrogate}/u);
        else expect(text).toBe(value);
      }),
      { numRuns: 300 },
    );
  });
});

describe.each(KINDS)('safe interpolation of every kind (%s)', (kind) => {
  it.each(['a\nglobal', 'a\r', 'a\tb', '\u0000', 'a\u001b[2J', '\u007f', '\u0085', 'a\u2028b', 'a\u2029b'])(
    'refuses the control character in %j',
    (value) => {
      expect(faultOf(value, kind).reason).toMatch(/holds a control character or a line break/);
    },
  );

  it.each(['\ud800', 'a\udfffb', '\udc00\ud800'])('refuses half of a surrogate pair: %j', (value) => {
    expect(faultOf(value, kind).reason).toMatch(/half a surrogate pair/);
  });

  it.each([
    [undefined, 'undefined'],
    [null, 'null'],
    [['a'], 'a list'],
    [{ a: 1 }, 'of type object'],
    [() => 'a', 'of type function'],
    [Symbol('a'), 'of type symbol'],
    [Object('a'), 'of type object'],
    [{ toString: () => 'a' }, 'of type object'],
  ])('refuses what is no scalar: %p', (value, what) => {
    expect(faultOf(value, kind).reason).toBe(`the value is ${what}, but a string, number or boolean is needed`);
  });

  it.each([
    [7, '7'],
    [-0.5, '-0.5'],
    [true, 'true'],
    [false, 'false'],
    [12n, '12'],
  ])('writes the scalar %p', (value, text) => {
    expect(interpolate(value, kind)).toBe(text);
  });

  it('names the value in a message of one printable line, and the tag', () => {
    const { message, value, tag } = faultOf(`a\n\u001b[2J${'x'.repeat(500)}`, kind);
    expect(message).toMatch(/^the value "a\\n\\u\{1b\}/);
    expect(message).not.toMatch(/[\p{Cc}]/u);
    expect(message.length).toBeLessThan(150);
    expect(value?.length).toBe(506);
    expect(tag).toBe(3);
  });
});
