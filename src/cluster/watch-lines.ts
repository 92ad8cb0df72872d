import { StringDecoder } from 'node:string_decoder';
import type { Readable } from 'node:stream';

/** An API object has at most 3 MiB as a request; anything far beyond is no watch event. */
const MAX_LINE = 32 * 1024 * 1024;

/**
 * The whole lines of a stream, those of one chunk together. Throws when the stream ends inside a line: half an event is
 * never taken for one.
 */
export async function* linesOf(stream: Readable): AsyncGenerator<readonly string[], void> {
  const decoder = new StringDecoder('utf8');
  let rest = '';
  for await (const chunk of stream) {
    const parts = (rest + decoder.write(chunk as Buffer)).split('\n');
    rest = parts.pop() ?? '';
    if (rest.length > MAX_LINE) throw new Error(`the watch sent a line of more than ${MAX_LINE} characters`);
    if (parts.length > 0) yield parts;
  }
  if (rest.trim() !== '') throw new Error('the watch ended inside an event');
}
