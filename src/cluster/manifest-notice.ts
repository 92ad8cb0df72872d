import type { Logger } from 'pino';
import type { FileNews } from './manifest-book.js';
import type { WalkEntry } from './manifest-files.js';
import type { Conflict } from './manifest-set.js';

/** Something about the manifest files that a person should know. Never carries a value of a file. */
export interface ManifestNotice {
  readonly file: string;
  /** Counted from 1; missing when the problem has no place. */
  readonly line?: number;
  readonly message: string;
  /** What follows for the objects of the file. */
  readonly effect: string;
}

/** One notice for each problem of a file that does not parse. */
export function noticesOfBroken(news: Extract<FileNews, { kind: 'broken' }>): readonly ManifestNotice[] {
  const effect =
    news.kept > 0
      ? `its last good state stays (${count(news.kept)}) until it can be read again`
      : 'none of its objects is loaded';
  return news.problems.map((problem) => ({ file: news.file, ...problem, effect }));
}

export function noticeOfConflict({ holds, ignored, objects }: Conflict): ManifestNotice {
  const more = objects.length > 1 ? ` and ${objects.length - 1} more` : '';
  const message =
    holds === ignored ? `has ${objects[0]}${more} twice` : `has the same object as ${holds}: ${objects[0]}${more}`;
  const effect = holds === ignored ? 'the first one counts' : `the one in ${holds} counts, this one is ignored`;
  return { file: ignored, message, effect };
}

/** For a directory whose files are left out. */
export function noticeOfEntry({ kind, path }: WalkEntry): ManifestNotice {
  const message =
    kind === 'linked-directory' ? 'is a symbolic link to a directory' : 'is a directory that cannot be read';
  return { file: path || '.', message, effect: 'nothing in it is loaded' };
}

/** One line for a file, however many problems it has. */
export function logNews(log: Logger, news: FileNews): void {
  if (news.kind === 'repaired') {
    log.info({ file: news.file, objects: news.objects }, 'Manifest file can be read again');
    return;
  }
  const [first, ...others] = noticesOfBroken(news);
  if (first !== undefined) logNotice(log, first, others.length);
}

export function logNotice(log: Logger, notice: ManifestNotice, furtherProblems = 0): void {
  const { file, line, message, effect } = notice;
  const more = furtherProblems > 0 ? { furtherProblems } : {};
  const place = line === undefined ? file : `${file}:${line}`;
  log.warn({ file, line, problem: message, effect, ...more }, `Manifest ${place} ${verbal(message)}; ${effect}`);
}

/** Messages begin with a verb or name the thing that is wrong; both read well after the place. */
function verbal(message: string): string {
  return /^(?:is|has|nests|cannot) /.test(message) ? message : `is not valid: ${message}`;
}

function count(objects: number): string {
  return objects === 1 ? '1 object' : `${objects} objects`;
}
