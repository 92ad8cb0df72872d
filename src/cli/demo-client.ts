import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { Agent } from 'undici';
import { loadManifests } from '../cluster/manifest-directory.js';
import { parseManifests } from '../cluster/manifest.js';

export interface DemoChange {
  readonly file: string;
  readonly operation: 'CREATE' | 'UPDATE' | 'DELETE';
  /** What this change is, for the reader. */
  readonly says: string;
  readonly object: Readonly<Record<string, unknown>>;
  readonly oldObject: Readonly<Record<string, unknown>> | null;
  readonly apiVersion: string;
  readonly kind: string;
  readonly namespace: string;
  readonly name: string;
}

export interface DemoAnswer {
  readonly uid: string;
  readonly allowed: boolean;
  readonly warnings: readonly string[];
  readonly status:
    | {
        readonly code: number;
        readonly reason: string;
        readonly message: string;
        readonly details?: { readonly retryAfterSeconds: number };
      }
    | undefined;
}

export function readChange(
  folder: string,
  about: Pick<DemoChange, 'file' | 'operation' | 'says'>,
  manifests: string,
): DemoChange {
  const [found] = parseManifests(readFileSync(join(folder, about.file), 'utf8'), about.file).objects;
  if (found === undefined) throw new Error(`${about.file} holds no object`);
  const { apiVersion, kind, namespace, name } = found;
  const object = JSON.parse(found.text) as Readonly<Record<string, unknown>>;
  const oldObject = about.operation === 'CREATE' ? null : (stored(manifests, kind, namespace, name) ?? object);
  return { ...about, object, oldObject, apiVersion, kind, namespace, name };
}

function stored(
  manifests: string,
  kind: string,
  namespace: string,
  name: string,
): Readonly<Record<string, unknown>> | undefined {
  const { changes } = loadManifests(manifests, (_, candidate) =>
    candidate === kind ? { alias: kind, namespaced: true } : undefined,
  );
  const found = changes.find(
    (change) => change.op === 'upsert' && change.namespace === namespace && change.name === name,
  );
  return found?.op === 'upsert' ? (JSON.parse(found.text) as Readonly<Record<string, unknown>>) : undefined;
}

/** The AdmissionReview that the API server would send. */
export function reviewBody(change: DemoChange): { readonly uid: string; readonly body: string } {
  const uid = crypto.randomUUID();
  const [group = '', version = change.apiVersion] = change.apiVersion.includes('/')
    ? change.apiVersion.split('/')
    : ['', change.apiVersion];
  const request = {
    uid,
    kind: { group, version, kind: change.kind },
    resource: { group, version, resource: `${change.kind.toLowerCase()}s` },
    namespace: change.namespace,
    name: change.name,
    operation: change.operation,
    userInfo: { username: 'demo' },
    object: change.operation === 'DELETE' ? null : change.object,
    oldObject: change.oldObject,
    dryRun: false,
    options: null,
  };
  return { uid, body: JSON.stringify({ apiVersion: 'admission.k8s.io/v1', kind: 'AdmissionReview', request }) };
}

export interface DemoClient {
  post(change: DemoChange, timeout: string): Promise<DemoAnswer>;
  close(): Promise<void>;
}

export function createDemoClient(port: number, ca: string): DemoClient {
  const agent = new Agent({ connect: { ca } });
  return {
    post: async (change, timeout) => {
      const { body } = reviewBody(change);
      const answer = await agent.request({
        origin: `https://localhost:${port}`,
        path: `/validate?timeout=${timeout}`,
        method: 'POST',
        headers: { 'content-type': 'application/json' },
        body,
      });
      const { response } = (await answer.body.json()) as {
        response: Omit<DemoAnswer, 'warnings'> & { warnings?: readonly string[] };
      };
      return { ...response, warnings: response.warnings ?? [] };
    },
    close: () => agent.close(),
  };
}
