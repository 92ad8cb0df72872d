import type { CheckFinding } from '../check/checker.js';
import type { Explanation } from './explanation.js';
import type { RenderFault } from './instance-result.js';

/**
 * The typed messages between the main thread and the render thread (DESIGN 1). Requests and replies travel as JSON text:
 * that is several times cheaper than structured clones of objects.
 */

/** A change of one stored object; `text` is its JSON, undefined when it is gone. */
export interface ObjectChange {
  readonly alias: string;
  readonly namespace: string;
  readonly name: string;
  readonly text: string | undefined;
}

export interface ObjectRef {
  readonly alias: string;
  readonly namespace: string;
  readonly name: string;
}

/** An object that is kept out of the render, or at its last accepted revision, because it breaks it (DESIGN 9). */
export interface QuarantineEntry extends ObjectRef {
  /** Faults by identity: object, template line and text without place. */
  readonly faults: readonly string[];
  /** One line for a person: why. */
  readonly reason: string;
  /** Whether an older, accepted revision is served in its place. */
  readonly servedOld: boolean;
}

/** What a quarantined object needs to survive a restart: its accepted revision, if it had one. */
export interface QuarantineRecord extends QuarantineEntry {
  readonly accepted: string | undefined;
  /** SHA-256 of the refused revision: another revision is given a try. */
  readonly refused: string;
  /** Keys of what its instances read: a change of one of them gives it another try, after a restart too. */
  readonly reads: readonly string[];
}

export interface RenderTimes {
  readonly overlayMs: number;
  readonly renderMs: number;
}

/** Where a checker's message or a fault leads: the object, its field, the template line. */
export interface TracedFault {
  /** Identity of the fault, the same wherever its line moves to. */
  readonly id: string;
  readonly object: ObjectRef | undefined;
  readonly field: string | undefined;
  readonly template: { readonly name: string; readonly file: string; readonly line: number } | undefined;
  readonly excerpt: string | undefined;
  /** The line of the output at fault; undefined for a sensitive one. */
  readonly rendered: string | undefined;
  readonly text: string;
}

export interface StoredQuarantine {
  readonly entries: readonly QuarantineRecord[];
}

export type ReconcileReply =
  | {
      readonly kind: 'rendered';
      readonly render: number;
      readonly cold: boolean;
      readonly executed: number;
      /** Nodes whose result could be kept after their frame was looked through. */
      readonly verified: number;
      readonly instances: number;
      /** Equal to the accepted outputs: nothing to check or publish. */
      readonly unchanged: boolean;
      readonly digest: string;
      readonly quarantined: readonly QuarantineEntry[];
      readonly events: readonly ObjectEvent[];
      readonly renderMs: number;
    }
  | { readonly kind: 'failed'; readonly faults: readonly RenderFault[] }
  | { readonly kind: 'stopped'; readonly why: 'cancelled' | 'heap' | 'timeout'; readonly message: string };

export interface ObjectEvent extends ObjectRef {
  readonly type: 'Normal' | 'Warning';
  readonly reason: string;
  readonly message: string;
}

export type ReviewRender =
  | ({
      readonly kind: 'rendered';
      readonly render: number;
      /** Every output is the accepted one. */
      readonly unchanged: boolean;
      readonly digest: string;
      readonly executed: number;
      /** Warnings of the reviewed object's instances, and new ones of others. */
      readonly warnings: readonly string[];
      /** Raw configuration lines are among the changed text: never checked together with others. */
      readonly shareable: boolean;
      /** It might come out otherwise without the changes in the ledger, which may never be stored. */
      readonly leansOnLedger: boolean;
    } & RenderTimes)
  | ({ readonly kind: 'fault'; readonly faults: readonly TracedFault[]; readonly executed: number } & RenderTimes)
  /** The time bound ended it. `own`: while an instance of the reviewed object ran. */
  | ({
      readonly kind: 'timeout';
      readonly own: boolean;
      readonly instance: string;
      readonly executed: number;
    } & RenderTimes)
  | ({
      readonly kind: 'heap';
      readonly own: boolean;
      readonly message: string;
      readonly executed: number;
    } & RenderTimes)
  | { readonly kind: 'refused'; readonly reason: string }
  | { readonly kind: 'cold' }
  /** Its time was up before it could begin. */
  | { readonly kind: 'late' };

export interface ReviewReply {
  readonly render: ReviewRender;
  /** Standing quarantines in the change's namespace or that it touches, the reviewed object left out. */
  readonly standing: readonly QuarantineEntry[];
  /** The reviewed object's own quarantine, if it has one. */
  readonly own: QuarantineEntry | undefined;
}

export interface ThreadStatus {
  readonly objects: Readonly<Record<string, number>>;
  readonly instances: number;
  readonly nodes: number;
  readonly heapBytes: number;
  readonly quarantined: readonly QuarantineEntry[];
}

/** Requests by name, with what they take and give. */
export interface ThreadApi {
  /** Stored objects have changed. `replace` empties the named aliases first; of those in `relist` the changes are all there is. */
  store: [
    {
      readonly changes: readonly ObjectChange[];
      readonly replace?: readonly string[];
      readonly relist?: readonly string[];
    },
    { readonly refused: readonly string[] },
  ];
  /** Brings the graph to the stores' newest state and commits it. Without `timeoutMs` it runs to completion. */
  reconcile: [{ readonly timeoutMs: number | undefined }, ReconcileReply];
  /**
   * Renders the accepted root with what is remembered and the change on top, in a session that is always dropped. After
   * `expiresAt` (Date.now(), milliseconds) nobody waits for it any more, and it is not begun.
   */
  review: [
    {
      /** What is remembered and yet not on the ground of this review. */
      readonly without: readonly number[] | 'all';
      readonly change: ObjectChange;
      readonly timeoutMs: number;
      readonly expiresAt: number;
    },
    ReviewReply,
  ];
  /** Renders several reviewed changes together, or says that they depend on each other. */
  combine: [
    { readonly renders: readonly number[]; readonly timeoutMs: number },
    (
      | { readonly render: number; readonly digest: string; readonly left: readonly number[] }
      | { readonly render: undefined }
    ),
  ];
  files: [
    { readonly render: number },
    readonly { readonly name: string; readonly text: string; readonly sensitive: boolean }[],
  ];
  /** Files of the accepted root; none without one. */
  acceptedFiles: [null, readonly { readonly name: string; readonly text: string; readonly sensitive: boolean }[]];
  /** What the newest committed render knows of an object; nothing is rendered. */
  explain: [{ readonly object: ObjectRef }, Explanation];
  trace: [{ readonly render: number; readonly findings: readonly CheckFinding[] }, readonly TracedFault[]];
  /** The render's outputs passed their check: it is the accepted root now. */
  accept: [{ readonly render: number }, StoredQuarantine];
  quarantine: [
    { readonly objects: readonly (ObjectRef & { readonly faults: readonly string[]; readonly reason: string })[] },
    null,
  ];
  /** Lifts quarantines that were set on suspicion. */
  unquarantine: [{ readonly objects: readonly ObjectRef[] }, null];
  /** Objects changed since the accepted root, the newest first. */
  suspects: [null, readonly ObjectRef[]];
  /** Quarantines of an earlier run of the program. */
  restore: [StoredQuarantine, null];
  /** A change that was admitted, with its review's render: ground for all reviews until it is forgotten. */
  remember: [{ readonly number: number; readonly change: ObjectChange; readonly render?: number | undefined }, null];
  forget: [{ readonly number: number }, null];
  release: [{ readonly render: number }, null];
  status: [null, ThreadStatus];
}

export type RequestName = keyof ThreadApi;

/** What the thread can be told without waiting for an answer. */
export type NewsName = 'remember' | 'forget' | 'release';

export interface RequestMessage {
  /** Undefined: nobody waits for an answer. */
  readonly id?: number;
  readonly name: RequestName;
  readonly body: unknown;
}

export type ReplyMessage =
  | { readonly id: number; readonly body: unknown }
  /** A fault of ours in the thread: never the answer to bad input. */
  | { readonly id: number; readonly error: string };
