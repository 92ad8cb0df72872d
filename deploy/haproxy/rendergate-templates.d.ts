/**
 * What a template of a RenderConfig sees, for editors: put `/// <reference path="../rendergate-templates.d.ts" />` into a
 * script beside the templates, or let the Eta plug-in of your editor take it as a library. Templates are plain
 * JavaScript: no async code, generators or imports, no clock, no randomness, no network.
 */

/** Text that a template wrote: what `<%~ %>` takes. A plain string goes through `<%= %>`. */
interface SafeText {
  toString(): string;
  readonly __safeText: never;
}

/** Deep-frozen JSON. Objects come from outside: any part may be missing, null or of another type. */
type KubernetesObject = {
  readonly metadata: { readonly name: string; readonly namespace?: string; readonly [key: string]: any };
  readonly [key: string]: any;
};

/** Reads of one watched resource; each is recorded exactly, a miss too. Lists are in order of namespace and name. */
interface ResourceAccessor {
  /** Every object. Whoever calls it runs again whenever any of them changes. */
  list(): readonly KubernetesObject[];
  /** Objects whose `indexBy` values begin with these. */
  get(...indexPrefix: readonly (string | number)[]): readonly KubernetesObject[];
  /** One object, or undefined. The namespace of a cluster-scoped one is ''. */
  find(namespace: string, name: string): KubernetesObject | undefined;
}

interface SharedAccessor {
  /**
   * Contributes a value to a cell of the component's group (effect publishValue). The smallest non-empty rank wins, else
   * the first in the order of component, source, namespace, name and call.
   */
  publish(cell: string, key: string, value: Json, options?: { readonly rank?: string }): void;
  /** Line or lines of the component's group that are written once for each key, in the order of cell and key. */
  unique(cell: string, key: string, text: SafeText): void;
  /** The winner's value, or undefined. The group has to be named in `consumes` or `optionalConsumes`. */
  select(group: string, cell: string, key: string): any;
  /** All winners' values, in the order of their keys. */
  selectValues(group: string, cell: string): readonly any[];
  /** Number of keys of the cell. */
  count(group: string, cell: string): number;
}

type Json = null | boolean | number | string | readonly Json[] | { readonly [key: string]: Json };

// ---- everywhere

/** `spec.extraContext`, frozen. */
declare const extraContext: { readonly [key: string]: any };
/** Accessors by alias, as in `spec.watchedResources`. */
declare const resources: { readonly [alias: string]: ResourceAccessor };

/** Ends this instance with a fault of its source object; `field` is the path in it, such as `spec.rules[0].host`. */
declare function fail(field: string, reason: string): never;
/** One word for a place where HAProxy evaluates log-format: `%` is doubled. */
declare function fmt(value: string | number | boolean): SafeText;
/** Raw configuration lines that passed the allow-list; otherwise the instance fails, naming `field`. */
declare function rawLines(field: string, lines: string): SafeText;
/** Tagged template: interpolates safely, by the kind of this template. */
declare function text(
  strings: TemplateStringsArray,
  ...values: readonly (string | number | boolean | SafeText)[]
): SafeText;
/** Joined by line breaks. */
declare function lines(texts: readonly SafeText[]): SafeText;
/** Runs a snippet of the configuration, which sees `args`. */
declare function snippet(name: string, args?: { readonly [name: string]: unknown }): SafeText;

declare function base64Decode(text: string): string;
declare function base64Encode(text: string): string;
/** Hexadecimal. */
declare function sha256(text: string): string;
declare function toJson(value: unknown): string;
declare function toYaml(value: unknown): string;
/** A new array, stable, by code units (numbers by value). */
declare function sortBy<T>(values: readonly T[], keyOf?: (value: T) => string | number): T[];
declare function unique<T>(values: readonly T[]): T[];
declare function isCidr(text: unknown): text is string;
declare function isIp(text: unknown): text is string;
declare function isIpv6(text: unknown): text is string;
/** One name from several parts: two different lists of parts never give the same one. */
declare function identifier(...parts: readonly (string | number)[]): string;
/** A path as clients send it, percent-encoded; without blanks. */
declare function pathKey(path: string): string;
/** "90s" to milliseconds, or fail(field, ...). */
declare function duration(field: string, value: string | number): number;
/** "10m" to bytes, or fail(field, ...). */
declare function size(field: string, value: string | number): number;

// ---- components

/** The source object of this instance. */
declare const item: KubernetesObject;
/** Its alias. */
declare const source: string;
declare const props: { readonly [name: string]: unknown };
/** `namespace` is '' for a cluster-scoped object. */
declare const renderSubject: { readonly alias: string; readonly namespace: string; readonly name: string };
declare const shared: SharedAccessor;
/**
 * Records an event on the source object (effect recordEvent). Whoever changes an object sees its Warnings in kubectl:
 * one line of about 90 characters that begins with "namespace/name".
 */
declare function event(type: 'Normal' | 'Warning', reason: string, message: string): void;

// ---- outputs

/** The text of all components of the group. */
declare function group(name: string): SafeText;
/** Winners' values of a cell, in the order of their keys. */
declare function values(group: string, cell: string): readonly any[];
declare function count(group: string, cell: string): number;

// ---- snippets

/** What the caller passed. */
declare const args: { readonly [name: string]: any };
