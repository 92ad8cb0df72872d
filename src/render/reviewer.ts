import { IngestError } from '../store/canonical.js';
import type { ObjectEdit } from '../store/object-store.js';
import { TemplateFault } from '../template/faults.js';
import type { InstanceResult, RenderFault } from './instance-result.js';
import { inputsOfChange, instanceKey, objectLabel, parseInstanceKey, refKey, selectKey } from './keys.js';
import { LedgerGround, type ReviewedSession } from './ledger-ground.js';
import { type Outputs, outputsDigest, sameOutputs } from './output-tree.js';
import type {
  ObjectChange,
  QuarantineEntry,
  RenderTimes,
  ReviewRender,
  ReviewReply,
  ThreadApi,
  TracedFault,
} from './protocol.js';
import { eventsAdded, readsOf } from './render-report.js';
import type { Renderer } from './renderer.js';
import { RenderSession } from './render-session.js';
import type { RenderState } from './render-state.js';
import { runBounded, TimedOut } from './run-bounded.js';
import { sameAnswer } from './same-answer.js';
import { faultId, RenderFailure, RenderStopped } from './template-fault.js';

/** What a shared check and the ledger have to know of a review's render. */
interface ReviewedRender extends ReviewedSession {
  readonly change: ObjectChange;
  /** Instances executed and cell keys written; undefined when they are too many to compare. */
  readonly footprint: ReadonlySet<string> | undefined;
}

type ReviewBody = ThreadApi['review'][0];

interface Finished extends ReviewedSession {
  readonly outputs: Outputs;
  readonly digest: string;
  readonly unchanged: boolean;
  /** Raw lines of a tenant are among what was rendered. */
  readonly raw: boolean;
}

/** A change with a larger footprint is checked alone: comparing would cost more than it saves. */
const MAX_FOOTPRINT = 2_000;
/** So long at most what has left the ledger may still be seen. */
const LEDGER_LAG_MS = 250;
/** A review may take so many times its time limit where that saves a time bound of its own. */
const PATIENCE = 1.2;

/**
 * Renders hypothetical changes over the accepted root, in sessions that are always dropped (DESIGN 8). Nothing of a
 * review can reach the graph: it is persistent, and a session only ever adds to its own layer.
 */
export class Reviewer {
  readonly #reviewed = new Map<number, ReviewedRender>();
  readonly #ground: LedgerGround;
  #open: OpenReview | undefined;

  constructor(
    private readonly renderer: Renderer,
    ledgerLagMs = LEDGER_LAG_MS,
  ) {
    this.#ground = new LedgerGround(renderer, ledgerLagMs);
  }

  review(body: ReviewBody): ReviewReply {
    return this.#replyTo(body, this.#render(body));
  }

  #replyTo({ change }: ReviewBody, render: ReviewRender): ReviewReply {
    return { render, own: this.renderer.quarantine.entry(change), standing: this.#standing(change) };
  }

  /** Answers the review that a time bound around it has stopped, if it was one; else that was work on the ledger. */
  stopped(): ReviewReply | undefined {
    const review = this.#open;
    this.#open = undefined;
    this.renderer.context.progress.stage('idle');
    if (review !== undefined) return this.#replyTo(review.body, this.#failed(review, new TimedOut('stopped')));
    this.#ground.clear();
    return undefined;
  }

  /** Milliseconds after which a review is stopped at the latest, where its bound is this. */
  patience(timeoutMs: number): number {
    return timeoutMs * PATIENCE;
  }

  /** A little of the work on the ledger, which the next review need not wait for then; false when there is none. */
  settle(): boolean {
    const base = this.renderer.accepted;
    if (base === undefined) return false;
    try {
      return this.#ground.settle(base);
    } catch (error) {
      if (!isLedgerEnd(error)) throw error;
      this.#ground.clear();
      return false;
    }
  }

  /** `render`: the review's own, if it came to one; the ground goes on from it when nothing has moved meanwhile. */
  remember({ number, change, render }: ThreadApi['remember'][0]): void {
    this.#ground.remember(number, change, render === undefined ? undefined : this.#reviewed.get(render));
  }

  forget({ number }: ThreadApi['forget'][0]): void {
    this.#ground.forget(number);
  }

  release(render: number): void {
    this.#reviewed.delete(render);
    this.renderer.release(render);
  }

  #render(body: ReviewBody): ReviewRender {
    const base = this.renderer.accepted;
    if (base === undefined) return { kind: 'cold' };
    const expiresIn = body.expiresAt - Date.now();
    const left = Math.min(body.timeoutMs, expiresIn);
    if (left <= 0) return { kind: 'late' };
    const { progress } = this.renderer.context;
    const review = new OpenReview(body, performance.now());
    this.#open = review;
    try {
      const latest = Math.min(this.patience(body.timeoutMs), expiresIn);
      const done = runBounded(() => this.#run(body, base, review), left, latest);
      return this.#rendered(body, done, review.times());
    } catch (error) {
      return this.#failed(review, error);
    } finally {
      this.#open = undefined;
      progress.stage('idle');
    }
  }

  #failed({ body, session, times }: OpenReview, error: unknown): ReviewRender {
    if (session === undefined) return this.#renderWithoutLedger(body, error);
    if (error instanceof IngestError) return { kind: 'refused', reason: error.message };
    const executed = session.executedKeys.length;
    return { ...this.#ended(error, session, body.change), executed, ...times() } as ReviewRender;
  }

  /** The ledger only adds strictness: what can't be rendered of it is forgotten. */
  #renderWithoutLedger(body: ReviewBody, error: unknown): ReviewRender {
    if (body.without === 'all' || !isLedgerEnd(error)) throw error;
    this.#ground.clear();
    return this.#render({ ...body, without: 'all' });
  }

  #run(body: ReviewBody, base: RenderState, review: OpenReview): Finished {
    // What was admitted a moment ago is ground: its executions and warnings are not this change's.
    const ground = body.without === 'all' ? base : this.#ground.over(base, body.change, body.without);
    const session = new RenderSession(this.renderer.context, ground);
    review.session = session;
    this.#apply(session, [body.change]);
    review.overlaid();
    return this.#finish(session, ground, base);
  }

  #apply(session: RenderSession, changes: readonly ObjectChange[]): void {
    const byAlias = new Map<string, Map<string, ObjectEdit>>();
    for (const change of changes) {
      const edits = byAlias.get(change.alias) ?? new Map<string, ObjectEdit>();
      edits.set(`${change.namespace}/${change.name}`, this.renderer.parseEdit(change));
      byAlias.set(change.alias, edits);
    }
    for (const [alias, edits] of byAlias) session.applyEdits(alias, [...edits.values()]);
  }

  #finish(session: RenderSession, ground: RenderState, base: RenderState): Finished {
    const { host } = this.renderer.context;
    host.rawLinesUsed = false;
    session.run();
    const outputs = session.outputs();
    return {
      session,
      ground,
      base,
      outputs,
      digest: outputsDigest(outputs),
      unchanged: sameOutputs(base.outputs, outputs),
      raw: host.rawLinesUsed,
    };
  }

  #rendered(body: ReviewBody, done: Finished, times: RenderTimes): ReviewRender {
    const { session, ground, base, outputs, digest, unchanged, raw } = done;
    const render = this.renderer.keep({ outputs, ...readsOf(session) });
    const footprint = raw ? undefined : footprintOf(session);
    this.#reviewed.set(render, { session, ground, base, change: body.change, footprint });
    return {
      kind: 'rendered',
      render,
      unchanged,
      digest,
      executed: session.executedKeys.length,
      warnings: warningsOf(session, body.change),
      shareable: footprint !== undefined,
      leansOnLedger: ground !== base && this.#leansOnLedger(done),
      ...times,
    };
  }

  /** Whether something that it ran, or a key that it moved, would be another without the ledger. */
  #leansOnLedger({ session, ground, base }: ReviewedSession): boolean {
    const { touched } = this.#ground;
    const reads = session.executedKeys.flatMap((key) => session.graph.frameOf(key));
    const moved = session.winnerChanges.map(({ group, cell, key }) => selectKey(group, cell, key));
    const suspect = [...reads, ...moved].filter((input) => touched.has(input));
    if (suspect.length === 0) return false;
    const { context } = this.renderer;
    const [before, after] = [new RenderSession(context, base), new RenderSession(context, ground)];
    return suspect.some((input) => !sameAnswer(input, before, after));
  }

  #ended(error: unknown, session: RenderSession, change: ObjectChange): object {
    const { instance } = this.renderer.context.progress.read();
    const own = instance.endsWith(` of ${objectLabel(change.alias, change.namespace, change.name)}`);
    if (error instanceof RenderFailure) return { kind: 'fault', faults: error.faults.map(tracedFault) };
    if (error instanceof TimedOut) return { kind: 'timeout', own, instance };
    if (error instanceof RenderStopped && error.why === 'heap') return { kind: 'heap', own, message: error.message };
    // A template that grows a string past the engine's limit, or recurses too deep, outside of an instance.
    if (error instanceof TemplateFault || error instanceof RangeError)
      return { kind: 'heap', own, message: error.message };
    throw error;
  }

  /** Quarantines that a person who changes this object should hear of (DESIGN 8). */
  #standing(change: ObjectChange): readonly QuarantineEntry[] {
    const { quarantine, stores } = this.renderer;
    if (quarantine.size === 0) return [];
    const before = stores.find(change.alias, change.namespace, change.name);
    const inputs = inputsOfChange({ ...change, before, after: before }, stores.store(change.alias).snapshot().paths);
    const touched = new Set(quarantine.readersOf(new Set(inputs)).map(refKey));
    return quarantine.entries().filter((entry) => {
      if (refKey(entry) === refKey(change)) return false;
      return (change.namespace !== '' && entry.namespace === change.namespace) || touched.has(refKey(entry));
    });
  }

  // --- Shared checks

  /**
   * Renders the changes of several reviews together. They may share a check when they are independent: other identities,
   * no raw lines, no instance executed and no cell key written by two of them; the graph knows (DESIGN 8). Those that are
   * not, or that stand on another base, are left for later. The ground is that of the last one, which has most in.
   */
  combine(body: ThreadApi['combine'][0]): ThreadApi['combine'][1] {
    const chosen = this.#independent(body.renders);
    if (chosen.length < 2) return { render: undefined };
    const members = chosen.map((id) => this.#reviewed.get(id)).filter((member) => member !== undefined);
    const latest = members.at(-1);
    if (latest === undefined) return { render: undefined };
    const session = new RenderSession(this.renderer.context, latest.ground);
    try {
      this.#apply(
        session,
        members.map((member) => member.change),
      );
      const run = (): Finished => this.#finish(session, latest.ground, latest.base);
      const { outputs, digest } = runBounded(run, body.timeoutMs);
      return {
        render: this.renderer.keep({ outputs, ...readsOf(session) }),
        digest,
        left: body.renders.filter((id) => !chosen.includes(id)),
      };
    } catch (error) {
      if (isRenderEnd(error)) return { render: undefined };
      throw error;
    }
  }

  #independent(renders: readonly number[]): readonly number[] {
    const taken = new Set<string>();
    let base: RenderState | undefined;
    return renders.filter((id) => {
      const reviewed = this.#reviewed.get(id);
      if (reviewed?.footprint === undefined || (base !== undefined && reviewed.base !== base)) return false;
      const footprint = [...reviewed.footprint, refKey(reviewed.change)];
      if (footprint.some((key) => taken.has(key))) return false;
      footprint.forEach((key) => taken.add(key));
      base = reviewed.base;
      return true;
    });
  }
}

/** What a review came to so far: a stopped one leaves nothing but this. */
class OpenReview {
  session: RenderSession | undefined;
  #overlaidAt: number | undefined;

  constructor(
    readonly body: ReviewBody,
    private readonly startedAt: number,
  ) {}

  overlaid(): void {
    this.#overlaidAt = performance.now();
  }

  readonly times = (): RenderTimes => {
    const now = performance.now();
    const overlaidAt = this.#overlaidAt ?? now;
    return { overlayMs: overlaidAt - this.startedAt, renderMs: now - overlaidAt };
  };
}

function isLedgerEnd(error: unknown): boolean {
  return isRenderEnd(error) || error instanceof IngestError;
}

function isRenderEnd(error: unknown): boolean {
  return error instanceof RenderFailure || error instanceof TimedOut || error instanceof RenderStopped;
}

function footprintOf(session: RenderSession): ReadonlySet<string> | undefined {
  const footprint = new Set(session.executedKeys);
  for (const { instance, before, after } of session.changed.values()) {
    footprint.add(instance.key);
    for (const result of [before, after]) addCells(footprint, instance.spec.group, result);
    if (footprint.size > MAX_FOOTPRINT) return undefined;
  }
  return footprint;
}

function addCells(footprint: Set<string>, group: string, result: InstanceResult | undefined): void {
  for (const { cell, key } of [...(result?.publications ?? []), ...(result?.uniques ?? [])])
    footprint.add(`cell ${group} ${cell} ${key}`);
}

/** The reviewed object's own warnings, all of them, and those that its change gives to others. */
function warningsOf(session: RenderSession, change: ObjectChange): readonly string[] {
  const ownComponents = session.context.plan.bySource.get(change.alias) ?? [];
  const ownKeys = ownComponents.map((component) =>
    instanceKey({ component: component.name, source: change.alias, namespace: change.namespace, name: change.name }),
  );
  const own = ownKeys.flatMap((key) => (session.graph.valueOf(key) as InstanceResult | undefined)?.events ?? []);
  const others = [...session.changed.values()]
    .filter(({ instance }) => !ownKeys.includes(instance.key))
    .flatMap(({ before, after }) => eventsAdded(before, after));
  const messages = [...own, ...others].filter((event) => event.type === 'Warning').map((event) => event.message);
  return [...new Set([...messages, ...takeovers(session)])];
}

/** Contested keys that another object wins from now on, although its rival did not lose them by an event of its own. */
function takeovers(session: RenderSession): readonly string[] {
  return session.winnerChanges.flatMap(({ cell, key, before, after }) => {
    if (before === undefined || after === undefined || before.rank === '' || before.owner === after.owner) return [];
    const loser = parseInstanceKey(before.owner);
    const winner = parseInstanceKey(after.owner);
    if (loser.namespace === winner.namespace && loser.name === winner.name) return [];
    return [`${winner.namespace}/${winner.name} takes over ${cell} ${key} from ${loser.namespace}/${loser.name}`];
  });
}

function tracedFault(fault: RenderFault): TracedFault {
  const { instance, field, place, excerpt, reason } = fault;
  return {
    id: faultId(fault),
    object:
      instance === undefined
        ? undefined
        : { alias: instance.source, namespace: instance.namespace, name: instance.name },
    field,
    template: place === undefined ? undefined : { name: place.template, file: place.file, line: place.line },
    excerpt,
    rendered: undefined,
    text: reason,
  };
}
