import { SUITES } from './suites.js';

/** Entry of the process that one suite runs in: `node suite-process.js NAME`; its rows go to the parent. */
const suite = SUITES[process.argv[2] ?? ''];
if (suite === undefined) throw new Error(`there is no suite ${process.argv[2] ?? ''}`);
const rows = await suite.run();
process.send?.(rows, () => process.exit(0));
