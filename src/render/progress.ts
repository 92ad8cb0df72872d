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
  /** Label of the instance that runs or ran last: `backends of ingresses shop/web`. */
  readonly instance: string;
}

export const RENDER_STAGES = ['idle', 'loading', 'instances', 'outputs', 'holding'] as const;
export type RenderStage = (typeof RENDER_STAGES)[number];

const WORDS = { stage: 0, done: 1, known: 2, heap: 3, cancel: 4, labelLength: 5 } as const;
const LABEL_OFFSET = 64;
/** Component (63) + alias (63) + namespace (63) + name (253), and some more. */
const LABEL_BYTES = 512;

export class ProgressBuffer {
  readonly #words: Int32Array;
  readonly #label: Buffer;

  constructor(readonly shared: SharedArrayBuffer = new SharedArrayBuffer(LABEL_OFFSET + LABEL_BYTES)) {
    this.#words = new Int32Array(shared, 0, LABEL_OFFSET / 4);
    this.#label = Buffer.from(shared, LABEL_OFFSET, LABEL_BYTES);
  }

  read(): RenderProgress {
    const length = Math.min(Atomics.load(this.#words, WORDS.labelLength), LABEL_BYTES);
    return {
      stage: RENDER_STAGES[Atomics.load(this.#words, WORDS.stage)] ?? 'idle',
      done: Atomics.load(this.#words, WORDS.done),
      known: Atomics.load(this.#words, WORDS.known),
      heapMiB: Atomics.load(this.#words, WORDS.heap),
      instance: this.#label.toString('utf8', 0, length),
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

  instance(label: string): void {
    Atomics.store(this.#words, WORDS.labelLength, this.#label.write(label, 'utf8'));
  }

  /** Asks the running render to end between two instances. */
  cancel(): void {
    Atomics.store(this.#words, WORDS.cancel, 1);
  }

  clearCancel(): void {
    Atomics.store(this.#words, WORDS.cancel, 0);
  }

  get cancelled(): boolean {
    return Atomics.load(this.#words, WORDS.cancel) === 1;
  }
}
