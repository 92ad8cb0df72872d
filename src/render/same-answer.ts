import { sameContent } from '../store/object-store.js';
import type { StoredObject } from '../store/canonical.js';
import { sameText } from './contribution.js';
import type { ReadableRender } from './instance-io.js';
import { parseInputKey } from './keys.js';

/** Whether a read, given by the key of its input, is answered alike by two renders. */
export function sameAnswer(input: string, left: ReadableRender, right: ReadableRender): boolean {
  const [kind, first = '', ...rest] = parseInputKey(input);
  const [second = '', third = ''] = rest;
  const both = <T>(read: (render: ReadableRender) => T): [T, T] => [read(left), read(right)];
  switch (kind) {
    case 'find':
      return sameContent(...both((render) => render.snapshot(first).find(second, third)));
    case 'list':
      return sameLists(...both((render) => render.snapshot(first).list()));
    case 'get':
      return sameLists(...both((render) => render.snapshot(first).get(rest)));
    case 'select':
      return sameText(...both((render) => render.winner(first, second, third)));
    case 'values':
      return sameEach(...both((render) => render.winners(first, second)), sameText);
    case 'count':
      return left.count(first, second) === right.count(first, second);
    default:
      throw new Error(`no input is called ${JSON.stringify(input)}`);
  }
}

function sameLists(left: readonly StoredObject[], right: readonly StoredObject[]): boolean {
  return sameEach(left, right, sameContent);
}

function sameEach<T>(left: readonly T[], right: readonly T[], same: (a: T, b: T) => boolean): boolean {
  return left.length === right.length && left.every((one, at) => same(one, right[at] as T));
}
