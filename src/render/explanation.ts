import type { ObjectRef, QuarantineEntry } from './protocol.js';

/** An instance that observed the object, and the read through which it did. */
export interface Reader extends ObjectRef {
  readonly component: string;
  /** `find ingresses shop/web`, `list ingresses`, `get services shop`. */
  readonly through: string;
}

export interface WrittenLines {
  readonly output: string;
  /** First and last line, counted from 1. */
  readonly from: number;
  readonly to: number;
}

/** A key that an instance contends for. Values are not told: they may be another tenant's. */
export interface Claim {
  readonly kind: 'publication' | 'unique';
  readonly cell: string;
  readonly key: string;
  readonly rank: string;
  readonly won: boolean;
  readonly winner: (ObjectRef & { readonly component: string; readonly rank: string }) | undefined;
  /** Who has the key when the winner is gone. */
  readonly next: (ObjectRef & { readonly component: string; readonly rank: string }) | undefined;
}

export interface ExplainedInstance {
  readonly component: string;
  readonly group: string;
  /** False: the object has none of the paths in the component's whenAnyPathExists. */
  readonly active: boolean;
  /** Everything that its last run read, found or not. */
  readonly reads: readonly string[];
  readonly wrote: readonly WrittenLines[];
  readonly claims: readonly Claim[];
  readonly events: readonly string[];
}

/** What the newest committed render knows of one object. */
export interface Explanation {
  readonly object: ObjectRef;
  readonly stored: boolean;
  readonly quarantine: QuarantineEntry | undefined;
  readonly readers: readonly Reader[];
  readonly instances: readonly ExplainedInstance[];
}
