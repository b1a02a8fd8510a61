// The examples of the README compile, in a Worker's project.

import assert from 'node:assert/strict';
import { readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { test } from 'node:test';

import { PACKAGE, Project, ROOT } from './projects.ts';

/** What the examples take for granted. */
const GIVEN = `
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
      'sandbox-snapshotter-client/*': [join(PACKAGE, 'src/*.ts')],
    },
  },
  include: ['*.ts'],
  exclude: [],
};

/** The TypeScript in a page, by the line that it begins in. Each piece is a module. */
function examples(page: string): Record<string, string> {
  const found = [...page.matchAll(/^```ts\n(.*?)^```$/gms)].map(({ 1: code = '', index }) => {
    const line = page.slice(0, index).split('\n').length + 1;
    return [`line-${line}.ts`, `${code}\nexport {};\n`];
  });
  return Object.fromEntries(found);
}

/** What the compiler says of some examples. */
async function errors(code: Record<string, string>): Promise<string> {
  // Where the packages that they import are found.
  const where = join(ROOT, 'node_modules');
  await using project = await Project.make(where, {
    ...code,
    'given.d.ts': GIVEN,
    'tsconfig.json': TSCONFIG,
  });
  return (await project.compile()).output;
}

test('the examples compile', async () => {
  const code = examples(await readFile(join(PACKAGE, 'README.md'), 'utf8'));
  assert.ok(Object.keys(code).length >= 9);
  assert.equal(await errors(code), '');
});

test('an example that is wrong is found, by its line', async () => {
  const page = 'Text.\n\n```ts\nawait snapshotter.snapshot({ sandbox: 1 });\n```\n';
  assert.match(await errors(examples(page)), /^line-4\.ts\(1,/);
});
