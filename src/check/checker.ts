/** The contract between whoever needs a rendered configuration checked and whoever runs the checker. */

export interface CheckFile {
  /** Path relative to the configuration's directory. */
  readonly name: string;
  readonly text: string;
  /** Carries Secret data: mode 0600, and the checker's text about it is withheld. */
  readonly sensitive: boolean;
}

/** Reconcile and admission have a lane each, so that neither starves the other. */
export type CheckLane = 'reconcile' | 'admission';

export interface CheckRequest {
  /** Asked once, when there is a place for the run: flat text is made only where it is needed (DESIGN 7). */
  readonly files: () => Promise<readonly CheckFile[]>;
  readonly lane: CheckLane;
  /** Ends the run (the process and its children are killed); the outcome is then `unavailable`. */
  readonly signal: AbortSignal;
}

/** One message of the checker, made safe: valid text on one line, nothing quoted that the files do not show anyway. */
export interface CheckFinding {
  readonly severity: 'alert' | 'warning';
  /** File and line (from 1) that the checker blames, when it names them. */
  readonly file?: string;
  readonly line?: number;
  /** Other output files that the message names (a certificate, a map). */
  readonly mentions: readonly string[];
  /** The message without its place; empty when it had to be withheld. */
  readonly text: string;
}

export type CheckOutcome =
  | { readonly kind: 'passed'; readonly warnings: readonly CheckFinding[]; readonly durationMs: number }
  | { readonly kind: 'refused'; readonly findings: readonly CheckFinding[]; readonly durationMs: number }
  /** The checker said nothing about the files: never a verdict, never remembered. */
  | {
      readonly kind: 'unavailable';
      readonly reason: 'killed' | 'timeout' | 'missing' | 'aborted' | 'failed';
      /** One line for a person. */
      readonly message: string;
      readonly durationMs: number;
    };

export interface Checker {
  /** Rejects only if `files` does, with its error. */
  check(request: CheckRequest): Promise<CheckOutcome>;
  /** Names command, version and limits: part of every verdict's key. */
  readonly identity: string;
}
