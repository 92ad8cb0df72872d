import { type ChildProcess, spawn, spawnSync } from 'node:child_process';
import { generateKeyPairSync } from 'node:crypto';
import { createWriteStream, readFileSync, writeFileSync } from 'node:fs';
import { createServer } from 'node:net';
import { join } from 'node:path';
import { generate } from 'selfsigned';
import { Agent, request } from 'undici';
import { makeScratch } from '../../support/scratch.js';
import type { Assets } from './assets.js';

/** A real etcd and kube-apiserver on free ports, in the manner of envtest. */
export interface ControlPlane {
  /** Path of an administrator's kubeconfig. */
  readonly kubeconfig: string;
  readonly url: string;
  kubectl(args: readonly string[], input?: string): { readonly code: number; readonly text: string };
  /** As kubectl, and throws with its text where it fails. */
  mustKubectl(args: readonly string[], input?: string): string;
  /** As if the machine had lost it: SIGKILL, and back on the same port with the same data. */
  restartApiserver(): Promise<void>;
  stop(): Promise<void>;
}

const READY_MS = 90_000;

export async function startControlPlane(assets: Assets): Promise<ControlPlane> {
  const scratch = makeScratch('rg-e2e-');
  const [etcdPort, peerPort, port] = [await freePort(), await freePort(), await freePort()];
  const admin = await certificates(scratch.path);
  const etcdUrl = `http://127.0.0.1:${etcdPort}`;
  const peerUrl = `http://127.0.0.1:${peerPort}`;
  const logOf = (name: string): string => join(scratch.path, `${name}.log`);
  const etcd = run(assets.etcd, logOf('etcd'), [
    ...['--data-dir', join(scratch.path, 'etcd'), '--unsafe-no-fsync', '--name', 'e2e'],
    ...['--listen-client-urls', etcdUrl, '--advertise-client-urls', etcdUrl],
    ...['--listen-peer-urls', peerUrl, '--initial-advertise-peer-urls', peerUrl, '--initial-cluster', `e2e=${peerUrl}`],
  ]);
  const startApiserver = (): ChildProcess =>
    run(assets.apiserver, logOf('apiserver'), [
      ...['--etcd-servers', etcdUrl, '--secure-port', String(port), '--bind-address', '127.0.0.1'],
      ...['--cert-dir', join(scratch.path, 'apiserver'), '--client-ca-file', join(scratch.path, 'ca.crt')],
      ...['--service-account-issuer', 'https://kubernetes.default', '--service-cluster-ip-range', '10.0.0.0/24'],
      ...['--service-account-key-file', join(scratch.path, 'sa.pub')],
      ...['--service-account-signing-key-file', join(scratch.path, 'sa.key')],
      ...['--authorization-mode', 'RBAC', '--disable-admission-plugins', 'ServiceAccount'],
    ]);
  let apiserver = startApiserver();
  const url = `https://127.0.0.1:${port}`;
  const kubeconfig = join(scratch.path, 'kubeconfig');
  writeFileSync(kubeconfig, kubeconfigText(url, admin));
  const ready = async (): Promise<void> => {
    try {
      await until200(`${url}/readyz`, admin);
    } catch (error) {
      throw new Error(`${String(error)}\n${readFileSync(logOf('apiserver'), 'utf8').slice(-2_000)}`);
    }
  };
  await ready();
  const kubectl: ControlPlane['kubectl'] = (args, input) => {
    const env = { ...process.env, KUBECONFIG: kubeconfig, HOME: scratch.path };
    const { status, stdout, stderr } = spawnSync(assets.kubectl, args, { input, encoding: 'utf8', env });
    return { code: status ?? -1, text: `${stdout}${stderr}` };
  };
  return {
    kubeconfig,
    url,
    kubectl,
    mustKubectl: (args, input) => {
      const { code, text } = kubectl(args, input);
      if (code !== 0) throw new Error(`kubectl ${args.join(' ')}: ${text}`);
      return text;
    },
    restartApiserver: async () => {
      await kill(apiserver);
      apiserver = startApiserver();
      await ready();
    },
    stop: async () => {
      await kill(apiserver);
      await kill(etcd);
      scratch.remove();
    },
  };
}

function run(program: string, log: string, args: readonly string[]): ChildProcess {
  const child = spawn(program, args, { stdio: ['ignore', 'pipe', 'pipe'] });
  const file = createWriteStream(log, { flags: 'a' });
  child.stdout.pipe(file, { end: false });
  child.stderr.pipe(file, { end: false });
  return child;
}

function kill(child: ChildProcess): Promise<void> {
  if (child.exitCode !== null || child.signalCode !== null) return Promise.resolve();
  return new Promise((resolve) => {
    child.once('exit', () => resolve());
    child.kill('SIGKILL');
  });
}

async function freePort(): Promise<number> {
  const server = createServer();
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  const address = server.address();
  await new Promise((resolve) => server.close(resolve));
  return typeof address === 'object' && address !== null ? address.port : 0;
}

interface Admin {
  readonly cert: string;
  readonly key: string;
}

/** The clients' CA, an administrator's certificate, and the key of service accounts. */
async function certificates(folder: string): Promise<Admin> {
  const common = { keyType: 'ec', curve: 'P-256', algorithm: 'sha256' } as const;
  const authority = await generate([{ name: 'commonName', value: 'e2e' }], {
    ...common,
    extensions: [{ name: 'basicConstraints', cA: true, critical: true }],
  });
  const admin = await generate(
    [
      { name: 'commonName', value: 'admin' },
      { name: 'organizationName', value: 'system:masters' },
    ],
    {
      ...common,
      ca: { key: authority.private, cert: authority.cert },
      extensions: [{ name: 'extKeyUsage', clientAuth: true }],
    },
  );
  writeFileSync(join(folder, 'ca.crt'), authority.cert);
  const account = generateKeyPairSync('rsa', {
    modulusLength: 2048,
    publicKeyEncoding: { type: 'spki', format: 'pem' },
    privateKeyEncoding: { type: 'pkcs8', format: 'pem' },
  });
  writeFileSync(join(folder, 'sa.pub'), account.publicKey);
  writeFileSync(join(folder, 'sa.key'), account.privateKey, { mode: 0o600 });
  return { cert: admin.cert, key: admin.private };
}

function kubeconfigText(server: string, { cert, key }: Admin): string {
  const base64 = (text: string): string => Buffer.from(text).toString('base64');
  return JSON.stringify({
    apiVersion: 'v1',
    kind: 'Config',
    'current-context': 'e2e',
    contexts: [{ name: 'e2e', context: { cluster: 'e2e', user: 'admin' } }],
    clusters: [{ name: 'e2e', cluster: { server, 'insecure-skip-tls-verify': true } }],
    users: [{ name: 'admin', user: { 'client-certificate-data': base64(cert), 'client-key-data': base64(key) } }],
  });
}

async function until200(url: string, { cert, key }: Admin): Promise<void> {
  const dispatcher = new Agent({ connect: { cert, key, rejectUnauthorized: false } });
  let last = 'no answer';
  for (const started = performance.now(); performance.now() - started < READY_MS;) {
    try {
      const { statusCode, body } = await request(url, { dispatcher });
      last = `${statusCode} ${await body.text()}`;
      if (statusCode === 200) return await dispatcher.close();
    } catch (error) {
      last = error instanceof Error ? error.message : String(error);
    }
    await new Promise((resolve) => setTimeout(resolve, 100));
  }
  throw new Error(`${url} did not become ready: ${last}`);
}
