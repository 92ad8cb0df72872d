import Sequencer from '@jest/test-sequencer';

/** Suites of many processes, the longest first: begun last, one would keep a single worker busy at the end. */
const LONG = ['cases/cases', 'cli/review', 'fuzz/fuzz', 'e2e/serve', 'reconcile/coordinator', 'cli/explain'];

/** A fresh clone knows no durations, so jest would go by the size of the files. */
export default class LongestFirst extends Sequencer {
  sort(tests) {
    const place = ({ path }) => {
      const at = LONG.findIndex((name) => path.endsWith(`test/${name}.test.ts`));
      return at < 0 ? LONG.length : at;
    };
    return [...super.sort(tests)].sort((a, b) => place(a) - place(b));
  }
}
