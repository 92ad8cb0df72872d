import type { ChunkTree } from './chunk-tree.js';
import { TreeDraft } from './tree-draft.js';
import {
  type Contributions,
  contributionsOver,
  type ContributionIndex,
  emptyIndex,
  type WinnerChange,
} from './contribution-index.js';
import type { InstanceResult } from './instance-result.js';
import { SEPARATOR } from '../store/snapshot.js';

/** A group's committed output and contributions; persistent. */
export interface GroupState {
  /** Text of each instance, in canonical order. */
  readonly texts: ChunkTree;
  /** Winning unique contributions, by cell and key. */
  readonly uniqueTexts: ChunkTree;
  readonly uniques: ContributionIndex;
  readonly publications: ContributionIndex;
}

export const EMPTY_GROUP: GroupState = {
  texts: undefined,
  uniqueTexts: undefined,
  uniques: emptyIndex(),
  publications: emptyIndex(),
};

/** A session's private copy of a group; parts are copied when first written. */
export class GroupDraft {
  readonly #texts: TreeDraft;
  readonly #uniqueTexts: TreeDraft;
  #uniques: Contributions | undefined;
  #publications: Contributions | undefined;

  constructor(private readonly base: GroupState) {
    this.#texts = new TreeDraft(base.texts);
    this.#uniqueTexts = new TreeDraft(base.uniqueTexts);
  }

  get texts(): ChunkTree {
    return this.#texts.tree;
  }

  get uniqueTexts(): ChunkTree {
    return this.#uniqueTexts.tree;
  }

  get publications(): Contributions {
    return (this.#publications ??= contributionsOver(this.base.publications));
  }

  get #uniqueDraft(): Contributions {
    return (this.#uniques ??= contributionsOver(this.base.uniques));
  }

  /** Replaces one instance's output; returns the publications whose winner changed. */
  install(owner: string, before: InstanceResult, after: InstanceResult): readonly WinnerChange[] {
    if (before.text !== after.text) this.#texts.set(owner, after.text === '' ? undefined : { text: after.text, owner });
    if (before.uniques.length + after.uniques.length > 0) this.#installUniques(before, after);
    if (before.publications.length + after.publications.length === 0) return [];
    return this.publications.replace(before.publications, after.publications);
  }

  #installUniques(before: InstanceResult, after: InstanceResult): void {
    for (const { cell, key, after: winner } of this.#uniqueDraft.replace(before.uniques, after.uniques)) {
      const written = winner === undefined ? undefined : { text: String(winner.value), owner: winner.owner };
      this.#uniqueTexts.set(cell + SEPARATOR + key, written);
    }
  }

  toState(): GroupState {
    return {
      texts: this.texts,
      uniqueTexts: this.uniqueTexts,
      uniques: this.#uniques?.toIndex() ?? this.base.uniques,
      publications: this.#publications?.toIndex() ?? this.base.publications,
    };
  }
}
