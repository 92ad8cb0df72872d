import { randomBytes } from 'node:crypto';
import { existsSync, readFileSync, readdirSync, realpathSync, statSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';

import { makeScratch } from '../support/scratch.js';
import { forbiddenTexts } from './always.js';
import type { Case, KubernetesObject } from './case-schema.js';
import { CheckerShim, findHaproxy } from './checker-shim.js';
import { copyConfig, watchedKey } from './config-copy.js';
import type { ConfigCopy } from './config-copy.js';
import { StoredObjects } from './stored-objects.js';
import { createTokenReplacer, generatePairs } from './tokens.js';

/** Everything that one run of one case stands on; nothing of it is shared with another run. */
export interface CaseWorld {
  /** With every token but `@stored` replaced. */
  readonly case: Case;
  readonly haproxy: string;
  readonly config: ConfigCopy;
  readonly resources: string;
  readonly stored: StoredObjects;
  readonly shim: CheckerShim;
  /** Temporary directory of the processes under test. */
  readonly tmp: string;
  /** Where the processes may write what they render. */
  readonly output: string;
  /** Parts of Secrets and canaries that nobody may get to see. */
  readonly forbidden: readonly string[];
  /** Whether the Lua canary was executed since the start. */
  canaryRan(): boolean;
  /** Whether a change to this object concerns the configuration at all. */
  isWatched(object: KubernetesObject): boolean;
  remove(): void;
}

/** Cases in which a checker must not even see what the outputs must not have. */
const SECURITY = /^(?:security|injection)/;

/** The most that may be configured, above every wait of a case (data: cold-render-short-budget). */
const LONG_BUDGET = '29s';

/** Throws when haproxy is not installed: no case can be judged then. */
export async function buildWorld(source: Case): Promise<CaseWorld> {
  const haproxy = findHaproxy();
  if (haproxy === undefined)
    throw new Error('haproxy is not installed: the cases need the real one (apt install haproxy)');
  const scratch = makeScratch('rg-case-');
  const canaries = makeCanaries(scratch.folder('canary', 0o777));
  const replace = createTokenReplacer({ ...canaries, pairs: await generatePairs(source) });
  const resolved = replace(source);
  const shim = new CheckerShim(scratch.folder('shim'), haproxy, SECURITY.test(source.kind));
  const config = copyConfig(scratch.folder('config'), {
    features: source.features,
    checker: shim.program,
    values: source.duringFirstRender ? [[['admission', 'budget'], LONG_BUDGET]] : [],
  });
  const resources = join(scratch.path, 'resources');
  const objects = [...resolved.given, ...resolved.reviews.flatMap(objectsOf)];
  return {
    case: resolved,
    haproxy,
    config,
    resources,
    stored: new StoredObjects(resources, join(scratch.path, 'draft'), resolved.given),
    shim,
    tmp: scratch.folder('tmp', 0o1777),
    output: scratch.folder('output'),
    forbidden: forbiddenTexts(objects, [canaries.line]),
    canaryRan: () => existsSync(canaries.luaMark),
    isWatched: (object) => config.watched.has(watchedKey(String(object['apiVersion']), String(object['kind']))),
    remove: () => scratch.remove(),
  };
}

function makeCanaries(directory: string) {
  const line = `canary-${randomBytes(16).toString('hex')}`;
  const canaryFile = join(directory, 'file');
  const canaryLua = join(directory, 'run.lua');
  const luaMark = join(directory, 'lua-ran');
  writeFileSync(canaryFile, `${line}\n`, { mode: 0o644 });
  writeFileSync(canaryLua, `local mark = io.open(${JSON.stringify(luaMark)}, "w")\nif mark then mark:close() end\n`);
  return { canaryFile, canaryLua, luaMark, line };
}

function objectsOf(review: Case['reviews'][number]): KubernetesObject[] {
  const values = [review.object, review.oldObject, ...(review.meanwhile ?? []).map(({ store }) => store)];
  return values.filter((value) => typeof value === 'object' && value !== null);
}

/** All files of a release directory as one text. */
export function readRelease(directory: string): string {
  const root = realpathSync(directory);
  const names = readdirSync(root, { recursive: true, encoding: 'utf8' }).sort();
  const files = names.filter((name) => statSync(join(root, name)).isFile());
  return files.map((name) => readFileSync(join(root, name), 'utf8')).join('\n');
}
