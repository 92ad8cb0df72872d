// Brings a fresh clone to a state where the built program runs: installs what is missing, then builds.
// Plain JavaScript over Node alone, because it runs before anything is installed.
import { spawnSync } from 'node:child_process';
import { existsSync, statSync } from 'node:fs';
import { fileURLToPath } from 'node:url';

const root = fileURLToPath(new URL('..', import.meta.url));

const [major, minor] = process.versions.node.split('.').map(Number);
if (major < 20 || (major === 20 && minor < 19)) {
  console.error(
    `rendergate needs Node 20.19 or newer, this is ${process.version}. Install it from https://nodejs.org and run the command again.`,
  );
  process.exit(2);
}

function run(command, args) {
  const { status, error } = spawnSync(command, args, {
    cwd: root,
    stdio: ['ignore', 'inherit', 'inherit'],
    shell: process.platform === 'win32',
  });
  if (status !== 0) {
    console.error(
      `setup: "${command} ${args.join(' ')}" failed${error ? `: ${error.message}` : ''}. Mend what it says above and run the command again.`,
    );
    process.exit(status ?? 1);
  }
}

const installed = `${root}node_modules/.package-lock.json`;
if (!existsSync(installed) || statSync(installed).mtimeMs < statSync(`${root}package-lock.json`).mtimeMs) {
  console.error('setup: installing the packages of package-lock.json (npm ci) ...');
  run('npm', ['ci', '--no-audit', '--no-fund', '--loglevel=error']);
}
run(process.execPath, [`${root}node_modules/typescript/bin/tsc`, '-p', `${root}tsconfig.build.json`]);
