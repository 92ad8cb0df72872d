/** One line of the engine made wrong. `find` stands exactly once in the built file. */
export interface Mutant {
  readonly what: string;
  /** Below dist/src. */
  readonly file: string;
  readonly find: string;
  readonly replace: string;
}

/** Mistakes that an engine like this one is known to be written with. Each must show as a difference in a fuzz run. */
export const MUTANTS: readonly Mutant[] = [
  {
    what: 'a read that finds nothing is not recorded',
    file: 'render/instance-io.js',
    find: 'this.reader.input(findKey(alias, namespace, name));',
    replace:
      'if (this.render.snapshot(alias).find(namespace, name)) this.reader.input(findKey(alias, namespace, name));',
  },
  {
    what: 'the cut-off compares texts and publications and forgets events',
    file: 'render/instance-result.js',
    find: 'sameList(left.events, right.events, sameEvent)',
    replace: 'true',
  },
  {
    what: 'the cut-off forgets that a rank is part of a publication',
    file: 'render/contribution.js',
    find: 'a.rank === b.rank && ',
    replace: '',
  },
  {
    what: "a deleted object's instances are not retired",
    file: 'render/render-session.js',
    find: 'this.graph.retire(key);',
    replace: '',
  },
  {
    what: "a retired instance's contributions stay",
    file: 'render/render-session.js',
    find: 'if (before !== undefined)\n            this.#install({',
    replace: 'if (false)\n            this.#install({',
  },
  {
    what: 'rank is ignored',
    file: 'render/contribution.js',
    find: "rank === '' ? '1' : `0${rank}`",
    replace: "'1'",
  },
  {
    what: 'the last call of an owner wins instead of the first',
    file: 'render/contribution.js',
    find: "String(call).padStart(7, '0')",
    replace: 'String(9999999 - call)',
  },
  {
    what: 'a winner replaced by another is not told to readers',
    file: 'render/contribution.js',
    find: 'a?.owner === b?.owner && sameText(a, b)',
    replace: '(a === undefined) === (b === undefined)',
  },
  {
    what: 'a dropped session has written into the committed index',
    file: 'render/contribution-index.js',
    find: 'base.entries.clone()',
    replace: 'base.entries',
  },
  {
    what: 'an aborted render moves the cursors of the committed one',
    file: 'render/renderer.js',
    find: '} = this.#openSession();',
    replace: '} = this.#openSession(); if (this.#newest) this.#newest = { ...this.#newest, cursors };',
  },
  {
    what: 'only the first two observers of an input are marked',
    file: 'graph/session.js',
    find: 'for (const id of node.observers) {',
    replace: 'for (const id of [...node.observers].slice(0, 2)) {',
  },
  {
    what: 'dependencies of a branch that is no longer taken are kept',
    file: 'graph/session.js',
    find: 'this.#unobserve(dependency, id);\n        return after;',
    replace: ';\n        return after;',
  },
  {
    what: "an object's old index keys are forgotten when it moves",
    file: 'render/keys.js',
    find: '[change.before, change.after]',
    replace: '[change.after]',
  },
  {
    what: 'a change that was taken back executes its readers',
    file: 'render/render-session.js',
    find: '!sameContent(before.find(edit.namespace, edit.name), edit.object)',
    replace: 'true',
  },
  {
    what: 'a count is told although it is the same in the end',
    file: 'render/selection-news.js',
    find: 'if (more !== 0)',
    replace: '',
  },
  {
    what: 'a trimmed journal is read as if it were whole',
    file: 'store/object-store.js',
    find: 'if (revision < this.#journalStart)',
    replace: 'if (false)',
  },
  {
    what: 'a directory output keeps the file of a publication that is gone',
    file: 'render/render-session.js',
    find: '? withoutChunk(files, key)',
    replace: '? files',
  },
  {
    what: 'a quarantined object is served anew by a cold render',
    file: 'render/renderer.js',
    find: 'overlay(snapshot, edits.get(alias) ?? [])',
    replace: 'snapshot',
  },
  {
    what: 'readers are told of a winner that was there only within a wave',
    file: 'render/selection-news.js',
    find: '?.has(noted) === false',
    replace: ' !== undefined',
  },
  {
    what: 'what a lost journal may have mended is not tried again',
    file: 'render/renderer.js',
    find: 'this.quarantine.perhapsMended(this.#find)',
    replace: '[]',
  },
  {
    what: 'an old revision that is at fault itself is served on',
    file: 'render/quarantine.js',
    find: 'isNoWayOut ? undefined : entry.accepted',
    replace: 'entry.accepted',
  },
  {
    what: 'a change calls its object back from quarantine with every render until one is committed',
    file: 'render/renderer.js',
    find: 'this.#looked = this.stores.cursors();\n        if (',
    replace: 'this.#looked = this.#newest?.cursors;\n        if (',
  },
  {
    what: 'an instance goes on when its object has none of its paths any more',
    file: 'render/activation.js',
    find: 'this.host.retireInstance(',
    replace: 'void (',
  },
  {
    what: 'a signature is worked out once for each object',
    file: 'render/activation.js',
    find: 'reader.input(',
    replace: 'void (',
  },
];
