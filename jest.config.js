import { availableParallelism } from 'node:os';

/** Unit tests run here; what needs the hardened compartment goes through the real render thread (built code in dist/). */
export default {
  testEnvironment: 'node',
  roots: ['<rootDir>/test'],
  testMatch: ['**/*.test.ts'],
  extensionsToTreatAsEsm: ['.ts'],
  moduleNameMapper: { '^(\\.{1,2}/.*)\\.js$': '$1' },
  transform: {
    '^.+\\.ts$': [
      '@swc/jest',
      { jsc: { target: 'es2022', parser: { syntax: 'typescript' } }, module: { type: 'es6' }, sourceMaps: 'inline' },
    ],
  },
  // Jest would take one worker on two cores; much of the time here is spent in child processes.
  maxWorkers: Math.max(2, availableParallelism() - 1),
  testSequencer: './test/support/longest-first.mjs',
  testTimeout: 60_000,
};
