import { createHash } from 'node:crypto';
import { promisify } from 'node:util';
import { gunzip, gzip } from 'node:zlib';
import { z } from 'zod';

/** One file of an occurrence; `name` is relative, with `/`. */
export interface OccurrenceFile {
  readonly name: string;
  readonly text: string;
  /** Readable for our own user only. */
  readonly sensitive: boolean;
}

/** What the index Secret says of the occurrence that is in force. */
export interface OccurrenceIndex {
  readonly occurrence: string;
  /** SHA-256 (hex) of all parts together. */
  readonly digest: string;
  readonly parts: number;
}

/** A Secret's values are 1 MiB at most, all together (Kubernetes' MaxSecretSize). */
export const PART_BYTES = 768 * 1024;
/** A follower unpacks no more: far above any configuration, far below what a container has. */
const MAX_UNPACKED = 512 * 1024 * 1024;

const filesSchema = z.array(z.object({ name: z.string(), text: z.string(), sensitive: z.boolean() }));
const indexSchema = z.object({
  occurrence: z.string().max(200),
  digest: z.string().regex(/^[0-9a-f]{64}$/),
  parts: z.int().min(1).max(1_000),
});

/** The files compressed, and cut so that each part fits into a Secret. The same files make the same parts. */
export async function packOccurrence(
  files: readonly OccurrenceFile[],
  occurrence: string,
): Promise<{ readonly index: OccurrenceIndex; readonly parts: readonly Buffer[] }> {
  const packed = await promisify(gzip)(JSON.stringify(files));
  const parts: Buffer[] = [];
  for (let at = 0; at < packed.length; at += PART_BYTES) parts.push(packed.subarray(at, at + PART_BYTES));
  return { index: { occurrence, digest: digestOf(packed), parts: parts.length }, parts };
}

/** Throws when the parts are not those that the index names. */
export async function unpackOccurrence(
  index: OccurrenceIndex,
  parts: readonly Buffer[],
): Promise<readonly OccurrenceFile[]> {
  const packed = Buffer.concat(parts);
  if (digestOf(packed) !== index.digest) throw new Error(`the parts of ${index.occurrence} are not those of its index`);
  const text = await promisify(gunzip)(packed, { maxOutputLength: MAX_UNPACKED });
  return filesSchema.parse(JSON.parse(text.toString('utf8')));
}

export function indexText({ occurrence, digest, parts }: OccurrenceIndex): string {
  return JSON.stringify({ occurrence, digest, parts });
}

/** Throws when it is no index of ours. */
export function parseIndex(text: string): OccurrenceIndex {
  return indexSchema.parse(JSON.parse(text));
}

/** Parts are named after what they hold: another occurrence never writes into them. */
export function partName(secret: string, { digest }: Pick<OccurrenceIndex, 'digest'>, part: number): string {
  return `${secret}-${digest.slice(0, 16)}-${part}`;
}

function digestOf(packed: Buffer): string {
  return createHash('sha256').update(packed).digest('hex');
}
