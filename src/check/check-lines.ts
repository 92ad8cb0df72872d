import type { CheckFile } from './checker.js';

/** What HAProxy appends to a certificate's name to find its companions: `x.pem.key` is about `x.pem`. */
const COMPANION = /\.(?:key|ocsp|issuer|sctl|dh|rsa|ecdsa|dsa)$/;

/** Linux's PATH_MAX. A longer word is no path, and looking for its ends would take the square of its length. */
const LONGEST_PATH = 4096;

const SECTION =
  /^\s*(?:global|defaults|frontend|backend|listen|userlist|peers|resolvers|mailers|cache|ring|program|http-errors|fcgi-app|log-forward|crt-store|acme|traces)(?:\s|$)/;

/** Lines are counted from 1: the header's, and the one after the section's last. */
export interface Section {
  readonly name: string;
  readonly first: number;
  readonly end: number;
}

/** The checked files, by name and by line. Lines are counted from 1; those of a sensitive file are never given out. */
export class CheckLines {
  private readonly files = new Map<string, CheckFile>();
  private readonly split = new Map<string, readonly string[]>();
  private readonly sections = new Map<string, readonly Section[]>();

  constructor(files: readonly CheckFile[]) {
    for (const file of files) this.files.set(file.name, file);
  }

  /** The checked file that a path in a message means: `./maps/a.map`, `/tmp/x/maps/a.map` and `maps/a.map` are one. */
  named(path: string): string | undefined {
    if (path.length > LONGEST_PATH) return undefined;
    const exact = this.tail(path.replace(/^(?:\.\/)+/, ''));
    return exact ?? (COMPANION.test(path) ? this.tail(path.replace(COMPANION, '')) : undefined);
  }

  isSensitive(name: string): boolean {
    return this.files.get(name)?.sensitive ?? false;
  }

  line(name: string, line: number): string | undefined {
    return this.linesOf(name)[line - 1];
  }

  /** The header of the section that a line stands in (`backend shop_web`): HAProxy names it in messages about the line. */
  header(name: string, line: number): string | undefined {
    const section = this.sectionsOf(name).find(({ first, end }) => first < line && line < end);
    return section === undefined ? undefined : this.line(name, section.first);
  }

  /** The first section of that name, whatever its kind. */
  section(file: string, name: string): Section | undefined {
    return this.sectionsOf(file).find((section) => section.name === name);
  }

  /** Names of the files that can hold sections. */
  configurations(): readonly string[] {
    return [...this.files.keys()].filter((name) => isConfiguration(name) && !this.isSensitive(name));
  }

  private tail(path: string): string | undefined {
    if (this.files.has(path)) return path;
    if (!path.startsWith('/')) return undefined;
    for (let slash = path.indexOf('/'); slash >= 0; slash = path.indexOf('/', slash + 1)) {
      const name = path.slice(slash + 1);
      if (this.files.has(name)) return name;
    }
    return undefined;
  }

  private sectionsOf(file: string): readonly Section[] {
    const known = this.sections.get(file) ?? (isConfiguration(file) ? findSections(this.linesOf(file)) : []);
    this.sections.set(file, known);
    return known;
  }

  private linesOf(name: string): readonly string[] {
    const file = this.files.get(name);
    if (file === undefined || file.sensitive) return [];
    const known = this.split.get(name) ?? file.text.split('\n');
    this.split.set(name, known);
    return known;
  }
}

function isConfiguration(name: string): boolean {
  return name.endsWith('.cfg');
}

function findSections(lines: readonly string[]): readonly Section[] {
  const starts = lines.flatMap((text, index) => (SECTION.test(text) ? [index] : []));
  return starts.map((start, index) => ({
    name: lines[start]?.trim().split(/\s+/)[1] ?? '',
    first: start + 1,
    end: (starts[index + 1] ?? lines.length) + 1,
  }));
}
