import { BroadcastChannel, threadId } from 'node:worker_threads';
import { collectGarbage } from './statistics.js';

const QUESTION = 'rendergate-bench-heap';
const ANSWER = 'rendergate-bench-heap-answer';
/** The main thread and the render thread. */
const THREADS = 2;

/**
 * Loaded into every thread of a measured process before its own program (`--import`): collects garbage when asked, and
 * tells what is left. Nothing of the program has to know of it.
 */
export function answerHeapQuestions(): void {
  const questions = new BroadcastChannel(QUESTION);
  const answers = new BroadcastChannel(ANSWER);
  questions.onmessage = () => {
    collectGarbage();
    answers.postMessage({ threadId, bytes: process.memoryUsage().heapUsed });
  };
  questions.unref();
  answers.unref();
}

/** Heap in use after a collection in every thread of this process, bytes. Called on the main thread. */
export function heapAfterCollection(): Promise<number> {
  const questions = new BroadcastChannel(QUESTION);
  const answers = new BroadcastChannel(ANSWER);
  const heaps = new Map<number, number>();
  return new Promise((resolve) => {
    answers.onmessage = (event) => {
      const { threadId: id, bytes } = (event as { readonly data: { threadId: number; bytes: number } }).data;
      heaps.set(id, bytes);
      if (heaps.size < THREADS) return;
      questions.close();
      answers.close();
      resolve([...heaps.values()].reduce((sum, heap) => sum + heap, 0));
    };
    questions.postMessage(null);
  });
}
