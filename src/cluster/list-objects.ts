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

/** What is listed and watched: a resource of all namespaces, or less of it. */
export interface ListTarget extends Pick<WatchedResource, 'alias' | 'apiVersion' | 'kind' | 'resource' | 'optional'> {
  readonly namespace?: string;
  /** `metadata.name=rendergate`. */
  readonly fieldSelector?: string;
}

/** client-go's page size. */
const PAGE = '500';

/** Path of a resource over all namespaces, or of the one that the target names. */
export function resourcePath({
  apiVersion,
  resource,
  namespace,
}: Omit<ListTarget, 'alias' | 'kind' | 'optional'>): string {
  const within = namespace === undefined ? '' : `namespaces/${namespace}/`;
  return `${apiVersion.includes('/') ? '/apis' : '/api'}/${apiVersion}/${within}${resource}`;
}

/** The part of a list's or watch's query that narrows it. */
export function selectorQuery({ fieldSelector }: ListTarget): Readonly<Record<string, string>> {
  return fieldSelector === undefined ? {} : { fieldSelector };
}

/** All objects of a resource, page by page. An optional one that the server does not know has none. Throws ApiError. */
export async function listObjects(client: ApiClient, resource: ListTarget, signal?: AbortSignal): Promise<Listed> {
  const changes: ObjectChange[] = [];
  for (let token = '', version = ''; ;) {
    const page = await listPage(client, resource, token, signal);
    for (const item of page.items ?? []) changes.push(changeOf(resource, item));
    version = page.metadata.resourceVersion ?? version;
    token = page.metadata.continue ?? '';
    if (token === '') return { changes, version };
  }
}

async function listPage(
  client: ApiClient,
  resource: ListTarget,
  token: string,
  signal: AbortSignal | undefined,
): Promise<ListPage> {
  try {
    return await client.json<ListPage>({
      path: resourcePath(resource),
      query: { limit: PAGE, ...selectorQuery(resource), ...(token === '' ? {} : { continue: token }) },
      ...(signal === undefined ? {} : { signal }),
    });
  } catch (error) {
    if (resource.optional && error instanceof ApiError && error.status === 404) return { metadata: {}, items: [] };
    throw error;
  }
}

/** Items of a list say neither kind nor apiVersion; those of a watch do. */
function changeOf({ alias, apiVersion, kind }: ListTarget, item: NonNullable<ListPage['items']>[number]): ObjectChange {
  const { name, namespace = '' } = item.metadata;
  return { alias, namespace, name, text: JSON.stringify({ apiVersion, kind, ...item }) };
}
