import { parseConfig, type ReadTemplate } from '../../src/config/parse-config.js';
import { type ConfigDiagnostic, ConfigError, type RenderConfig } from '../../src/config/render-config.js';

/** A small document with everything in it. Tests change single lines. */
export const GOOD = `apiVersion: rendergate.dev/v1alpha1
kind: RenderConfig
metadata: { name: small }
spec:
  watchedResources:
    ingresses:
      apiVersion: networking.k8s.io/v1
      kind: Ingress
      resource: ingresses
      indexBy: ["$.metadata.namespace"]
      review: true
      ignoreFields: ["$.status"]
    services: { apiVersion: v1, kind: Service, resource: services }
  snippets:
    note:
      templateFile: note.eta
      requires: [services]
  components:
    routes:
      source: ingresses
      group: routes
      kind: text
      template: |
        <% shared.publish('route', item.metadata.name, 1); %>
      effects: [publishValue]
    lines:
      sources: [ingresses, services]
      group: lines
      template: "<%= item.metadata.name %>"
      consumes: [routes]
      optionalConsumes: []
  outputs:
    notes.txt: { kind: text, template: "x" }
    haproxy.cfg:
      kind: haproxy
      template: |
        <%~ group('lines') %>
    files/: { kind: text, sensitive: true, cell: { group: routes, name: route } }
  check: { timeout: 5s }
  admission:
    budget: 4s
    margin: 100ms
  render: { heap: 64, debounce: 10ms }
  extraContext:
    limits: { connections: 10 }
`;

const FILES: ReadonlyMap<string, string> = new Map([['note.eta', 'a note\n']]);
const read: ReadTemplate = (name) => {
  const text = FILES.get(name);
  return text === undefined ? { problem: 'is not there' } : { text };
};

export function load(text: string): RenderConfig {
  return parseConfig(text, 'some/config.yaml', read);
}

/** Mistakes of a document; none when it loads. Whatever else is thrown comes through. */
export function mistakesOf(text: string): readonly ConfigDiagnostic[] {
  try {
    load(text);
    return [];
  } catch (error) {
    if (error instanceof ConfigError) return error.diagnostics;
    throw error;
  }
}

/** The good document with one piece replaced; the piece has to be in it. */
export function changed(from: string, to: string): string {
  if (!GOOD.includes(from)) throw new Error(`not in the document: ${from}`);
  return GOOD.replace(from, to);
}

/** Line, from 1, of the first place of a piece of text. */
export function lineOf(text: string, piece: string): number {
  const at = text.indexOf(piece);
  if (at < 0) throw new Error(`not in the document: ${piece}`);
  return text.slice(0, at).split('\n').length;
}
