import type { ComponentSpec } from '../config/render-config.js';
import type { Reader } from '../graph/session.js';
import { canonicalText, frozenJson } from '../store/canonical.js';
import { SEPARATOR, type ObjectSnapshot } from '../store/snapshot.js';
import { shown, TemplateFault } from '../template/faults.js';
import { safeText, type SafeText } from '../template/safe-text.js';
import type { TemplateIo } from '../template/template-io.js';
import type { OwnedContribution } from './contribution-index.js';
import type { Contribution, InstanceResult, LogicalEvent } from './instance-result.js';
import { countKey, findKey, getKey, listKey, selectKey, selectValuesKey } from './keys.js';
import type { RenderPlan } from './plan.js';

/** What a running render lets its instances read. */
export interface ReadableRender {
  snapshot(alias: string): ObjectSnapshot;
  winner(group: string, cell: string, key: string): OwnedContribution | undefined;
  winners(group: string, cell: string): readonly OwnedContribution[];
  count(group: string, cell: string): number;
}

/** Parsed values of winners: immutable, so each text is parsed once. */
const parsed = new WeakMap<OwnedContribution, unknown>();

export function valueOf(contribution: OwnedContribution): unknown {
  if (!parsed.has(contribution)) parsed.set(contribution, frozenJson(contribution.text));
  return parsed.get(contribution);
}

/** Tracked reads that components and outputs share: each records the exact input, found or not. */
abstract class TrackedReads {
  constructor(
    protected readonly render: ReadableRender,
    protected readonly reader: Pick<Reader, 'input'>,
  ) {}

  list(alias: string): readonly unknown[] {
    this.reader.input(listKey(alias));
    return this.render.snapshot(alias).list();
  }

  get(alias: string, prefix: readonly string[]): readonly unknown[] {
    const { paths } = this.render.snapshot(alias);
    if (prefix.length > paths.length) {
      throw new TemplateFault(
        `resources.${alias}.get() takes at most ${paths.length} values (indexBy), got ${prefix.length}`,
      );
    }
    this.reader.input(prefix.length === 0 ? listKey(alias) : getKey(alias, prefix));
    return this.render.snapshot(alias).get(prefix);
  }

  find(alias: string, namespace: string, name: string): unknown {
    this.reader.input(findKey(alias, namespace, name));
    return this.render.snapshot(alias).find(namespace, name);
  }

  select(group: string, cell: string, key: string): unknown {
    this.authorize(group);
    this.reader.input(selectKey(group, cell, key));
    const winner = this.render.winner(group, cell, key);
    return winner === undefined ? undefined : valueOf(winner);
  }

  selectValues(group: string, cell: string): readonly unknown[] {
    this.authorize(group);
    this.reader.input(selectValuesKey(group, cell));
    return Object.freeze(this.render.winners(group, cell).map(valueOf));
  }

  count(group: string, cell: string): number {
    this.authorize(group);
    this.reader.input(countKey(group, cell));
    return this.render.count(group, cell);
  }

  protected abstract authorize(group: string): void;
}

const CONTROL = /[\u0000-\u001f\u007f-\u009f\u2028\u2029]/;
/** An object that gives occasion to thousands of events would flood the log; the rest is counted. */
const MAX_EVENTS = 100;
/** The API server takes 1,024 characters for the note of an Event. */
const MAX_MESSAGE = 1_024;
const FILE_NAME = /^[A-Za-z0-9][A-Za-z0-9._-]{0,250}$/;

/** Reads and effects of one component instance. */
export class InstanceIo extends TrackedReads implements TemplateIo {
  readonly #uniques: Contribution[] = [];
  readonly #publications: Contribution[] = [];
  readonly #events: LogicalEvent[] = [];
  #moreEvents = 0;
  #bytes = 0;

  constructor(
    render: ReadableRender,
    reader: Pick<Reader, 'input'>,
    private readonly plan: RenderPlan,
    private readonly component: ComponentSpec,
  ) {
    super(render, reader);
  }

  publish(cell: string, key: string, value: unknown, rank: string | undefined): void {
    this.#needs('publishValue', 'shared.publish');
    const text = this.#publicationText(cell, value);
    this.#contribute(this.#publications, { cell, key, rank: rank ?? '', text });
    if (this.plan.directories.has(this.component.group + SEPARATOR + cell)) checkFile(key, value);
  }

  /** Files of a directory output are kept as text, everything else as canonical JSON. */
  #publicationText(cell: string, value: unknown): string {
    if (value === undefined)
      throw new TemplateFault(`shared.publish("${cell}", ...) got undefined; publish null or nothing`);
    return canonicalText(value);
  }

  unique(cell: string, key: string, text: string): void {
    this.#contribute(this.#uniques, {
      cell,
      key,
      rank: '',
      text: text.endsWith('\n') || text === '' ? text : `${text}\n`,
    });
  }

  #contribute(list: Contribution[], contribution: Contribution): void {
    for (const part of [contribution.cell, contribution.key, contribution.rank]) {
      if (CONTROL.test(part))
        throw new TemplateFault(`the key ${shown(part)} holds a control character`, undefined, part);
    }
    this.#bytes += contribution.text.length;
    const { maxInstanceBytes } = this.plan.config.render;
    if (this.#bytes > maxInstanceBytes) {
      throw new TemplateFault(
        `contributes more than ${maxInstanceBytes} characters; the limit is render.maxInstanceBytes`,
      );
    }
    list.push(contribution);
  }

  event(type: 'Normal' | 'Warning', reason: string, message: string): void {
    this.#needs('recordEvent', 'event');
    if (this.#events.length < MAX_EVENTS) this.#events.push({ type, reason, message: message.slice(0, MAX_MESSAGE) });
    else this.#moreEvents++;
  }

  mount(group: string): SafeText {
    throw new TemplateFault(
      `group(${shown(group)}) works in outputs only; a component reads another group by shared.select`,
    );
  }

  protected override authorize(group: string): void {
    const { consumes, optionalConsumes, name } = this.component;
    if (consumes.includes(group) || optionalConsumes.includes(group)) return;
    throw new TemplateFault(`component ${name} reads the group ${shown(group)} without naming it in consumes`);
  }

  #needs(effect: 'publishValue' | 'recordEvent', call: string): void {
    if (this.component.effects.includes(effect)) return;
    throw new TemplateFault(`component ${this.component.name} calls ${call} without declaring the effect ${effect}`);
  }

  /** The result; ordinary text, unique contributions and publications never mix (decision 0023). */
  result(written: string): InstanceResult {
    const text = written.trim() === '' ? '' : written.endsWith('\n') ? written : `${written}\n`;
    const kinds = [
      text !== '' && 'text',
      this.#uniques.length > 0 && 'shared.unique',
      this.#publications.length > 0 && 'shared.publish',
    ];
    const used = kinds.filter((kind) => kind !== false);
    if (used.length > 1)
      throw new TemplateFault(
        `component ${this.component.name} mixes ${used.join(' and ')}; one component uses one of them`,
      );
    return { text, uniques: this.#uniques, publications: this.#publications, events: this.#allEvents() };
  }

  #allEvents(): readonly LogicalEvent[] {
    if (this.#moreEvents === 0) return this.#events;
    const message = `and ${this.#moreEvents} more events of component ${this.component.name}`;
    return [...this.#events, { type: 'Warning', reason: 'MoreEvents', message }];
  }
}

function checkFile(key: string, value: unknown): void {
  if (!FILE_NAME.test(key)) throw new TemplateFault(`${shown(key)} is no safe file name`, undefined, key);
  if (typeof value !== 'string') throw new TemplateFault(`the file ${shown(key)} needs a string as its content`);
}

/** Marks the place of a mounted group in an output's text. NUL can't come from a template or a value. */
const MARK = '\0';

/** Reads of one output template, and the groups it mounts. */
export class OutputIo extends TrackedReads implements TemplateIo {
  readonly mounted: string[] = [];

  constructor(
    render: ReadableRender,
    reader: Pick<Reader, 'input'>,
    private readonly plan: RenderPlan,
    private readonly kind: string,
  ) {
    super(render, reader);
  }

  mount(name: string): SafeText {
    const group = this.plan.groups.get(name);
    if (group === undefined) throw new TemplateFault(`there is no group called ${shown(name)}`);
    if (group.kind !== this.kind) {
      throw new TemplateFault(`the group ${name} is written for ${group.kind}, this output is of kind ${this.kind}`);
    }
    this.mounted.push(name);
    return safeText(`${MARK}${this.mounted.length - 1}${MARK}`);
  }

  publish(): never {
    throw new TemplateFault('an output publishes nothing; shared.publish belongs into a component');
  }

  unique(): never {
    throw new TemplateFault('an output contributes nothing; shared.unique belongs into a component');
  }

  event(): never {
    throw new TemplateFault('an output records no events; event() belongs into a component');
  }

  protected override authorize(group: string): void {
    if (!this.plan.groups.has(group)) throw new TemplateFault(`there is no group called ${shown(group)}`);
  }
}

/** Splits an output's text at the marks: text, index of a mounted group, text, ... */
export function splitAtMarks(text: string): readonly string[] {
  return text.split(MARK);
}
