import type { WatchedResource } from '../config/render-config.js';
import type { ObjectChange } from '../render/protocol.js';
import type { ApiClient } from './api-client.js';
import { ApiError } from './api-error.js';

interface ListPage {
  readonly metadata: { readonly resourceVersion?: string; readonly continue?: string };
  readonly items: readonly { readonly metadata: { readonly name: string; readonly namespace?: string } }[] | null;
}

export interface Listed {
  readonly changes: readonly ObjectChange[];
  /** Revision from which a watch goes on. */
  readonly version: string;
}

/** client-go's page size. */
const PAGE = '500';

/** The single object that is wanted of a resource; without `namespace` it is one of the cluster's own. */
export interface SingleObject {
  readonly name: string;
  readonly namespace?: string;
}

/** Path of a resource, over all namespaces unless one is given. */
export function resourcePath({ apiVersion, resource }: WatchedResource, namespace?: string): string {
  const group = `${apiVersion.includes('/') ? '/apis' : '/api'}/${apiVersion}`;
  return namespace === undefined ? `${group}/${resource}` : `${group}/namespaces/${namespace}/${resource}`;
}

/** With a selector by name, a role that names the object is enough for list and watch. */
export function selectorQuery(only: SingleObject | undefined): Readonly<Record<string, string>> {
  return only === undefined ? {} : { fieldSelector: `metadata.name=${only.name}` };
}

/** All objects of a resource, page by page. An optional one that the server does not know has none. Throws ApiError. */
export async function listObjects(
  client: ApiClient,
  resource: WatchedResource,
  signal?: AbortSignal,
  only?: SingleObject,
): Promise<Listed> {
  const changes: ObjectChange[] = [];
  for (let token = '', version = ''; ;) {
    const page = await listPage(client, resource, token, signal, only);
    for (const item of page.items ?? []) changes.push(changeOf(resource, item));
    version = page.metadata.resourceVersion ?? version;
    token = page.metadata.continue ?? '';
    if (token === '') return { changes, version };
  }
}

async function listPage(
  client: ApiClient,
  resource: WatchedResource,
  token: string,
  signal: AbortSignal | undefined,
  only: SingleObject | undefined,
): Promise<ListPage> {
  try {
    return await client.json<ListPage>({
      path: resourcePath(resource, only?.namespace),
      query: { ...selectorQuery(only), limit: PAGE, ...(token === '' ? {} : { continue: token }) },
      ...(signal === undefined ? {} : { signal }),
    });
  } catch (error) {
    if (resource.optional && error instanceof ApiError && error.status === 404) return { metadata: {}, items: [] };
    throw error;
  }
}

/** Items of a list say neither kind nor apiVersion; those of a watch do. */
function changeOf(
  { alias, apiVersion, kind }: WatchedResource,
  item: NonNullable<ListPage['items']>[number],
): ObjectChange {
  const { name, namespace = '' } = item.metadata;
  return { alias, namespace, name, text: JSON.stringify({ apiVersion, kind, ...item }) };
}
