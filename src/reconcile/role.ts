/** What a cycle works as, for as long as its signal is not aborted. */
export interface Role {
  /** Publishes and tells; a follower (decision 0023's Warmer) only keeps its graph warm. */
  readonly leads: boolean;
  /** Aborts with the leadership term, or when the program ends (decision 0029, 1). */
  readonly signal: AbortSignal;
}

/** The role of this replica: without an election it always leads, with one it leads in the terms that it is given. */
export class Roles {
  #current: Role;

  constructor(
    isElected: boolean,
    private readonly closing: AbortSignal,
    private readonly onChange: (role: Role) => void,
  ) {
    this.#current = { leads: !isElected, signal: closing };
  }

  get current(): Role {
    return this.#current;
  }

  /** Leads until the term aborts; by then `onChange` has told of the follower's role that comes after it. */
  lead(term: AbortSignal): void {
    if (term.aborted || this.closing.aborted) return;
    const leader = { leads: true, signal: AbortSignal.any([term, this.closing]) };
    leader.signal.addEventListener('abort', () => {
      if (this.#current === leader) this.#change({ leads: false, signal: this.closing });
    });
    this.#change(leader);
  }

  #change(role: Role): void {
    this.#current = role;
    this.onChange(role);
  }
}
