import type { Logger } from 'pino';
import type { ApiCall, ApiClient } from './api-client.js';
import { ApiError } from './api-error.js';

export interface LeadershipTiming {
  /** After so long without a sign of life of the holder, others take the lease. Milliseconds, as are all. */
  readonly leaseMs: number;
  /** The holder gives up when its last renewal began so long ago; less than `leaseMs`, by what clocks and processes may lag. */
  readonly renewMs: number;
  /** Time between two tries. */
  readonly retryMs: number;
}

/** client-go's usual figures. */
export const LEASE_TIMING: LeadershipTiming = { leaseMs: 15_000, renewMs: 10_000, retryMs: 2_000 };

export interface LeadershipOptions {
  readonly client: Pick<ApiClient, 'json'>;
  readonly namespace: string;
  /** Of the Lease. */
  readonly name: string;
  /** Of this process alone: a second process with the same one would take the first one's lease for its own. */
  readonly identity: string;
  readonly log: Logger;
  readonly timing?: LeadershipTiming;
}

interface LeaseSpec {
  readonly holderIdentity?: string;
  readonly leaseDurationSeconds?: number;
  readonly acquireTime?: string;
  readonly renewTime?: string;
  readonly leaseTransitions?: number;
}

interface Lease {
  readonly metadata: { readonly resourceVersion?: string };
  readonly spec?: LeaseSpec;
}

/** `contended`: another wrote meanwhile; who has the lease shows at the next try. */
type Outcome = 'held' | 'taken' | 'contended';

/** Processes that lost their leader at the same moment do not come back at the same moment. */
const JITTER = 0.2;
const RELEASE_TRIES = 3;

/**
 * Elects one leader among processes by a Lease (DESIGN 9; modelled on client-go's leaderelection). Writes carry the
 * resourceVersion that was read, so of two only one succeeds. The times in the Lease are for people: a lease has run out
 * when it has not changed for its duration by the own clock, and the holder's term has ended before, counted from the
 * beginning of its last successful request. A process that stands still for longer (SIGSTOP) finds out when it goes on.
 */
export class Leadership {
  readonly #timing: LeadershipTiming;
  /** As last read or written, and when that was. */
  #lease: Lease | undefined;
  #seenAt = Number.NEGATIVE_INFINITY;
  #term: AbortController | undefined;
  /** `performance.now()` at which the term ends unless it is renewed. */
  #endsAt = Number.NEGATIVE_INFINITY;
  #expiry: NodeJS.Timeout | undefined;
  #problem: string | undefined;
  #onTerm: (term: AbortSignal) => void = () => undefined;
  readonly #closing = new AbortController();
  #running: Promise<void> | undefined;

  constructor(private readonly options: LeadershipOptions) {
    this.#timing = options.timing ?? LEASE_TIMING;
  }

  get isLeader(): boolean {
    return this.#term !== undefined && performance.now() < this.#endsAt;
  }

  /** Identity that the Lease names, if it could be read: the leader, or the last one. */
  get holder(): string | undefined {
    const holder = this.#lease?.spec?.holderIdentity;
    return holder === '' ? undefined : holder;
  }

  /** Why the Lease cannot be read or written now; undefined while it can. */
  get problem(): string | undefined {
    return this.#problem;
  }

  /** Takes part from now on. Each term's signal aborts before anybody else can hold the lease. */
  start(onTerm: (term: AbortSignal) => void): void {
    this.#onTerm = onTerm;
    this.#running ??= this.#run();
  }

  /** Ends the term, then gives the lease back, so that another need not wait until it runs out. Never rejects. */
  async close(): Promise<void> {
    this.#closing.abort();
    this.#endTerm('this process ends');
    if (this.#running === undefined) return;
    await this.#running;
    await this.#release();
  }

  async #run(): Promise<void> {
    const { signal } = this.#closing;
    while (!signal.aborted) {
      await this.#try();
      await pause(this.#timing.retryMs * (1 + JITTER * Math.random()), signal);
    }
  }

  async #try(): Promise<void> {
    const began = performance.now();
    try {
      const outcome = await this.#bounded((signal) => this.#acquireOrRenew(signal), this.#closing.signal);
      if (outcome === 'held') this.#hold(began);
      if (outcome === 'taken') this.#endTerm(`${this.holder ?? 'another'} holds the lease`);
      this.#worked();
    } catch (error) {
      if (!this.#closing.signal.aborted) this.#failed(error);
    }
  }

  /** A request that hangs must leave time for another before the term has to end. */
  async #bounded<T>(work: (signal: AbortSignal) => Promise<T>, outer?: AbortSignal): Promise<T> {
    const limitMs = this.#timing.renewMs / 2;
    const bound = new AbortController();
    const stop = (): void => bound.abort(outer?.reason);
    const timer = setTimeout(() => bound.abort(new Error(`no answer within ${limitMs} ms`)), limitMs);
    outer?.addEventListener('abort', stop);
    try {
      return await work(bound.signal);
    } finally {
      clearTimeout(timer);
      outer?.removeEventListener('abort', stop);
    }
  }

  // --- The Lease

  async #acquireOrRenew(signal: AbortSignal): Promise<Outcome> {
    // One request is enough while nobody else has written.
    if (this.#term !== undefined && this.#lease !== undefined && (await this.#write(this.#claim(), signal)))
      return 'held';
    const exists = await this.#read(signal);
    // One that was deleted may have a leader yet, who finds out at its next renewal.
    if (this.#isTaken()) return 'taken';
    const written = exists ? await this.#write(this.#claim(), signal) : await this.#create(signal);
    return written ? 'held' : 'contended';
  }

  #isTaken(): boolean {
    const { holderIdentity = '', leaseDurationSeconds } = this.#lease?.spec ?? {};
    if (holderIdentity === '' || holderIdentity === this.options.identity) return false;
    const leaseMs = leaseDurationSeconds === undefined ? this.#timing.leaseMs : leaseDurationSeconds * 1_000;
    return performance.now() < this.#seenAt + leaseMs;
  }

  #claim(): LeaseSpec {
    const { identity } = this.options;
    const now = microTime();
    const before = this.#lease?.spec ?? {};
    const isRenewal = this.#term !== undefined && before.holderIdentity === identity;
    return {
      ...before,
      holderIdentity: identity,
      leaseDurationSeconds: Math.ceil(this.#timing.leaseMs / 1_000),
      acquireTime: isRenewal ? (before.acquireTime ?? now) : now,
      renewTime: now,
      leaseTransitions: (before.leaseTransitions ?? -1) + (isRenewal ? 0 : 1),
    };
  }

  /** False when there is none. */
  async #read(signal: AbortSignal): Promise<boolean> {
    try {
      this.#see(await this.#call({ path: this.#path, signal }));
      return true;
    } catch (error) {
      if (error instanceof ApiError && error.status === 404) return false;
      throw error;
    }
  }

  /** Other fields of the object stay as they are. False when another was faster. */
  #write(spec: LeaseSpec, signal: AbortSignal): Promise<boolean> {
    return this.#unlessConflict({ method: 'PUT', path: this.#path, body: { ...this.#lease, spec }, signal });
  }

  #create(signal: AbortSignal): Promise<boolean> {
    const { namespace, name } = this.options;
    const body = {
      apiVersion: 'coordination.k8s.io/v1',
      kind: 'Lease',
      metadata: { namespace, name },
      spec: this.#claim(),
    };
    return this.#unlessConflict({ method: 'POST', path: this.#folder, body, signal });
  }

  /** A Lease that is gone at a PUT is created by the next try. */
  async #unlessConflict(call: ApiCall): Promise<boolean> {
    try {
      this.#see(await this.#call(call));
      return true;
    } catch (error) {
      const isGone = error instanceof ApiError && error.status === 404 && call.method === 'PUT';
      if (isGone || (error instanceof ApiError && error.status === 409)) return false;
      throw error;
    }
  }

  #call(call: ApiCall): Promise<Lease> {
    return this.options.client.json<Lease>(call);
  }

  /** Any write is a sign of life: its time is when it was seen, which is never before it was made. */
  #see(lease: Lease): void {
    if (lease.metadata.resourceVersion !== this.#lease?.metadata.resourceVersion) this.#seenAt = performance.now();
    this.#lease = lease;
  }

  get #folder(): string {
    return `/apis/coordination.k8s.io/v1/namespaces/${encodeURIComponent(this.options.namespace)}/leases`;
  }

  get #path(): string {
    return `${this.#folder}/${encodeURIComponent(this.options.name)}`;
  }

  // --- Terms

  #hold(began: number): void {
    const endsAt = began + this.#timing.renewMs;
    const leftMs = endsAt - performance.now();
    // An answer that came too late is none: the lease may be another's by now.
    if (this.#closing.signal.aborted || leftMs <= 0) return;
    this.#endsAt = endsAt;
    clearTimeout(this.#expiry);
    this.#expiry = setTimeout(() => this.#endTerm(`not renewed for ${this.#timing.renewMs} ms`), leftMs);
    if (this.#term !== undefined) return;
    this.#term = new AbortController();
    this.options.log.info({ lease: this.#label, identity: this.options.identity }, 'leading');
    this.#onTerm(this.#term.signal);
  }

  #endTerm(reason: string): void {
    const term = this.#term;
    if (term === undefined) return;
    this.#term = undefined;
    clearTimeout(this.#expiry);
    term.abort();
    this.options.log.warn({ lease: this.#label, reason }, 'not leading any more');
  }

  /** What was sent before may have taken effect without an answer, so it is looked up who holds the lease. */
  async #release(): Promise<void> {
    try {
      await this.#bounded(async (signal) => {
        for (let tries = 0; tries < RELEASE_TRIES; tries++) {
          if (!(await this.#read(signal)) || this.holder !== this.options.identity) return;
          const now = microTime();
          const nobody = { holderIdentity: '', leaseDurationSeconds: 1, acquireTime: now, renewTime: now };
          if (await this.#write({ ...this.#lease?.spec, ...nobody }, signal)) return;
        }
      });
    } catch (error) {
      const effect = `another takes over when it has run out, in ${this.#timing.leaseMs / 1_000} s`;
      this.options.log.warn({ lease: this.#label, problem: messageOf(error), effect }, 'lease not released');
    }
  }

  // --- Problems

  #worked(): void {
    if (this.#problem !== undefined) this.options.log.info({ lease: this.#label }, 'lease is reachable again');
    this.#problem = undefined;
  }

  /** Each problem is told once, not at every try. */
  #failed(error: unknown): void {
    const problem = messageOf(error);
    if (problem === this.#problem) return;
    this.#problem = problem;
    const effect = this.isLeader
      ? `leadership ends ${this.#timing.renewMs / 1_000} s after the last renewal`
      : 'this replica cannot lead, so it does not publish';
    this.options.log.error({ lease: this.#label, problem, effect, ...this.#advice(error) }, 'lease is out of reach');
  }

  #advice(error: unknown): { readonly fix?: string } {
    const { namespace } = this.options;
    if (!(error instanceof ApiError)) return {};
    if (error.status === 403)
      return {
        fix: `grant get, create and update on leases (coordination.k8s.io) in namespace ${namespace}, or give --no-leader-elect to a single replica`,
      };
    if (error.status === 404) return { fix: `create the namespace ${namespace}, or name another with --namespace` };
    return {};
  }

  get #label(): string {
    return `${this.options.namespace}/${this.options.name}`;
  }
}

/** Kubernetes' MicroTime. */
function microTime(): string {
  return new Date().toISOString().replace('Z', '000Z');
}

function messageOf(error: unknown): string {
  return error instanceof Error ? error.message : String(error);
}

/** Resolves when the time is over or the signal aborts. */
function pause(ms: number, signal: AbortSignal): Promise<void> {
  return new Promise((resolve) => {
    const done = (): void => {
      clearTimeout(timer);
      signal.removeEventListener('abort', done);
      resolve();
    };
    const timer = setTimeout(done, ms);
    signal.addEventListener('abort', done);
    if (signal.aborted) done();
  });
}
