import type { OutputKind, SnippetSpec } from '../../src/config/render-config.js';
import type { ObjectChange, QuarantineEntry } from '../../src/render/protocol.js';
import { RenderHost } from '../../src/render/render-host.js';
import { component, output, renderConfig, type ConfigParts } from '../support/render-config.js';

/** A component template; with its kind where that is not `text`. */
export type TemplateCase = string | { readonly text: string; readonly kind: OutputKind };

/** What it wrote, or why it could not be rendered. */
export interface CaseResult {
  readonly text: string;
  readonly fault: string | undefined;
}

const SPEC = { line: 'first', list: ['b', 'a'], html: '<!-- x -->' };

/**
 * Renders every case in one real render thread, since starting one costs more than all cases together. Each has a watched
 * resource of its own with one object (shop/one), so that no fault reaches another case.
 */
export async function renderCases<Name extends string>(
  cases: Readonly<Record<Name, TemplateCase>>,
  parts: ConfigParts & { readonly snippets?: readonly SnippetSpec[] } = {},
): Promise<Readonly<Record<Name, CaseResult>>> {
  const entries = Object.entries<TemplateCase>(cases).map(([name, one], at) => ({
    name,
    alias: `case${at}`,
    ...(typeof one === 'string' ? { text: one, kind: 'text' as const } : one),
  }));
  const base = renderConfig();
  const config = renderConfig({
    ...parts,
    watchedResources: entries.flatMap(({ alias }) =>
      base.watchedResources.slice(0, 1).map((one) => ({ ...one, alias })),
    ),
    components: entries.map(({ text, kind, alias }) =>
      component(alias, text, { sources: [alias], group: alias, kind }),
    ),
    outputs: entries.map(({ alias, kind }) => output(`${alias}.txt`, `<%~ group('${alias}') %>`, kind)),
  });
  const host = new RenderHost({ config, objects: () => entries.map(({ alias }) => objectOf(alias)) });
  try {
    const reply = await host.request('reconcile', { timeoutMs: undefined });
    if (reply.kind !== 'rendered') throw new Error(JSON.stringify(reply));
    const files = await host.request('files', { render: reply.render });
    const results = entries.map(({ name, alias }) => [name, resultOf(alias, files, reply.quarantined)]);
    return Object.fromEntries(results) as Record<Name, CaseResult>;
  } finally {
    await host.close();
  }
}

function objectOf(alias: string): ObjectChange {
  const text = JSON.stringify({ kind: 'Site', metadata: { namespace: 'shop', name: 'one' }, spec: SPEC });
  return { alias, namespace: 'shop', name: 'one', text };
}

function resultOf(
  alias: string,
  files: readonly { readonly name: string; readonly text: string }[],
  quarantined: readonly QuarantineEntry[],
): CaseResult {
  return {
    text: files.find(({ name }) => name === `${alias}.txt`)?.text ?? '',
    fault: quarantined.find((entry) => entry.alias === alias)?.reason,
  };
}
