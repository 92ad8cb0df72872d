import { objectLabel, parseInstanceKey } from './keys.js';

/**
 * The shared buffer through which the main thread sees a busy render thread (DESIGN 1). Words are written by the render
 * thread alone, but for the cancel word.
 */
export interface RenderProgress {
  readonly stage: RenderStage;
  /** Instances done and known so far in this render. */
  readonly done: number;
  readonly known: number;
  readonly heapMiB: number;
  /** The instance that runs or ran last: `backends of ingresses shop/web`. */
  readonly instance: string;
}

export const RENDER_STAGES = ['idle', 'loading', 'instances', 'outputs', 'holding'] as const;
export type RenderStage = (typeof RENDER_STAGES)[number];

const WORDS = { stage: 0, done: 1, known: 2, heap: 3, cancel: 4, keyLength: 5, render: 6 } as const;
/** No reconcile render is running: reviews are not cancelled so. */
const NO_RENDER = 0;
const KEY_OFFSET = 64;
/** Component (63) + alias (63) + namespace (63) + name (253), and some more. */
const KEY_BYTES = 512;

export class ProgressBuffer {
  readonly #words: Int32Array;
  readonly #key: Buffer;

  constructor(readonly shared: SharedArrayBuffer = new SharedArrayBuffer(KEY_OFFSET + KEY_BYTES)) {
    this.#words = new Int32Array(shared, 0, KEY_OFFSET / 4);
    this.#key = Buffer.from(shared, KEY_OFFSET, KEY_BYTES);
  }

  read(): RenderProgress {
    const length = Math.min(Atomics.load(this.#words, WORDS.keyLength), KEY_BYTES);
    return {
      stage: RENDER_STAGES[Atomics.load(this.#words, WORDS.stage)] ?? 'idle',
      done: Atomics.load(this.#words, WORDS.done),
      known: Atomics.load(this.#words, WORDS.known),
      heapMiB: Atomics.load(this.#words, WORDS.heap),
      instance: labelOf(this.#key.toString('utf8', 0, length)),
    };
  }

  stage(stage: RenderStage): void {
    Atomics.store(this.#words, WORDS.stage, RENDER_STAGES.indexOf(stage));
  }

  counts(done: number, known: number): void {
    Atomics.store(this.#words, WORDS.done, done);
    Atomics.store(this.#words, WORDS.known, known);
  }

  heap(mebibytes: number): void {
    Atomics.store(this.#words, WORDS.heap, Math.round(mebibytes));
  }

  /** Takes the instance's key as it is: who reads it makes a label of it, thousands of times less often. */
  instance(key: string): void {
    Atomics.store(this.#words, WORDS.keyLength, this.#key.write(key, 'utf8'));
  }

  /** A reconcile render begins; its number tells it from the others that could be cancelled. */
  begin(render = Atomics.load(this.#words, WORDS.cancel) + 1): void {
    Atomics.store(this.#words, WORDS.render, render);
  }

  end(): void {
    Atomics.store(this.#words, WORDS.render, NO_RENDER);
  }

  /**
   * Asks this reconcile render, by default the running one, to end between two instances. It need not have begun; other
   * renders are never concerned, so a word that comes too late does no harm.
   */
  cancel(render = Atomics.load(this.#words, WORDS.render)): void {
    Atomics.store(this.#words, WORDS.cancel, render);
  }

  get cancelled(): boolean {
    const render = Atomics.load(this.#words, WORDS.render);
    return render !== NO_RENDER && render === Atomics.load(this.#words, WORDS.cancel);
  }
}

function labelOf(key: string): string {
  const { component, source, namespace, name } = parseInstanceKey(key);
  return key === '' ? '' : `${component} of ${objectLabel(source, namespace, name)}`;
}
