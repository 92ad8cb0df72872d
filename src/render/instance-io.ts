import type { ComponentSpec } from '../config/render-config.js';
import type { Reader } from '../graph/session.js';
import { type JsonBudget, JsonTooLarge, jsonValue } from '../store/json-value.js';
import type { ObjectSnapshot } from '../store/snapshot.js';
import { shown, TemplateFault } from '../template/faults.js';
import { safeText, type SafeText } from '../template/safe-text.js';
import type { TemplateIo } from '../template/template-io.js';
import { Contribution } from './contribution.js';
import type { InstanceResult, LogicalEvent } from './instance-result.js';
import { countKey, findKey, getKey, listKey, selectKey, selectValuesKey } from './keys.js';
import type { RenderPlan } from './plan.js';

/** What a running render lets its instances read. */
export interface ReadableRender {
  snapshot(alias: string): ObjectSnapshot;
  winner(group: string, cell: string, key: string): Contribution | undefined;
  winners(group: string, cell: string): readonly Contribution[];
  count(group: string, cell: string): number;
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
    return this.render.winner(group, cell, key)?.value;
  }

  selectValues(group: string, cell: string): readonly unknown[] {
    this.authorize(group);
    this.reader.input(selectValuesKey(group, cell));
    return Object.freeze(this.render.winners(group, cell).map(({ value }) => value));
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
const NONE: readonly never[] = Object.freeze([]);
const FILE_NAME = /^[A-Za-z0-9][A-Za-z0-9._-]{0,250}$/;

/** Reads and effects of one component instance. */
export class InstanceIo extends TrackedReads implements TemplateIo {
  /** Lists are made when something is put in: most instances have none. */
  #uniques: Contribution[] | undefined;
  #publications: Contribution[] | undefined;
  #events: LogicalEvent[] | undefined;
  #moreEvents = 0;
  readonly #budget: JsonBudget;

  constructor(
    render: ReadableRender,
    reader: Pick<Reader, 'input'>,
    private readonly plan: RenderPlan,
    private readonly component: ComponentSpec,
    /** Key of the instance, which owns what it contributes. */
    private readonly owner: string,
  ) {
    super(render, reader);
    this.#budget = { left: plan.config.render.maxInstanceBytes };
  }

  publish(cell: string, key: string, value: unknown, rank: string | undefined): void {
    this.#needs('publishValue', 'shared.publish');
    if (value === undefined || typeof value === 'function')
      throw new TemplateFault(`shared.publish("${cell}", ...) got ${typeof value}; publish null or nothing`);
    this.#contribute((this.#publications ??= []), cell, key, rank ?? '', value);
    if (this.plan.directories.get(this.component.group)?.has(cell) === true) checkFile(key, value);
  }

  unique(cell: string, key: string, text: string): void {
    const line = text.endsWith('\n') || text === '' ? text : `${text}\n`;
    this.#contribute((this.#uniques ??= []), cell, key, '', line, line);
  }

  #contribute(list: Contribution[], cell: string, key: string, rank: string, value: unknown, text?: string): void {
    refuseControl(cell);
    refuseControl(key);
    refuseControl(rank);
    list.push(new Contribution(this.owner, list.length, cell, key, rank, this.#counted(value), text));
  }

  #counted(value: unknown): unknown {
    try {
      return jsonValue(value, this.#budget);
    } catch (error) {
      if (!(error instanceof JsonTooLarge)) throw error;
      throw new TemplateFault(
        `contributes more than ${this.plan.config.render.maxInstanceBytes} characters; the limit is render.maxInstanceBytes`,
      );
    }
  }

  event(type: 'Normal' | 'Warning', reason: string, message: string): void {
    this.#needs('recordEvent', 'event');
    const events = (this.#events ??= []);
    if (events.length < MAX_EVENTS) events.push({ type, reason, message: message.slice(0, MAX_MESSAGE) });
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
    const uniques = this.#uniques ?? NONE;
    const publications = this.#publications ?? NONE;
    if (Number(text !== '') + Number(uniques.length > 0) + Number(publications.length > 0) > 1)
      this.#refuseMixing(text, uniques, publications);
    return { text, uniques, publications, events: this.#allEvents() };
  }

  #refuseMixing(text: string, uniques: readonly unknown[], publications: readonly unknown[]): never {
    const kinds = [
      text !== '' && 'text',
      uniques.length > 0 && 'shared.unique',
      publications.length > 0 && 'shared.publish',
    ];
    const used = kinds.filter((kind) => kind !== false).join(' and ');
    throw new TemplateFault(`component ${this.component.name} mixes ${used}; one component uses one of them`);
  }

  #allEvents(): readonly LogicalEvent[] {
    const events = this.#events ?? NONE;
    if (this.#moreEvents === 0) return events;
    const message = `and ${this.#moreEvents} more events of component ${this.component.name}`;
    return [...events, { type: 'Warning', reason: 'MoreEvents', message }];
  }
}

function refuseControl(part: string): void {
  if (CONTROL.test(part)) throw new TemplateFault(`the key ${shown(part)} holds a control character`, undefined, part);
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
