// The examples in TypeScript on all pages, compiled in the project of a Worker.

import assert from 'node:assert/strict';
import { globSync } from 'node:fs';
import { readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { test } from 'node:test';

import { PACKAGE, Project, ROOT } from './projects.ts';

/** The declarations that the examples use. */
const DECLARATIONS = `
type Client = typeof import('sandbox-snapshotter-client');
interface Env {
  SNAPSHOTTER: Fetcher & import('sandbox-snapshotter-client').SnapshotterBinding;
  Sandbox: DurableObjectNamespace<import('@cloudflare/sandbox').Sandbox>;
  API_TOKEN: string;
}
declare const env: Env;
declare const snapshotter: import('sandbox-snapshotter-client').SnapshotterClient;
declare const getSandbox: typeof import('@cloudflare/sandbox').getSandbox;
declare const sandboxId: string;
declare const ref: import('sandbox-snapshotter-client').SnapshotRef;
`;

/** The pages with examples of an application's code. */
const PAGES = ['README.md', 'client/README.md', ...globSync('docs/*.md', { cwd: ROOT })];

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

/** Returns the TypeScript examples in a page as modules, named by the page and their lines. */
function examples(name: string, page: string): Record<string, string> {
  const found = [...page.matchAll(/^```ts\n(.*?)^```$/gms)].map(({ 1: code = '', index }) => {
    const line = page.slice(0, index).split('\n').length + 1;
    return [`${name.replace(/\W/g, '-')}-line-${line}.ts`, `${inContext(code)}\nexport {};\n`];
  });
  return Object.fromEntries(found);
}

/** Returns an example that uses `this` as a method of a Durable Object. Its imports stay in front. */
function inContext(code: string): string {
  if (!code.includes('this.') || code.includes('class ')) return code;
  const lines = code.split('\n');
  const end = lines.findLastIndex((line) => line.startsWith('import ')) + 1;
  const context = 'async function run(this: { env: Env; ctx: DurableObjectState }) {';
  return [...lines.slice(0, end), context, ...lines.slice(end), '}', 'void run;'].join('\n');
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
  const pages = await Promise.all(
    PAGES.map(async (page) => examples(page, await readFile(join(ROOT, page), 'utf8'))),
  );
  const code = Object.assign({}, ...pages);
  assert.ok(Object.keys(code).length >= 20);
  assert.equal(await errors(code), '');
});

test('a compile error in an example is reported with its page and line', async () => {
  const page = 'Text.\n\n```ts\nawait snapshotter.snapshot({ sandbox: 1 });\n```\n';
  assert.match(await errors(examples('docs/x.md', page)), /^docs-x-md-line-4\.ts\(1,/);
});
