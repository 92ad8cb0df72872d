import type { Logger } from 'pino';
import type { Checker, CheckFile, CheckOutcome } from '../check/checker.js';
import type { VerdictCache } from '../check/verdict-cache.js';
import type { RenderSettings } from '../config/render-config.js';
import type {
  ObjectChange,
  ObjectRef,
  QuarantineEntry,
  ReconcileReply,
  StoredQuarantine,
  ThreadApi,
} from '../render/protocol.js';
import { objectLabel } from '../render/keys.js';
import type { RenderHost } from '../render/render-host.js';
import { ThreadLost } from '../render/render-thread.js';
import { type BlamedObject, blameByHalving, blameByLine } from './blame.js';
import { ColdWatch } from './cold-watch.js';
import type { Publisher } from './publish-directory.js';
import { QuarantineReport } from './quarantine-report.js';
import type { Reloader } from './reload.js';
import { ReloadLoop } from './reload-loop.js';
import { type Role, Roles } from './role.js';
import { Trigger } from './trigger.js';

type Rendered = ReconcileReply & { readonly kind: 'rendered' };

export interface ReconcileReport {
  readonly kind: 'cold' | 'warm';
  /** `accepted`: by a follower, which publishes nothing. `cancelled`: with the leadership term. */
  readonly result: 'published' | 'unchanged' | 'accepted' | 'refused' | 'unchecked' | 'failed' | 'cancelled';
  readonly seconds: number;
}

export interface CoordinatorOptions {
  readonly host: RenderHost;
  readonly checker: Checker;
  readonly verdicts: VerdictCache;
  readonly settings: RenderSettings;
  /** Where accepted outputs go; undefined for offline commands. */
  readonly publisher: Publisher | undefined;
  /** Told after each publication; undefined where HAProxy is no business of ours. */
  readonly reloader?: Reloader | undefined;
  /** Objects that an earlier process had put aside, as the render thread was told at its start. */
  readonly restored?: readonly ObjectRef[];
  /** True where it publishes in `lead`'s terms only; by default it always does. */
  readonly isElected?: boolean;
  /** `isLeader`: for whoever comes after this process too. */
  readonly saveQuarantine: (stored: StoredQuarantine, isLeader: boolean) => void;
  readonly log: Logger;
  readonly onReport?: (report: ReconcileReport) => void;
  /** Store revision (number of change batches taken in) that the accepted root has seen. */
  readonly onAccepted?: (revision: number) => void;
}

/** DESIGN 9: after so many checks in one cycle the accepted output stays and the state is reported. */
const MAX_CHECKS = 16;
const RETRY_MS = { first: 1_000, most: 30_000 } as const;

/**
 * The reconcile loop: render, check, accept, publish (DESIGN 9). One cycle at a time; triggers that arrive meanwhile make
 * one more. What the checker refuses is never published; objects that break it are quarantined and the rest goes on.
 * A follower (decision 0023's Warmer) does the same and tells nobody, so that its graph is warm when it is to lead.
 */
export class Coordinator {
  readonly #trigger: Trigger;
  readonly #coldWatch: ColdWatch;
  readonly #reloads: ReloadLoop | undefined;
  #revision = 0;
  #retryMs: number = RETRY_MS.first;
  #retry: NodeJS.Timeout | undefined;
  #lastProblem: string | undefined;
  /** Whether the accepted root's outputs stand in the output directory. */
  #isPublished = false;
  #rendering = false;
  #started = false;
  #restored: readonly ObjectRef[];
  readonly #closing = new AbortController();
  readonly #roles: Roles;
  readonly #quarantine: QuarantineReport;
  /** The role that the running cycle began in: a follower's cycle stays one when its replica is to lead. */
  #acting: Role;

  constructor(private readonly options: CoordinatorOptions) {
    this.#restored = options.restored ?? [];
    this.#quarantine = new QuarantineReport(options.log);
    this.#roles = new Roles(options.isElected === true, this.#closing.signal, () => this.#changeRole());
    this.#acting = this.#roles.current;
    this.#trigger = new Trigger(() => this.cycle(), options.settings.debounceMs);
    this.#coldWatch = new ColdWatch(options.host, options.settings.timeoutMs, options.log);
    const { reloader, log } = options;
    this.#reloads = reloader === undefined ? undefined : new ReloadLoop(reloader, log, this.#closing.signal);
  }

  /** The role that the running cycle works in is over: whatever it still does must not be seen. */
  get #isCut(): boolean {
    return this.#acting.signal.aborted;
  }

  get quarantined(): readonly QuarantineEntry[] {
    return this.#quarantine.entries;
  }

  /** Why the newest state is not published, or not in use, or undefined when it is. */
  get problem(): string | undefined {
    return this.#lastProblem ?? this.#reloads?.problem;
  }

  /** Number of change batches taken in so far. */
  get revision(): number {
    return this.#revision;
  }

  /** Hands stored changes to the render thread and asks for a cycle. Returns the revision at which they are in. */
  change(changes: readonly ObjectChange[]): number {
    return this.#take({ changes });
  }

  /** As `change`, with all objects that these aliases have. */
  relist(aliases: readonly string[], changes: readonly ObjectChange[]): number {
    return this.#take({ changes, relist: aliases });
  }

  #take(body: ThreadApi['store'][0]): number {
    const revision = ++this.#revision;
    void this.#store(body);
    if (this.#started) this.#trigger.fire();
    return revision;
  }

  async #store(body: ThreadApi['store'][0]): Promise<void> {
    try {
      const { refused } = await this.options.host.request('store', body);
      for (const reason of refused) this.options.log.warn({ reason }, 'object left out');
    } catch (error) {
      // A thread that is lost now is replaced by one that is fed everything again.
      if (!(error instanceof ThreadLost)) this.#fail(internalError(error));
    }
  }

  /**
   * The thread died at this instance (`backends of ingresses shop/web`). If it was at work for us, a stored object did it
   * and is held back in the cold render that follows (DESIGN 8); a review's object is the judge's to remember.
   */
  threadLost(instance: string): void {
    const [, component, alias, title = ''] = /^(\S+) of (\S+) (.*)$/.exec(instance) ?? [];
    if (this.#rendering && alias !== undefined && !this.#isCut) {
      const [name = '', namespace = ''] = title.split('/').reverse();
      const reason = `its instance of ${component} was running when the render thread died`;
      void this.options.host
        .request('quarantine', { objects: [{ alias, namespace, name, faults: [`thread ${component}`], reason }] })
        .catch(() => undefined); // lost again: the next loss names its own instance
    }
    if (this.#started) this.#trigger.fire();
  }

  /** Changes that came before are only taken in: with a part of the objects a part of the configuration would come out. */
  start(): void {
    this.#started = true;
    this.#trigger.fire(true);
  }

  /**
   * Cycles publish until the term aborts, beginning with one now. What of the term is under way then is cancelled, nothing
   * of it is published any more, and the next cycle is a follower's own (decisions 0023 and 0029).
   */
  lead(term: AbortSignal): void {
    this.#roles.lead(term);
  }

  #changeRole(): void {
    // While another led, it has published.
    this.#isPublished = false;
    if (this.#started) this.#trigger.fire(true);
  }

  /** Runs what was asked for and resolves when it is done. */
  settled(): Promise<void> {
    return this.#trigger.settled();
  }

  async close(): Promise<void> {
    this.#closing.abort();
    this.#coldWatch.close();
    this.options.host.cancel();
    await this.#trigger.close();
    clearTimeout(this.#retry);
  }

  /** One whole cycle; never rejects. */
  async cycle(): Promise<void> {
    this.#started = true;
    this.#acting = this.#roles.current;
    clearTimeout(this.#retry);
    const started = performance.now();
    try {
      const report = await this.#cycle();
      const result = this.#isCut && report.result !== 'published' ? 'cancelled' : report.result;
      this.options.onReport?.({ ...report, result, seconds: (performance.now() - started) / 1000 });
    } catch (error) {
      if (error instanceof ThreadLost) this.#trigger.fire();
      else this.#fail(internalError(error));
    }
  }

  async #cycle(): Promise<Omit<ReconcileReport, 'seconds'>> {
    const revision = this.#revision;
    const reply = await this.#render();
    const kind = reply.kind === 'rendered' && !reply.cold ? 'warm' : 'cold';
    if (reply.kind === 'failed') {
      this.#fail(`the render failed: ${reply.faults.map((fault) => fault.reason).join('; ')}`);
      return { kind, result: 'failed' };
    }
    if (reply.kind === 'stopped') {
      if (reply.why === 'timeout') this.#trigger.fire(true);
      this.#fail(reply.message);
      return { kind, result: 'failed' };
    }
    return { kind, result: await this.#settle(reply, revision) };
  }

  async #render(): Promise<ReconcileReply> {
    this.#coldWatch.begin();
    this.#rendering = true;
    try {
      return await this.options.host.reconcile(this.options.settings.timeoutMs, this.#acting.signal);
    } finally {
      this.#rendering = false;
      this.#coldWatch.end();
    }
  }

  // --- Check

  async #settle(first: Rendered, revision: number): Promise<ReconcileReport['result']> {
    let rendered = first;
    for (let checks = 0; checks < MAX_CHECKS; checks++) {
      const outcome = rendered.unchanged ? 'unchanged' : await this.#check(rendered);
      if (outcome === 'unchanged' || outcome.kind === 'passed') return this.#accept(rendered, revision);
      if (outcome.kind === 'unavailable') return this.#unchecked(outcome.message);
      const blamed = await blameByLine(this.options.host, rendered.render, outcome.findings);
      if (blamed.length === 0) return this.#settleByHalving(rendered, outcome, revision, MAX_CHECKS - checks - 1);
      const next = await this.#without(blamed);
      this.options.host.tell('release', { render: rendered.render });
      if (next === undefined) return 'failed';
      rendered = next;
    }
    // Each try has put somebody aside, so the next cycle gets further: giving up here would keep everybody else waiting.
    this.#trigger.fire(true);
    return this.#refused(
      `the checker still refuses the configuration after ${MAX_CHECKS} tries, it goes on from there`,
    );
  }

  async #check(rendered: Rendered): Promise<CheckOutcome> {
    const { checker, verdicts, host } = this.options;
    const key = `${checker.identity} ${rendered.digest}`;
    const known = verdicts.get(key);
    if (known !== undefined) return known;
    const files = (): Promise<readonly CheckFile[]> => host.request('files', { render: rendered.render });
    const outcome = await checker.check({ files, lane: 'reconcile', signal: this.#acting.signal });
    verdicts.put(key, outcome);
    return outcome;
  }

  /** Renders again with these objects held back. */
  async #without(objects: readonly BlamedObject[]): Promise<Rendered | undefined> {
    await this.options.host.request('quarantine', { objects });
    const reply = await this.#render();
    if (reply.kind === 'rendered') return reply;
    this.#fail(reply.kind === 'stopped' ? reply.message : reply.faults.map((fault) => fault.reason).join('; '));
    return undefined;
  }

  async #settleByHalving(
    rendered: Rendered,
    outcome: CheckOutcome & { kind: 'refused' },
    revision: number,
    triesLeft: number,
  ): Promise<ReconcileReport['result']> {
    const { host } = this.options;
    const said = outcome.findings[0]?.text ?? '';
    const asBlamed = (refs: readonly ObjectRef[]): BlamedObject[] =>
      refs.map((ref) => ({
        ...ref,
        faults: [`unplaced ${said}`],
        reason: `the checker refuses the configuration with it: ${said}`,
      }));
    host.tell('release', { render: rendered.render });
    const suspects = await host.request('suspects', null);
    const guilty = await blameByHalving(suspects, Math.max(1, triesLeft - 3), async (refs) => {
      const tried = await this.#without(asBlamed(refs));
      const passed = tried !== undefined && (await this.#check(tried)).kind === 'passed';
      if (tried !== undefined) host.tell('release', { render: tried.render });
      await host.request('unquarantine', { objects: refs });
      return passed;
    });
    // What was cancelled has failed nobody: the next cycle looks again.
    if (this.#isCut) return 'failed';
    if (guilty.length === 0)
      return this.#refused(`the checker refuses the configuration, and no object is to blame: ${said}`);
    const clean = await this.#without(asBlamed(guilty));
    if (clean === undefined) return 'failed';
    return (await this.#check(clean)).kind === 'passed' ? this.#accept(clean, revision) : this.#refused(said);
  }

  #refused(message: string): 'refused' {
    this.#fail(`${message}; the last accepted configuration stays`);
    return 'refused';
  }

  /**
   * Objects put aside by an earlier process get one more try once there is an accepted root: the configuration, the
   * checker or what they read may have changed while nobody looked.
   */
  async #retryRestored(): Promise<void> {
    const objects = this.#restored;
    if (objects.length === 0) return;
    this.#restored = [];
    await this.options.host.request('unquarantine', { objects });
    this.#trigger.fire();
  }

  /** The outputs wait and the check alone is repeated (DESIGN 7): the graph is committed, so the next render is warm. */
  #unchecked(message: string): 'unchecked' {
    this.#fail(`${message}; the check is repeated in ${this.#retryMs} ms, the last accepted configuration stays`);
    this.#repeatLater();
    return 'unchecked';
  }

  #repeatLater(): void {
    if (this.#isCut) return;
    this.#retry = setTimeout(() => this.#trigger.fire(true), this.#retryMs);
    this.#retryMs = Math.min(this.#retryMs * 2, RETRY_MS.most);
  }

  #fail(problem: string): void {
    if (this.#isCut) return;
    this.#lastProblem = problem;
    this.options.log.error({ problem, revision: this.#revision }, 'reconcile failed');
  }

  // --- Accept and publish

  async #accept(rendered: Rendered, revision: number): Promise<'published' | 'unchanged' | 'accepted' | 'failed'> {
    const { host, log, onAccepted, saveQuarantine } = this.options;
    const stored = await host.accept(rendered.render);
    const isLeader = this.#acting.leads && !this.#isCut;
    this.#lastProblem = undefined;
    this.#quarantine.tell(rendered.quarantined);
    saveQuarantine(stored, isLeader);
    for (const { alias, namespace, name, type, reason, message } of isLeader ? rendered.events : []) {
      log.info({ object: objectLabel(alias, namespace, name), type, reason, message }, 'event');
    }
    const published = rendered.unchanged && this.#isPublished ? undefined : await this.#publish(rendered);
    host.tell('release', { render: rendered.render });
    const { cold, executed, instances, renderMs } = rendered;
    log.info(
      {
        revision,
        cold,
        executed,
        instances,
        renderMs: round(renderMs),
        path: published,
        quarantined: this.quarantined.length,
        ...(this.#acting.leads ? {} : { role: 'follower' }),
      },
      published === undefined ? 'reconciled' : 'published',
    );
    onAccepted?.(revision);
    await this.#retryRestored();
    if (this.#lastProblem !== undefined) return 'failed';
    this.#retryMs = RETRY_MS.first;
    if (published !== undefined) return 'published';
    return this.#acting.leads || rendered.unchanged ? 'unchanged' : 'accepted';
  }

  async #publish(rendered: Rendered): Promise<string | undefined> {
    const { host, publisher } = this.options;
    if (publisher === undefined) return undefined;
    if (!this.#acting.leads || this.#isCut) return undefined;
    this.#isPublished = false;
    const files = await host.request('files', { render: rendered.render });
    try {
      const occurrence = `${Date.now()}-${rendered.digest.slice(0, 12)}`;
      const { path } = await publisher.publish(files, occurrence, this.#acting.signal);
      this.#isPublished = !this.#isCut;
      // Part of the occurrence: the next one is not published before HAProxy has had its chance to take this one.
      await this.#reloads?.reload();
      return path;
    } catch (error) {
      const cause = error instanceof Error ? error.message : String(error);
      this.#fail(`the output could not be published, it is tried again in ${this.#retryMs} ms: ${cause}`);
      this.#repeatLater();
      return undefined;
    }
  }
}

/** Its first line: the rest is a stack, which belongs to nobody who reads a problem. */
function internalError(error: unknown): string {
  const message = error instanceof Error ? error.message : String(error);
  return `an error of rendergate itself: ${message.split('\n')[0] ?? ''}`;
}

function round(ms: number): number {
  return Math.round(ms * 10) / 10;
}
