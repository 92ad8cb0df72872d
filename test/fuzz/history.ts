import { nodeByKey } from '../../src/graph/generation.js';
import { instanceKey as engineKey, isSignatureKey } from '../../src/render/keys.js';
import type { InstanceResult } from '../../src/render/instance-result.js';
import { flatFiles } from '../../src/render/output-tree.js';
import type { ObjectChange, ReconcileReply, StoredQuarantine } from '../../src/render/protocol.js';
import { Renderer } from '../../src/render/renderer.js';
import { Reviewer } from '../../src/render/reviewer.js';
import { Comparison, Difference, eventText, fileText, resultText } from './comparison.js';
import type { FuzzConfig } from './fuzz-config.js';
import { type Edit, Oracle } from './oracle.js';
import type { RecordingContext } from './recording-host.js';
import { stateDifference } from './same-state.js';
import { describeStep, type Put, type Step } from './steps.js';
import type { Tally } from './tally.js';
import { ALIASES, type FuzzObject, objectOf, type Place, placeKey, randomSpec, textOf } from './world.js';
import { Random } from './random.js';

/** The journal's length here: no history has as many changes between two renders, but `trim` has. */
const JOURNAL_LENGTH = 64;
/** Checks in one cycle, as DESIGN 9 has it. */
const MAX_CHECKS = 16;

/** One history: every step is done to the engine and to the answer key, and what they say is compared. Throws Difference. */
export class History {
  readonly #oracle: Oracle;
  #renderer: Renderer;
  #reviewer: Reviewer;
  #saved: StoredQuarantine = { entries: [] };
  readonly #compare = new Comparison();
  /** What was admitted, by the number under which the engine has it. */
  readonly #ledger = new Map<number, Edit>();
  #numbers = 0;
  #noise = 0;

  constructor(
    config: FuzzConfig,
    private readonly context: RecordingContext,
    private readonly tally: Tally,
  ) {
    this.#oracle = new Oracle(config);
    [this.#renderer, this.#reviewer] = this.#start();
  }

  run(steps: readonly Step[]): void {
    steps.forEach((step, at) => {
      try {
        this.tally.steps[step.do]++;
        this.#step(step);
      } catch (error) {
        const said = error instanceof Difference ? error.message : `the engine threw ${(error as Error).stack}`;
        throw new Difference(`after step ${at + 1}, ${describeStep(step)}: ${said}`);
      }
    });
  }

  #start(): [Renderer, Reviewer] {
    const renderer = new Renderer(this.context);
    for (const alias of ALIASES) Object.assign(renderer.stores.store(alias), { journalLength: JOURNAL_LENGTH });
    return [renderer, new Reviewer(renderer, 0)];
  }

  #step(step: Step): void {
    switch (step.do) {
      case 'put':
      case 'delete':
        return this.#change([editOf(step.put)]);
      case 'awayAndBack':
        return this.#awayAndBack(editOf(step.put));
      case 'noop':
        return this.#change([{ place: step.place, object: this.#oracle.find(step.place) }]);
      case 'swap':
        return this.#swap(...step.places);
      case 'commit':
        return this.#cycle(step.check, step.blame);
      case 'abort':
        return void this.#reconcile(step.after);
      case 'review':
        return this.#review(step);
      case 'replace':
        return this.#replace(step);
      case 'trim':
        return this.#trim(step.put);
      case 'lift':
        return this.#lift(step.at);
      case 'restart':
        return this.#restart();
    }
  }

  // --- Changes

  #change(edits: readonly Edit[]): void {
    this.#renderer.stores.apply(edits.map((edit) => this.#changeOf(edit)));
    edits.forEach((edit) => this.#oracle.change(edit));
  }

  #changeOf({ place, object }: Edit): ObjectChange {
    return { ...place, text: object === undefined ? undefined : textOf(object, ++this.#noise) };
  }

  #awayAndBack(away: Edit): void {
    const back = { place: away.place, object: this.#oracle.find(away.place) };
    this.#change([away, { ...away, object: undefined }, back]);
  }

  #swap(left: Place, right: Place): void {
    const moved = (from: Place, to: Place): Edit => {
      const object = this.#oracle.find(from);
      return { place: to, object: object === undefined ? undefined : objectOf(to, object.spec) };
    };
    this.#change([moved(left, right), moved(right, left)]);
  }

  #trim({ place }: Put): void {
    const last = this.#oracle.find(place);
    const random = new Random(7);
    for (let i = 0; i <= 2 * JOURNAL_LENGTH; i++)
      this.#change([{ place, object: objectOf(place, { ...randomSpec(random), port: 10 + i }) }]);
    this.#change([{ place, object: last }]);
    this.#oracle.loseJournal();
  }

  #replace({ alias, puts, keep }: Step & { do: 'replace' }): void {
    const kept = keep ? [...(this.#oracle.stores.get(alias)?.values() ?? [])] : [];
    const edits = [
      ...kept.map((object): Edit => ({ place: { alias, ...object.metadata }, object })),
      ...puts.filter(({ place }) => place.alias === alias).map(editOf),
    ];
    this.#renderer.stores.replace(
      [alias],
      edits.map((edit) => this.#changeOf(edit)),
    );
    this.#oracle.replace(alias, edits);
  }

  #lift(at: number): void {
    const held = [...this.#oracle.held.values()][at];
    if (held === undefined) return;
    this.tally.seen.lifted++;
    this.#renderer.unquarantine([held.place]);
    this.#oracle.lift(held.place);
  }

  #restart(): void {
    [this.#renderer, this.#reviewer] = this.#start();
    const all = [...this.#oracle.stores].flatMap(([alias, objects]) =>
      [...objects.values()].map((object): Edit => ({ place: { alias, ...object.metadata } as Place, object })),
    );
    this.#renderer.stores.apply(all.map((edit) => this.#changeOf(edit)));
    this.#renderer.restore(JSON.parse(JSON.stringify(this.#saved)) as StoredQuarantine);
    this.#oracle.restart();
  }

  // --- Reconcile

  /** Render, check, hold back what is refused, until it passes or cannot be checked. */
  #cycle(check: 'judge' | 'unavailable', blame: 'all' | 'first'): void {
    for (let checks = 0; checks < MAX_CHECKS; checks++) {
      const reply = this.#reconcile();
      if (reply.kind !== 'rendered') return;
      if (check === 'unavailable') return void this.tally.seen.unchecked++;
      const refused = this.#oracle.refusedPlaces();
      if (refused.length === 0) return this.#accept(reply.render);
      const blamed = blame === 'all' ? refused : refused.slice(0, 1);
      this.tally.seen.refused++;
      this.#renderer.putAside(blamed.map((place) => ({ ...place, faults: ['refused'], reason: 'refused' })));
      this.#oracle.putAside(blamed);
    }
  }

  #accept(render: number): void {
    this.#saved = this.#renderer.accept(render);
    this.#oracle.accept();
    this.#compareAccepted();
    this.#compareCold();
  }

  #reconcile(stopAfter?: number): ReconcileReply {
    const { host, progress } = this.context;
    host.onRun = (count) => count === stopAfter && progress.cancel();
    const { value: reply, runs } = host.during(() => this.#renderer.reconcile(undefined));
    host.onRun = () => undefined;
    const expected = this.#oracle.reconcile(stopAfter);
    this.#compare.same('kind of reply', reply.kind, expected.kind);
    this.tally.executions += expected.attempts.length;
    this.#compare.runs(runs, expected.attempts);
    this.#compareQuarantine();
    if (reply.kind !== 'rendered' || expected.kind !== 'rendered') {
      this.tally.seen[reply.kind === 'failed' ? 'failed' : 'stopped']++;
      return reply;
    }
    this.tally.commits++;
    this.tally.seen[reply.cold ? 'cold' : 'warm']++;
    this.#compare.same('cold', reply.cold, expected.cold);
    this.#compare.same('number of executed instances', reply.executed, expected.executed.length);
    this.#compare.same('events', reply.events.map(eventText).sort().join('\n'), expected.events.join('\n'));
    this.#compare.files(this.#renderer.files(reply.render), expected.files, reply.digest);
    const acceptedFiles = this.#oracle.accepted?.files;
    if (reply.unchanged) this.#compare.same('unchanged outputs', fileText(acceptedFiles), fileText(expected.files));
    return reply;
  }

  #compareQuarantine(): void {
    const got = this.#renderer.quarantine
      .entries()
      .map((entry) => `${placeKey(entry)} ${entry.servedOld ? 'old' : 'out'}`);
    const held = [...this.#oracle.held].map(
      ([key, { accepted }]) => `${key} ${accepted === undefined ? 'out' : 'old'}`,
    );
    this.#compare.same('quarantine', got.sort().join(), held.sort().join());
    held.forEach((text) => this.tally.seen[text.endsWith('old') ? 'servedOld' : 'leftOut']++);
  }

  /** Each instance's text, contributions, publications and events. */
  #compareAccepted(): void {
    const state = this.#renderer.accepted;
    if (state === undefined) throw new Difference('nothing is accepted');
    const results = [...(this.#oracle.accepted?.memos.values() ?? [])];
    for (const { instance, result } of results) {
      const [component, source, namespace, name] = instance;
      const value = nodeByKey(state.generation, engineKey({ component, source, namespace, name }))?.value as
        InstanceResult | undefined;
      this.#compare.same(`result of ${instance.join(' ')}`, resultText(value), resultText(result as InstanceResult));
    }
    const queries = state.generation.nodes.count((node) => node?.kind === 'query' && !isSignatureKey(node.key));
    this.#compare.same('instances told', this.#renderer.status().instances, this.#oracle.committed?.memos.size);
    this.#compare.same('number of instances', queries, results.length);
  }

  /** The same engine on the final state alone. */
  #compareCold(): void {
    const cold = new Renderer(this.context);
    const view = this.#oracle.accepted?.view ?? new Map<string, Map<string, FuzzObject>>();
    for (const [alias, objects] of view) {
      const edits = [...objects.values()].map((object): Edit => ({
        place: { alias, ...object.metadata } as Place,
        object,
      }));
      cold.stores.apply(edits.map((edit) => this.#changeOf(edit)));
    }
    const reply = cold.reconcile(undefined);
    if (reply.kind !== 'rendered') throw new Difference(`a cold render of the same state ends as ${reply.kind}`);
    cold.accept(reply.render);
    if (this.#renderer.accepted === undefined || cold.accepted === undefined)
      throw new Difference('nothing is accepted');
    this.#compare.files(this.#renderer.acceptedFiles(), cold.acceptedFiles(), undefined);
    const different = stateDifference(this.#renderer.accepted, cold.accepted);
    if (different !== undefined) throw new Difference(`warm and cold ${different}`);
  }

  // --- Reviews

  #review({ ledger, changes, admits }: Step & { do: 'review' }): void {
    const before = this.#renderer.accepted;
    const files = fileText(before === undefined ? undefined : flatFiles(before.outputs));
    this.#ledger.forEach((_, number) => this.#reviewer.forget({ number }));
    this.#ledger.clear();
    ledger.map(editOf).forEach((edit) => this.#remember(edit));
    const rendered = changes.map(editOf).flatMap((change) => {
      const reviewed = this.#reviewOne(change);
      if (admits) reviewed.forEach(({ render }) => this.#remember(change, render));
      return reviewed;
    });
    this.#combine(rendered);
    rendered.forEach(({ render }) => this.#reviewer.release(render));
    this.#compare.same('accepted root after a review', this.#renderer.accepted, before);
    this.#compare.same('accepted files after a review', fileText(this.#renderer.acceptedFiles()), files);
  }

  #remember(edit: Edit, render?: number): void {
    const number = ++this.#numbers;
    this.#ledger.set(number, edit);
    this.#reviewer.remember({ number, change: this.#changeOf(edit), render });
    if (render !== undefined) this.#oracle.admit();
  }

  #reviewOne(change: Edit): Reviewed[] {
    const own = [...this.#ledger].filter(([, { place }]) => placeKey(place) === placeKey(change.place));
    const body = {
      without: own.map(([number]) => number),
      change: this.#changeOf(change),
      timeoutMs: 60_000,
      expiresAt: Infinity,
    };
    const { value, runs } = this.context.host.during(() => this.#reviewer.review(body));
    const expected = this.#oracle.review([...this.#ledger.values()], change);
    if (expected.forgets === true) this.#ledger.clear();
    const { render: reply } = value;
    this.tally.reviews++;
    this.#compare.same('kind of review', reply.kind, expected.kind);
    this.tally.executions += expected.attempts.length;
    this.#compare.runs(runs, expected.attempts);
    if (expected.kind === 'cold' || !('executed' in reply)) return [];
    this.#compare.same('executed by the review', reply.executed, expected.executed.length);
    if (reply.kind === 'fault' && expected.kind === 'fault') {
      this.tally.seen.reviewFaults++;
      const objects = reply.faults.flatMap(({ object }) =>
        object ? `${object.alias} ${object.namespace} ${object.name}` : [],
      );
      this.#compare.same('objects at fault', [...objects].sort().join(), [...expected.objects].sort().join());
    }
    if (reply.kind !== 'rendered' || expected.kind !== 'rendered') return [];
    this.#compare.same('warnings', [...reply.warnings].sort().join('\n'), expected.warnings.join('\n'));
    this.tally.seen.warnings += expected.warnings.length;
    this.tally.seen.takeovers += expected.warnings.filter((text) => text.includes('takes over')).length;
    this.#compare.files(this.#renderer.files(reply.render), expected.files, reply.digest);
    if (reply.unchanged) {
      this.tally.seen.unchanged++;
      this.#compare.same('unchanged by the review', fileText(this.#oracle.accepted?.files), fileText(expected.files));
    } else if (expected.quiet && fileText(expected.files) === fileText(this.#oracle.accepted?.files)) {
      throw new Difference('unchanged outputs count as changed');
    }
    return [{ render: reply.render, ledger: expected.ledger, change }];
  }

  #combine(rendered: readonly Reviewed[]): void {
    const { host } = this.context;
    const renders = rendered.map(({ render }) => render);
    const { value: combined } = host.during(() => this.#reviewer.combine({ renders, timeoutMs: 60_000 }));
    if (combined.render === undefined) return;
    this.tally.seen.combined++;
    const members = rendered.filter(({ render }) => !combined.left.includes(render));
    const expected = this.#oracle.filesWith([
      ...(members.at(-1)?.ledger ?? []),
      ...members.map(({ change }) => change),
    ]);
    this.#compare.files(this.#renderer.files(combined.render), expected ?? [], combined.digest);
    this.#reviewer.release(combined.render);
  }
}

/** A review that came to an end, with what it was rendered from. */
interface Reviewed {
  readonly render: number;
  readonly ledger: readonly Edit[];
  readonly change: Edit;
}

function editOf({ place, spec }: Put): Edit {
  return { place, object: spec === undefined ? undefined : objectOf(place, spec) };
}
