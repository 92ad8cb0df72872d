import { afterEach, beforeEach, describe, expect, it } from '@jest/globals';
import { join } from 'node:path';
import { file, isDead, request, summary, until, Workshop } from './stand-in.js';

let shop: Workshop;

beforeEach(() => {
  shop = new Workshop();
});

afterEach(() => shop.close());

async function outcomeOf(body: string, files = [file('haproxy.cfg', 'global\n')]): Promise<object> {
  return summary(await shop.checker([shop.script(body), '{dir}']).check(request(files)));
}

describe('the verdict of a checker process', () => {
  it('is passed for exit code 0, with its warnings', async () => {
    expect(await outcomeOf("echo '[WARNING] (7) : config : parsing [haproxy.cfg:1] : invalid value' >&2")).toEqual({
      kind: 'passed',
      warnings: [{ severity: 'warning', file: 'haproxy.cfg', line: 1, mentions: [], text: 'invalid value' }],
    });
  });

  it('is refused for exit code 1, with its findings', async () => {
    const body = "echo '[ALERT] (7) : config : parsing [haproxy.cfg:1] : invalid value' >&2; exit 1";
    expect(await outcomeOf(body)).toMatchObject({
      kind: 'refused',
      findings: [{ severity: 'alert', file: 'haproxy.cfg', line: 1, text: 'invalid value' }],
    });
  });

  it('is refused for any other exit code, and says so when the checker says nothing', async () => {
    expect(await outcomeOf('exit 42')).toEqual({
      kind: 'refused',
      findings: [{ severity: 'alert', mentions: [], text: 'the checker named no fault (it ended with code 42)' }],
    });
  });

  it.each(['KILL', 'SEGV', 'TERM'])('is none when the checker is killed by SIG%s', async (signal) => {
    expect(await outcomeOf(`kill -${signal} $$`)).toMatchObject({ kind: 'unavailable', reason: 'killed' });
  });

  it('is none when the program is missing, and the message says how to get HAProxy', async () => {
    const outcome = await shop.checker(['no-such-checker', '-c']).check(request());
    expect(outcome).toMatchObject({ kind: 'unavailable', reason: 'missing' });
    expect(outcome).toMatchObject({ message: expect.stringContaining('apt-get install haproxy') });
  });

  it('is none when the program goes away after the start', async () => {
    const { rmSync } = await import('node:fs');
    const script = shop.script('exit 0');
    const checker = shop.checker([script]);
    rmSync(script);
    expect(await checker.check(request())).toMatchObject({ kind: 'unavailable', reason: 'missing' });
  });

  it('is none when the program is not executable', async () => {
    const outcome = await shop.checker([shop.script('exit 0', 0o644)]).check(request());
    expect(outcome).toMatchObject({ reason: 'missing', message: expect.stringContaining('is not executable') });
  });

  it('is none when the program is executable, but not for the user it runs as', async () => {
    if (process.getuid?.() !== 0) return;
    const outcome = await shop.checker([shop.script('exit 0', 0o700)]).check(request());
    expect(outcome).toMatchObject({
      reason: 'missing',
      message: expect.stringContaining('is not executable for user'),
    });
  });

  it('is none when the checker ran out of memory, unless a file holds the words', async () => {
    const body = 'echo "[ALERT] (7) : config : parsing [haproxy.cfg:1] : proxy \'b\': out of memory" >&2; exit 1';
    expect(await outcomeOf(body)).toMatchObject({ reason: 'failed', message: expect.stringContaining('check.memory') });
    const imitation = [file('haproxy.cfg', "  balance 'out of memory'\n")];
    expect(await outcomeOf(body, imitation)).toMatchObject({ kind: 'refused' });
  });

  it('is none when the checker did not get at the files', async () => {
    const body = "echo '[ALERT] (7) : Could not change to directory /x : No such file or directory' >&2; exit 1";
    expect(await outcomeOf(body)).toMatchObject({ kind: 'unavailable', reason: 'failed' });
  });

  it('survives output of 10 MB without keeping it', async () => {
    const body = "head -c 10000000 /dev/zero | tr '\\0' 'x' >&2; echo '[ALERT] (7) : config : late'; exit 1";
    expect(await outcomeOf(body)).toMatchObject({ kind: 'refused', findings: [{ severity: 'alert' }] });
  });

  it('survives output that is no text', async () => {
    const head = '[ALERT] (7) : config : parsing [haproxy.cfg:1] : unknown keyword ';
    const body = `printf "${head}'\\377\\376\\303\\033[31m\\000m' in section\\n" >&2; exit 1`;
    expect(await outcomeOf(body)).toMatchObject({ findings: [{ text: "unknown keyword '…' in section" }] });
  });
});

describe('the end of a checker process', () => {
  const SLEEPER = 'sleep 60 & echo $! > {here}/child; echo $$ > {here}/parent; wait';

  async function expectBothDead(): Promise<void> {
    const [parent, child] = [await shop.written('parent'), await shop.written('child')];
    await until(() => isDead(parent) && isDead(child));
    expect(shop.leftOver()).toEqual([]);
  }

  it('comes at the time limit, with its children', async () => {
    const outcome = await shop.checker([shop.script(SLEEPER)], { timeoutMs: 1_000 }).check(request());
    expect(outcome).toMatchObject({
      kind: 'unavailable',
      reason: 'timeout',
      message: expect.stringContaining('1000 ms'),
    });
    await expectBothDead();
  });

  it('comes when the caller gives up, with its children', async () => {
    const caller = new AbortController();
    const outcome = shop.checker([shop.script(SLEEPER)]).check(request([], { signal: caller.signal }));
    await shop.written('parent');
    caller.abort();
    expect(await outcome).toMatchObject({ kind: 'unavailable', reason: 'aborted' });
    await expectBothDead();
  });

  it('comes when the checker is closed, and later checks are not begun', async () => {
    const checker = shop.checker([shop.script(SLEEPER)]);
    const [running, waiting] = [checker.check(request()), checker.check(request())];
    await shop.written('parent');
    await checker.close();
    const outcomes = [await running, await waiting, await checker.check(request())];
    expect(outcomes.map(summary)).toEqual(Array(3).fill(expect.objectContaining({ reason: 'aborted' })));
    await expectBothDead();
  });

  it('comes when this process exits, and the private directory goes too', async () => {
    const before = process.listeners('exit');
    const outcome = shop.checker([shop.script(SLEEPER)]).check(request([file('key.pem', 'key', true)]));
    await shop.written('parent');
    const added = process.listeners('exit').filter((listener) => !before.includes(listener));
    added.forEach((listener) => listener(0));
    expect(shop.leftOver()).toEqual([]);
    expect(await outcome).toMatchObject({ reason: 'killed' });
    await expectBothDead();
  });

  it('ends the children that it leaves behind, although they hold its output open', async () => {
    const body = 'sleep 60 & echo $! > {here}/child; echo $$ > {here}/parent; exit 0';
    expect(await outcomeOf(body)).toMatchObject({ kind: 'passed' });
    await expectBothDead();
  });

  it('does not wait for children that fled into another session', async () => {
    const body = "setsid sh -c 'echo $$ > {here}/fled; exec sleep 60' & until [ -s {here}/fled ]; do :; done; exit 0";
    expect(await outcomeOf(body)).toMatchObject({ kind: 'passed' });
    process.kill(Number(await shop.written('fled')), 'SIGKILL');
  });

  it('is not awaited by a check that never began', async () => {
    const outcome = await shop.checker([shop.script(SLEEPER)]).check(request([], { signal: AbortSignal.abort() }));
    expect(outcome).toMatchObject({ reason: 'aborted', durationMs: 0 });
  });
});

describe('the surroundings of a checker process', () => {
  it('are an empty environment, no input and a group of its own', async () => {
    const body =
      'env | grep -v "^PWD=" > {here}/env; cat > {here}/input; cut -d" " -f5 /proc/$$/stat > {here}/group; echo $$ > {here}/pid';
    await outcomeOf(body);
    expect(await shop.written('group')).toBe(await shop.written('pid'));
    const { readFileSync } = await import('node:fs');
    expect(readFileSync(join(shop.folder, 'input'), 'utf8')).toBe('');
    // `_` and `SHLVL` are what some shells add for their own children.
    expect(readFileSync(join(shop.folder, 'env'), 'utf8').replace(/^(_|SHLVL|OLDPWD)=.*\n/gm, '')).toBe('');
  });

  it('are the files in a directory that nobody else can enter, sensitive ones closed even more', async () => {
    const body =
      'stat -c "%a %n" . maps maps/a.map certs/k.pem haproxy.cfg > {here}/modes; pwd > {here}/cwd; echo "$1" > {here}/dir';
    const files = [file('haproxy.cfg', 'a'), file('maps/a.map', 'b'), file('certs/k.pem', 'c', true)];
    await outcomeOf(body, files);
    expect(await shop.written('modes')).toBe('700 .\n700 maps\n644 maps/a.map\n600 certs/k.pem\n644 haproxy.cfg');
    expect(await shop.written('cwd')).toBe(await shop.written('dir'));
    expect(shop.leftOver()).toEqual([]);
  });

  it('are another user when this process is root', async () => {
    await outcomeOf('id -u > {here}/uid; id -G > {here}/groups; cat haproxy.cfg > {here}/read; echo >> {here}/read');
    const user = process.getuid?.() === 0 ? '65534' : String(process.getuid?.());
    expect(await shop.written('uid')).toBe(user);
    if (user === '65534') expect(await shop.written('groups')).toBe('65534');
    expect(await shop.written('read')).toBe('global');
  });

  it('are limited in memory', async () => {
    await outcomeOf('ulimit -d > {here}/data; ulimit -c > {here}/core');
    expect(await shop.written('data')).toBe(String(1024 * 1024));
    expect(await shop.written('core')).toBe('0');
  });

  it.each(['../evil', '/etc/evil', 'a/../../evil', '', '.', 'a//b', 'a/', 'a\0b', 'a\\b', './a'])(
    'never include a file named %j, and nothing is run',
    async (name) => {
      const outcome = await outcomeOf('echo ran > {here}/ran', [file(name, 'text')]);
      expect(outcome).toMatchObject({ kind: 'unavailable', reason: 'failed' });
      expect(shop.leftOver()).toEqual([]);
    },
  );

  it('never include one file twice', async () => {
    const twice = [file('a', '1'), file('a', '2')];
    expect(await outcomeOf('exit 0', twice)).toMatchObject({
      reason: 'failed',
      message: expect.stringContaining('EEXIST'),
    });
    expect(shop.leftOver()).toEqual([]);
  });

  it('hold hundreds of files', async () => {
    const files = Array.from({ length: 300 }, (_, index) => file(`certs/${index}.pem`, String(index), true));
    await outcomeOf('ls certs | wc -l > {here}/count', files);
    expect(await shop.written('count')).toBe('300');
  });
});

describe('checks at once', () => {
  it('are as many as allowed, one lane never taking all places', async () => {
    const body = 'echo $$ > {here}/$(cat name); until [ -e {here}/go ]; do sleep 0.01; done';
    const checker = shop.checker([shop.script(body)], { concurrency: 2 });
    const named = (name: string): ReturnType<typeof file>[] => [file('name', name)];
    const admission = ['a1', 'a2'].map((name) => checker.check(request(named(name))));
    const reconcile = checker.check(request(named('r1'), { lane: 'reconcile' }));
    await Promise.all([shop.written('a1'), shop.written('r1')]);
    const { existsSync, writeFileSync } = await import('node:fs');
    expect(existsSync(join(shop.folder, 'a2'))).toBe(false);
    writeFileSync(join(shop.folder, 'go'), '');
    const outcomes = await Promise.all([...admission, reconcile]);
    expect(outcomes.map((outcome) => outcome.kind)).toEqual(['passed', 'passed', 'passed']);
  });
});

describe('the identity of a checker', () => {
  it('names command and limits, and changes with each of them', () => {
    const [one, two] = [shop.script('exit 0'), shop.script('exit 00')];
    const identities = [
      shop.checker([one]),
      shop.checker([one, '-x']),
      shop.checker([two]),
      shop.checker([one], { timeoutMs: 1 }),
      shop.checker([one], { memoryMiB: 1 }),
    ].map((checker) => checker.identity);
    expect(new Set(identities).size).toBe(5);
    expect(shop.checker([one]).identity).toBe(identities[0]);
  });

  it('does not ask a program for its version that is not HAProxy', async () => {
    const checker = shop.checker([shop.script('echo asked > {here}/asked')]);
    expect(await checker.probeVersion()).toBeUndefined();
    expect(shop.leftOver()).toEqual([]);
  });
});

describe('what is logged', () => {
  it('is every run without a verdict, by a constant message with fields', async () => {
    await outcomeOf('kill -KILL $$');
    await outcomeOf('exit 1');
    expect(shop.log).toEqual([
      {
        message: 'the checker gave no verdict',
        reason: 'killed',
        problem: expect.stringContaining('SIGKILL'),
        durationMs: expect.any(Number),
      },
    ]);
  });
});
