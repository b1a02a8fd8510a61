// The examples in the README, compiled in the project of a Worker.

import assert from 'node:assert/strict';
import { readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { test } from 'node:test';

import { PACKAGE, Project, ROOT } from './projects.ts';

/** The declarations that the examples use. */
const DECLARATIONS = `
declare const env: { SNAPSHOTTER: Fetcher; API_TOKEN: string };
declare const snapshotter: import('sandbox-snapshotter-client').SnapshotterClient;
`;

const TSCONFIG = {
  extends: join(ROOT, 'tsconfig.json'),
  compilerOptions: {
    types: ['@cloudflare/workers-types'],
    module: 'esnext',
    moduleResolution: 'bundler',
    noUnusedLocals: false,
    paths: {
      'sandbox-snapshotter-client': [join(PACKAGE, 'src/index.ts')],
      'sandbox-snapshotter-client/container': [join(PACKAGE, 'src/container/index.ts')],
      'sandbox-snapshotter-client/*': [join(PACKAGE, 'src/*.ts')],
    },
  },
  include: ['*.ts'],
  exclude: [],
};

/** Returns the TypeScript examples in a page as modules, named by their lines. */
function examples(page: string): Record<string, string> {
  const found = [...page.matchAll(/^```ts\n(.*?)^```$/gms)].map(({ 1: code = '', index }) => {
    const line = page.slice(0, index).split('\n').length + 1;
    return [`line-${line}.ts`, `${code}\nexport {};\n`];
  });
  return Object.fromEntries(found);
}

/** Returns the errors of the compiler for some examples. */
async function errors(code: Record<string, string>): Promise<string> {
  // The examples can import the packages in this directory.
  const parent = join(ROOT, 'node_modules');
  await using project = await Project.create(parent, {
    ...code,
    'declarations.d.ts': DECLARATIONS,
    'tsconfig.json': TSCONFIG,
  });
  return (await project.compile()).output;
}

test('the examples compile', async () => {
  const code = examples(await readFile(join(PACKAGE, 'README.md'), 'utf8'));
  assert.ok(Object.keys(code).length >= 9);
  assert.equal(await errors(code), '');
});

test('a compile error in an example is reported with its line', async () => {
  const page = 'Text.\n\n```ts\nawait snapshotter.snapshot({ sandbox: 1 });\n```\n';
  assert.match(await errors(examples(page)), /^line-4\.ts\(1,/);
});
