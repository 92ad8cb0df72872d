import { spawnSync } from 'node:child_process';
import { existsSync, mkdirSync, readFileSync, writeFileSync } from 'node:fs';
import { homedir } from 'node:os';
import { join } from 'node:path';

/** Programs of a real control plane, as envtest names them. */
export interface Assets {
  readonly etcd: string;
  readonly apiserver: string;
  readonly kubectl: string;
}

const KUBERNETES = '1.34.4';
const ETCD = '3.6.4';
const PROGRAMS = ['etcd', 'kube-apiserver', 'kubectl'] as const;

function cacheFolder(): string {
  return join(process.env['XDG_CACHE_HOME'] ?? join(homedir(), '.cache'), 'rendergate', `kubernetes-${KUBERNETES}`);
}

/** Folder of programs that are there already: KUBEBUILDER_ASSETS, or those that were built before. */
export function findAssets(): Assets | undefined {
  const folders = [process.env['KUBEBUILDER_ASSETS'], join(cacheFolder(), 'bin')];
  const folder = folders.find(
    (candidate) => candidate !== undefined && PROGRAMS.every((program) => existsSync(join(candidate, program))),
  );
  if (folder === undefined) return undefined;
  return {
    etcd: join(folder, 'etcd'),
    apiserver: join(folder, 'kube-apiserver'),
    kubectl: join(folder, 'kubectl'),
  };
}

export const HOW_TO_GET =
  'point KUBEBUILDER_ASSETS to a folder with etcd, kube-apiserver and kubectl, or install Go 1.24 or newer and run ' +
  '`npm run e2e:setup`, which builds them from their Go modules (about ten minutes)';

/**
 * Builds the programs from their Go modules, outside the repository. Throws when Go is missing or fails.
 */
export function buildAssets(): Assets {
  const held = findAssets();
  if (held !== undefined) return held;
  const bin = join(cacheFolder(), 'bin');
  mkdirSync(bin, { recursive: true });
  buildIn(
    'etcd',
    `require go.etcd.io/etcd/server/v3 v${ETCD}\n`,
    ['go.etcd.io/etcd/server/v3'],
    ['-o', join(bin, 'etcd')],
  );
  const version = 'k8s.io/component-base/version';
  const flags = `-s -w -X ${version}.gitVersion=v${KUBERNETES} -X ${version}.gitMajor=1 -X ${version}.gitMinor=34`;
  const programs = ['k8s.io/kubernetes/cmd/kubectl', 'k8s.io/kubernetes/cmd/kube-apiserver'];
  buildIn('kubernetes', kubernetesModule(), programs, ['-ldflags', flags, '-o', `${bin}/`]);
  const built = findAssets();
  if (built === undefined) throw new Error(`go build left no programs in ${bin}`);
  return built;
}

/** `go install module@version` refuses modules with replacements, so a module of our own requires them. */
function buildIn(name: string, requirements: string, packages: readonly string[], options: readonly string[]): void {
  const folder = join(cacheFolder(), name);
  mkdirSync(folder, { recursive: true });
  writeFileSync(join(folder, 'go.mod'), `module assets\n\ngo 1.24.0\n\n${requirements}`);
  const imports = packages.map((path) => `\t_ "${path}"\n`).join('');
  writeFileSync(join(folder, 'tools.go'), `//go:build tools\n\npackage assets\n\nimport (\n${imports})\n`);
  go(folder, ['mod', 'tidy']);
  go(folder, ['build', ...options, ...packages]);
}

/** Kubernetes' own go.mod replaces its libraries by folders beside it; their published modules have the same version. */
function kubernetesModule(): string {
  const module = `k8s.io/kubernetes@v${KUBERNETES}`;
  const { GoMod } = JSON.parse(go(cacheFolder(), ['mod', 'download', '-json', module])) as { readonly GoMod: string };
  const staged = [...readFileSync(GoMod, 'utf8').matchAll(/^\s*(?:replace )?(k8s\.io\/\S+) => \.\/staging/gm)];
  const replacements = staged.map(([, path = '']) => `replace ${path} => ${path} v0.${KUBERNETES.slice(2)}\n`);
  return `require k8s.io/kubernetes v${KUBERNETES}\n\n${replacements.join('')}`;
}

function go(cwd: string, args: readonly string[]): string {
  const { status, stdout, error } = spawnSync('go', args, {
    cwd,
    encoding: 'utf8',
    stdio: ['ignore', 'pipe', 'inherit'],
    env: { ...process.env, GOFLAGS: '-mod=mod' },
  });
  if (error !== undefined) throw new Error(`go could not be started (${error.message}); ${HOW_TO_GET}`);
  if (status !== 0) throw new Error(`go ${args.join(' ')} failed in ${cwd}`);
  return stdout;
}
