import type { ApiCall, ApiClient } from '../../src/cluster/api-client.js';
import { ApiError } from '../../src/cluster/api-error.js';
import type { Random } from '../fuzz/random.js';

export interface StoredLease {
  readonly metadata: { readonly resourceVersion: string };
  readonly spec: { readonly holderIdentity: string; readonly leaseTransitions: number };
}

/** Of 100 calls, how many meet each fault; the others are answered after a delay. */
export interface Faults {
  /** Never reaches the server. */
  readonly lost: number;
  /** Takes effect, perhaps much later, and is never answered. */
  readonly unanswered: number;
  /** Fails with 500 before it takes effect. */
  readonly failed: number;
  /** Fails with 500 although it took effect. */
  readonly failedLate: number;
  /** Takes seconds and not milliseconds. */
  readonly slow: number;
}

export const NO_FAULTS: Faults = { lost: 0, unanswered: 0, failed: 0, failedLate: 0, slow: 0 };

/**
 * One Lease as the API server keeps it, behind a network that loses, delays and reorders: what a caller has given up may
 * yet take effect. Time is the test's.
 */
export class LeaseApi {
  lease: StoredLease | undefined;
  faults: Faults = NO_FAULTS;
  calls: ApiCall[] = [];
  readonly cutOff = new Set<string>();
  #revision = 0;

  constructor(
    private readonly random: Random,
    private readonly onHolder: (identity: string) => void = () => undefined,
  ) {}

  clientOf(identity: string): Pick<ApiClient, 'json'> {
    return { json: (call) => this.#call(identity, call) as Promise<never> };
  }

  #call(identity: string, call: ApiCall): Promise<unknown> {
    this.calls.push(call);
    return new Promise((resolve, reject) => {
      const { signal } = call;
      const gone = (): void => reject(signal?.reason instanceof Error ? signal.reason : new Error('aborted'));
      if (signal?.aborted === true) return gone();
      signal?.addEventListener('abort', gone);
      this.#deliver(identity, call).then(resolve, reject);
    });
  }

  async #deliver(identity: string, call: ApiCall): Promise<unknown> {
    const kind = this.#fault(identity);
    if (kind === 'lost') return never();
    await this.#delay(kind);
    if (kind === 'failed') throw new ApiError(500, 'the server has failed');
    const answer = this.#serve(call);
    if (kind === 'unanswered') return never();
    await this.#delay(kind);
    if (kind === 'failedLate') throw new ApiError(500, 'the server has failed late');
    return answer;
  }

  #fault(identity: string): keyof Faults | 'none' {
    const isCut = this.cutOff.has(identity);
    if (isCut) return this.random.chance(50) ? 'lost' : 'unanswered';
    const { lost, unanswered, failed, failedLate, slow } = this.faults;
    const none = 100 - lost - unanswered - failed - failedLate - slow;
    return this.random.weighted({ lost, unanswered, failed, failedLate, slow, none });
  }

  #delay(kind: keyof Faults | 'none'): Promise<void> {
    const mostMs = kind === 'unanswered' ? 30_000 : kind === 'slow' ? 12_000 : 300;
    return new Promise((resolve) => setTimeout(resolve, this.random.int(mostMs)));
  }

  #serve({ method = 'GET', body }: ApiCall): StoredLease {
    if (method === 'GET') {
      if (this.lease === undefined) throw new ApiError(404, 'no such lease');
      return this.lease;
    }
    const sent = body as StoredLease;
    if (method === 'POST' && this.lease !== undefined) throw new ApiError(409, 'the lease exists already');
    if (method === 'PUT' && this.lease === undefined) throw new ApiError(404, 'no such lease');
    if (method === 'PUT' && sent.metadata.resourceVersion !== this.lease?.metadata.resourceVersion)
      throw new ApiError(409, 'the lease has changed');
    // Clocks of others may say anything.
    const wrong = new Date(this.random.int(4_000_000) * 1_000_000).toISOString();
    const spec = { ...sent.spec, renewTime: wrong, acquireTime: wrong };
    this.lease = { ...sent, metadata: { ...sent.metadata, resourceVersion: String(++this.#revision) }, spec };
    this.onHolder(spec.holderIdentity);
    return this.lease;
  }
}

function never(): Promise<never> {
  return new Promise(() => undefined);
}
