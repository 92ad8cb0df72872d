import { buildAssets } from './assets.js';

// `npm run e2e:setup`: what the suite against a real API server needs, built once and kept outside the repository.
try {
  const { apiserver } = buildAssets();
  process.stdout.write(`e2e: the control plane's programs are there: ${apiserver}\n`);
} catch (error) {
  process.stderr.write(`e2e: ${error instanceof Error ? error.message : String(error)}\n`);
  process.exitCode = 1;
}
