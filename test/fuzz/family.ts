import type { Env } from './naive-world.js';

/** A kind of component: its Eta template, and the same behaviour as a plain function that shares nothing with the engine. */
export interface Kind {
  readonly template: (names: Names) => string;
  readonly run: (env: Env, names: Names) => void;
  readonly consumes: boolean;
  readonly effects: readonly ('publishValue' | 'recordEvent')[];
  /** The output template's groups of kind `map` take only this kind's text. */
  readonly map?: true;
}

/** What a component of the family is wired to. */
export interface Names {
  /** Alias that it reads besides its own source. */
  readonly other: string;
  /** Group that it reads publications of. */
  readonly producer: string;
}

const FAIL_BAD = `<% if (item.spec.mark === 'bad') fail('spec.mark', 'is bad'); %>\n`;

function failBad(env: Env): void {
  if (env.item.spec.mark === 'bad') env.fail();
}

/** Every kind uses some of the effects and reads that exist; together they use all. */
export const KINDS: Readonly<Record<string, Kind>> = {
  plain: {
    effects: [],
    consumes: false,
    template: () =>
      `${FAIL_BAD}<% if (item.spec.mark !== 'silent') { %>\nplain <%= renderSubject.namespace %> <%= renderSubject.name %> <%= item.spec.port %>\n<% } %>\n` +
      `<% if (item.spec.mark === 'refuse') { %>\nREFUSE\n<% } %>\n`,
    run(env) {
      failBad(env);
      const { mark, port } = env.item.spec;
      if (mark !== 'silent') env.write(`plain ${env.namespace} ${env.name} ${port}`);
      if (mark === 'refuse') env.write('REFUSE');
    },
  },
  lookup: {
    effects: ['recordEvent'],
    consumes: false,
    template: ({ other }) =>
      `<% const { ref } = item.spec; %>\n<% if (ref) { const found = resources.${other}.find(ref.namespace, ref.name); %>\n` +
      `<% if (!found) { event('Warning', 'Missing', renderSubject.namespace + '/' + renderSubject.name + ': no ' + ref.name); %>\nmissing <%= ref.name %>\n` +
      `<% if (item.spec.mark === 'need-ref') fail('spec.ref', 'is needed'); %>\n` +
      `<% } else { %>\nfound <%= found.spec.port %>\n<% if (found.spec.port === 0) { %>\nof <%= resources.${other}.list().length %>\n<% } %>\n` +
      `<% if (found.spec.mark === 'refuse') { %>\nREFUSE\n<% } } } %>\n`,
    run(env, { other }) {
      const { ref, mark } = env.item.spec;
      if (ref === undefined) return;
      const found = env.find(other, ref.namespace, ref.name);
      if (found === undefined) {
        env.event('Warning', 'Missing', `${env.namespace}/${env.name}: no ${ref.name}`);
        env.write(`missing ${ref.name}`);
        if (mark === 'need-ref') env.fail();
        return;
      }
      env.write(`found ${found.spec.port}`);
      if (found.spec.port === 0) env.write(`of ${env.list(other).length}`);
      if (found.spec.mark === 'refuse') env.write('REFUSE');
    },
  },
  members: {
    effects: ['recordEvent'],
    consumes: false,
    template: () =>
      `<% const near = resources.routes.get(renderSubject.namespace); %>\n` +
      `<% if (near.length === 0) { event('Normal', 'Alone', 'no neighbour'); } else if (item.spec.host) { %>\n` +
      `near <%= near.length %> same <%= resources.routes.get(renderSubject.namespace, item.spec.host).map((o) => o.metadata.name).join('+') %>.\n<% } %>\n` +
      `<% for (const tag of item.spec.tags) { %>\ntag <%= tag %> <%= resources.tags.get(tag).length %> <%= resources.tags.get(tag, item.spec.port).length %>\n<% } %>\n`,
    run(env) {
      const near = env.get('routes', env.namespace);
      const { host, tags, port } = env.item.spec;
      if (near.length === 0) env.event('Normal', 'Alone', 'no neighbour');
      else if (host !== undefined) {
        const same = env.get('routes', env.namespace, host).map((object) => object.metadata.name);
        env.write(`near ${near.length} same ${same.join('+')}.`);
      }
      for (const tag of tags)
        env.write(`tag ${tag} ${env.get('tags', tag).length} ${env.get('tags', tag, String(port)).length}`);
    },
  },
  claim: {
    effects: ['publishValue'],
    consumes: false,
    template: () =>
      `${FAIL_BAD}<% const { host, port, rank, mark } = item.spec; %>\n<% if (host) {\n` +
      `  shared.publish('hosts', host, { port, by: port === 0 ? 'anyone' : renderSubject.name }, { rank });\n` +
      `  if (port === 2) { shared.publish('hosts', host, 'second'); shared.publish('hosts', 'two', port); }\n} %>\n` +
      `<% if (mark === 'mix' && host) { %>\ntext\n<% } %>\n`,
    run(env) {
      failBad(env);
      const { host, port, rank, mark } = env.item.spec;
      if (host === undefined) return;
      env.publish('hosts', host, { by: port === 0 ? 'anyone' : env.name, port }, rank);
      if (port === 2) {
        env.publish('hosts', host, 'second');
        env.publish('hosts', 'two', port);
      }
      if (mark === 'mix') env.write('text');
    },
  },
  defs: {
    effects: [],
    consumes: false,
    template: () =>
      `<% const { host, port, tags } = item.spec; if (host) shared.unique('defs', host, text\`def \${host} \${port}\`); %>\n` +
      `<% for (const tag of tags) shared.unique('tags', tag, text\`tag \${tag}\`); %>\n`,
    run(env) {
      const { host, port, tags } = env.item.spec;
      if (host !== undefined) env.unique('defs', host, `def ${host} ${port}`);
      for (const tag of tags) env.unique('tags', tag, `tag ${tag}`);
    },
  },
  files: {
    effects: ['publishValue'],
    consumes: false,
    template: () =>
      `<% for (const tag of item.spec.tags) shared.publish('files', tag + '.txt', renderSubject.name + ' ' + item.spec.port, { rank: item.spec.rank }); %>\n`,
    run(env) {
      const { tags, port, rank } = env.item.spec;
      for (const tag of tags) env.publish('files', `${tag}.txt`, `${env.name} ${port}`, rank);
    },
  },
  rows: {
    effects: [],
    consumes: false,
    map: true,
    template: () =>
      `${FAIL_BAD}<% if (item.spec.host) { %>\n<%= item.spec.host %> <%= renderSubject.name %>\n<% } %>\n`,
    run(env) {
      failBad(env);
      if (env.item.spec.host !== undefined) env.write(`${env.item.spec.host} ${env.name}`);
    },
  },
  chooser: {
    effects: ['recordEvent'],
    consumes: true,
    template: ({ producer }) =>
      `<% const { host, mark } = item.spec; %>\n<% if (host) { const winner = shared.select('${producer}', 'hosts', host); %>\n` +
      `<% if (winner === undefined) { if (mark === 'need-host') fail('spec.host', 'is needed'); %>\nnobody of <%= shared.selectValues('${producer}', 'hosts').length %>\n` +
      `<% } else { if (winner.by !== renderSubject.name) event('Warning', 'Lost', host + ' is of ' + winner.by); %>\nwon <%= String(winner.port) %>\n<% } } %>\n`,
    run(env, { producer }) {
      const { host, mark } = env.item.spec;
      if (host === undefined) return;
      const winner = env.select(producer, 'hosts', host) as { port?: number; by?: string } | undefined;
      if (winner === undefined) {
        if (mark === 'need-host') env.fail();
        env.write(`nobody of ${env.selectValues(producer, 'hosts').length}`);
        return;
      }
      if (winner.by !== env.name) env.event('Warning', 'Lost', `${host} is of ${winner.by}`);
      env.write(`won ${winner.port}`);
    },
  },
  counter: {
    effects: [],
    consumes: true,
    template: ({ producer }) =>
      `hosts <%= shared.count('${producer}', 'hosts') %> ghosts <%= shared.count('ghost', 'hosts') %> <%= String(shared.select('ghost', 'hosts', 'h0')) %>\n`,
    run(env, { producer }) {
      const ghosts = env.count('ghost', 'hosts');
      env.write(`hosts ${env.count(producer, 'hosts')} ghosts ${ghosts} ${env.select('ghost', 'hosts', 'h0')}`);
    },
  },
  totals: {
    effects: [],
    consumes: true,
    template: ({ producer }) =>
      `<% if (item.spec.port !== 1) { %>\nports <%= shared.selectValues('${producer}', 'hosts').map((v) => String(v.port)).join('+') %>.\n<% } %>\n`,
    run(env, { producer }) {
      if (env.item.spec.port === 1) return;
      const ports = env.selectValues(producer, 'hosts').map((value) => String((value as { port?: number }).port));
      env.write(`ports ${ports.join('+')}.`);
    },
  },
  relay: {
    effects: ['publishValue', 'recordEvent'],
    consumes: true,
    template: ({ producer }) =>
      `${FAIL_BAD}<% const { host } = item.spec; const winner = host && shared.select('${producer}', 'hosts', host); %>\n` +
      `<% if (winner) shared.publish('hosts', host, { port: winner.port, by: winner.by, via: renderSubject.name }); else event('Normal', 'Idle', 'nothing to relay'); %>\n`,
    run(env, { producer }) {
      failBad(env);
      const { host } = env.item.spec;
      const winner = (host === undefined ? undefined : env.select(producer, 'hosts', host)) as
        { port?: number; by?: string } | undefined;
      if (winner === undefined) env.event('Normal', 'Idle', 'nothing to relay');
      else
        env.publish('hosts', host as string, {
          ...(winner.by === undefined ? {} : { by: winner.by }),
          ...(winner.port === undefined ? {} : { port: winner.port }),
          via: env.name,
        });
    },
  },
};
