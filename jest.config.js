import { availableParallelism } from 'node:os';

/** They need minutes, and most of them a control plane: `npm run e2e`. */
const ON_A_CONTROL_PLANE = 'test/e2e/(cluster|follow|readiness|reload|replicas)\\.test\\.ts$';
const isE2e = process.env.RENDERGATE_E2E === '1';

/** Unit tests run here; what needs the hardened compartment goes through the real render thread (built code in dist/). */
export default {
  testEnvironment: 'node',
  roots: ['<rootDir>/test'],
  testMatch: ['**/*.test.ts'],
  testPathIgnorePatterns: ['/node_modules/', ...(isE2e ? [] : [ON_A_CONTROL_PLANE])],
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
