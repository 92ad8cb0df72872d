import tseslint from 'typescript-eslint';

/** Folders from the top of the house to its ground floor (DESIGN.md, 2): a folder may import only what stands below it. */
const FLOORS = [
  ['cli'],
  ['server'],
  ['admission', 'reconcile', 'install'],
  ['check', 'cluster', 'render'],
  ['template', 'graph', 'store', 'config'],
];
const GROUND = { graph: ['template', 'store', 'config'], store: ['template', 'graph', 'config'] };

function forbiddenFor(floor, folder) {
  const upper = FLOORS.slice(0, floor).flat();
  const siblings = GROUND[folder] ?? [];
  return [...upper, ...siblings].map((name) => ({
    group: [`../${name}/*`, `**/src/${name}/*`],
    message: `src/${folder} stands below src/${name}: imports go downwards only.`,
  }));
}

function onlyIn(folder, name) {
  return folder === 'cluster' ? [] : [{ name, message: `Only src/cluster imports ${name}.` }];
}

const layers = FLOORS.flatMap((folders, floor) =>
  folders.map((folder) => ({
    files: [`src/${folder}/**/*.ts`],
    rules: {
      'no-restricted-imports': [
        'error',
        { patterns: forbiddenFor(floor, folder), paths: onlyIn(folder, '@kubernetes/client-node') },
      ],
    },
  })),
);

export default tseslint.config(
  { ignores: ['dist/', 'node_modules/', 'deploy/**/*.d.ts'] },
  ...tseslint.configs.recommended,
  {
    rules: {
      '@typescript-eslint/no-explicit-any': 'error',
      '@typescript-eslint/no-non-null-assertion': 'error',
      '@typescript-eslint/consistent-type-imports': 'error',
      '@typescript-eslint/no-unused-vars': ['error', { argsIgnorePattern: '^_' }],
      'max-lines': ['error', { max: 400, skipBlankLines: true, skipComments: true }],
      eqeqeq: 'error',
    },
  },
  { files: ['**/*.test.ts'], rules: { 'max-lines': 'off' } },
  ...layers,
);
