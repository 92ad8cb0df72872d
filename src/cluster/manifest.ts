import { findDefect, MAX_CHARACTERS, MAX_NODES, type Budget } from './manifest-defect.js';
import { lineFinder, type FieldPath } from './manifest-place.js';
import { loadJson, loadYaml, splitDocuments, type DocumentText } from './manifest-text.js';

/** One Kubernetes object of a manifest file. */
export interface ManifestObject {
  readonly apiVersion: string;
  readonly kind: string;
  /** '' when the manifest names none; whether that means `default` is known only to who knows the kind. */
  readonly namespace: string;
  readonly name: string;
  /** The object as JSON, keys in the order of the file. */
  readonly text: string;
  /** Line, counted from 1, on which the object's document begins. */
  readonly line: number | undefined;
}

/** Why a file, or one object of it, cannot be used. Never carries a value of the file: it may hold Secrets. */
export interface ManifestProblem {
  /** Counted from 1; missing when the problem has no place. */
  readonly line?: number;
  readonly message: string;
}

export interface ManifestResult {
  /** Sound objects in the order of the file, also when other parts of it have problems. */
  readonly objects: readonly ManifestObject[];
  readonly problems: readonly ManifestProblem[];
}

export interface ManifestOptions {
  /** Take objects without metadata.name too, name '': a change to be reviewed may have generateName instead. */
  readonly nameless?: boolean;
}

/**
 * Largest manifest file, bytes: 3,000 objects at the 1.7 kB of a usual one are 5 MB, and the slowest text known to the
 * parser (a quoted string of line breaks) takes 5 s for this much.
 */
export const MAX_FILE_BYTES = 32 * 1024 * 1024;

/** Enough to see what is wrong; a list of a million bad items has to end somewhere. */
const MAX_PROBLEMS = 20;

interface ObjectPlace {
  readonly path: FieldPath;
  readonly line: (path: FieldPath) => number;
  /** From the list around the object: items of an `IngressList` need not repeat apiVersion and kind. */
  readonly defaults: { readonly apiVersion?: string; readonly kind?: string };
}

/**
 * Reads the objects of a YAML or JSON text: several documents, and lists flattened. Never throws. Bounded: 32 MiB,
 * 64 levels, a million values with aliases written out; duplicate keys are refused, and keys such as `__proto__` are data.
 */
export function parseManifests(text: string, file: string, options: ManifestOptions = {}): ManifestResult {
  if (Buffer.byteLength(text) > MAX_FILE_BYTES) {
    return {
      objects: [],
      problems: [{ message: `is larger than ${MAX_FILE_BYTES / 1024 / 1024} MiB: split the file` }],
    };
  }
  const reader = new ManifestReader(options.nameless ?? false);
  const json = loadJson(text);
  if (json !== undefined) reader.takeDocument({ text, firstLine: 1 }, json.value);
  else for (const document of splitDocuments(text)) reader.readYaml(document, file);
  return { objects: reader.objects, problems: reader.problems };
}

class ManifestReader {
  readonly objects: ManifestObject[] = [];
  readonly problems: ManifestProblem[] = [];
  #found = 0;
  readonly #budget: Budget = { nodes: MAX_NODES, characters: MAX_CHARACTERS };

  constructor(private readonly nameless: boolean) {}

  readYaml(document: DocumentText, file: string): void {
    const loaded = loadYaml(document, file);
    if (loaded.ok) this.takeDocument(document, loaded.value);
    else this.#record(loaded.problem);
  }

  takeDocument(document: DocumentText, value: unknown): void {
    if (value === undefined || value === null) return;
    const place: ObjectPlace = { path: [], line: lineFinder(document), defaults: {} };
    const defect = findDefect(value, this.#budget);
    if (defect === undefined) this.#take(value, place);
    else this.#problem(place, defect.path, defect.message);
  }

  #take(value: unknown, place: ObjectPlace): void {
    if (!isMapping(value)) return this.#problem(place, [], `is ${describe(value)}, not a Kubernetes object`);
    const items = itemsOf(value);
    if (items === undefined) return this.#takeObject(value, place);
    const defaults = itemDefaults(value);
    items.forEach((item, index) => this.#take(item, { ...place, path: [...place.path, 'items', index], defaults }));
  }

  #takeObject(value: Mapping, place: ObjectPlace): void {
    const before = this.#found;
    const apiVersion = this.#text(value, 'apiVersion', place, [], place.defaults.apiVersion);
    const kind = this.#text(value, 'kind', place, [], place.defaults.kind);
    const metadata = own(value, 'metadata');
    if (!isMapping(metadata)) return this.#problem(place, ['metadata'], 'metadata.name is missing');
    const name = this.#text(metadata, 'name', place, ['metadata'], this.nameless ? '' : undefined);
    const namespace = this.#text(metadata, 'namespace', place, ['metadata'], '');
    if (this.#found > before) return;
    const complete =
      Object.hasOwn(value, 'kind') && Object.hasOwn(value, 'apiVersion') ? value : { apiVersion, kind, ...value };
    this.objects.push({
      apiVersion,
      kind,
      namespace,
      name,
      text: JSON.stringify(complete),
      line: place.line([]),
    });
  }

  /** The text of a field that identifies the object; records a problem when it is missing or can't be part of a name. */
  #text(owner: Mapping, key: string, place: ObjectPlace, above: FieldPath, missing: string | undefined): string {
    const field = [...above, key];
    const value = own(owner, key) ?? missing;
    if (typeof value === 'string' && (value !== '' || missing === '') && !CONTROL.test(value)) return value;
    this.#problem(place, field, `${field.join('.')} ${complaint(value)}`);
    return '';
  }

  #problem(place: ObjectPlace, field: FieldPath, message: string): void {
    const where = place.path.length === 0 ? '' : `${formatPath(place.path)}: `;
    this.#record({ line: place.line([...place.path, ...field]), message: where + message });
  }

  #record(problem: ManifestProblem): void {
    this.#found++;
    if (this.#found <= MAX_PROBLEMS) this.problems.push(problem);
    else if (this.#found === MAX_PROBLEMS + 1)
      this.problems.push({ message: 'has more problems than are listed here' });
  }
}

type Mapping = Readonly<Record<string, unknown>>;

const CONTROL = /[\u0000-\u001f\u007f-\u009f\u2028\u2029]/;

function complaint(value: unknown): string {
  if (value === undefined || value === '') return 'is missing';
  return typeof value === 'string' ? 'has a control character' : 'must be text: put it in quotes';
}

function own(owner: Mapping, key: string): unknown {
  return Object.hasOwn(owner, key) ? (owner[key] ?? undefined) : undefined;
}

function isMapping(value: unknown): value is Mapping {
  return typeof value === 'object' && value !== null && !Array.isArray(value);
}

function describe(value: unknown): string {
  if (Array.isArray(value)) return 'a sequence';
  return value === null || value === undefined ? 'empty' : `a ${typeof value}`;
}

/** The members of `kind: List` or `kind: IngressList`; undefined for anything else. */
function itemsOf(value: Mapping): readonly unknown[] | undefined {
  const kind = own(value, 'kind');
  if (typeof kind !== 'string' || !kind.endsWith('List')) return undefined;
  const items = own(value, 'items');
  if (Array.isArray(items)) return items;
  return kind === 'List' && items === undefined ? [] : undefined;
}

function itemDefaults(list: Mapping): ObjectPlace['defaults'] {
  const kind = own(list, 'kind');
  const apiVersion = own(list, 'apiVersion');
  if (kind === 'List' || typeof kind !== 'string' || typeof apiVersion !== 'string') return {};
  return { apiVersion, kind: kind.slice(0, -'List'.length) };
}

function formatPath(path: FieldPath): string {
  return path.reduce<string>((text, step) => {
    if (typeof step === 'number') return `${text}[${step}]`;
    return text === '' ? step : `${text}.${step}`;
  }, '');
}
