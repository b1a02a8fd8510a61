// Builds the console: one page, its script, its style sheet and its icon.

import { readFile } from 'node:fs/promises';
import { fileURLToPath } from 'node:url';

import { build } from 'esbuild';

const at = (/** @type {string} */ path) => fileURLToPath(new URL(path, import.meta.url));

/**
 * Returns the files of the console.
 *
 * @returns {Promise<import('../scripts/pages.mjs').Page[]>}
 */
export async function consolePages() {
  const [script, style] = await Promise.all([bundled('src/main.tsx'), bundled('src/style/main.css')]);
  return [
    { path: '/', type: 'text/html; charset=utf-8', body: await readFile(at('src/index.html'), 'utf8') },
    { path: '/console/app.js', type: 'text/javascript; charset=utf-8', body: script },
    { path: '/console/app.css', type: 'text/css; charset=utf-8', body: style },
    { path: '/console/icon.svg', type: 'image/svg+xml', body: await readFile(at('src/icon.svg'), 'utf8') },
  ];
}

/** Bundles a module or a style sheet with its imports. */
async function bundled(/** @type {string} */ entry) {
  const { outputFiles } = await build({
    entryPoints: [at(entry)],
    bundle: true,
    minify: true,
    write: false,
    format: 'esm',
    target: 'es2022',
    jsx: 'automatic',
    jsxImportSource: 'preact',
    legalComments: 'none',
    plugins: [pureMemo, withoutHandles, withoutChecks, withoutCodes],
  });
  return outputFiles[0]?.text ?? '';
}

/**
 * Leaves out the methods of handles and the tools of models: the console calls the operations.
 *
 * @type {import('esbuild').Plugin}
 */
const withoutHandles = {
  name: 'without-handles',
  setup({ onLoad }) {
    onLoad({ filter: /client.src.workspace\.ts$/ }, () => ({ contents: 'export class WorkspaceHandle {}' }));
    onLoad({ filter: /client.src.workspace-answers\.ts$/ }, () => ({
      contents: 'export function withHandle(client, answer) { return answer; }',
    }));
    onLoad({ filter: /client.src.tools.model-tools\.ts$/ }, () => ({
      contents: 'export class ModelTools {}',
    }));
  },
};

/**
 * Leaves out the checks of arguments: the compiler checks the calls of the console.
 *
 * @type {import('esbuild').Plugin}
 */
const withoutChecks = {
  name: 'without-checks',
  setup({ onLoad }) {
    onLoad({ filter: /client.src.argument-checks\.ts$/ }, () => ({
      contents: ['requireOptions', 'requireOptionsOf', 'requireTransport']
        .map((name) => `export function ${name}() {}`)
        .join('\n'),
    }));
  },
};

/**
 * Leaves out the kinds of all codes: over HTTP, every error has its kind.
 *
 * @type {import('esbuild').Plugin}
 */
const withoutCodes = {
  name: 'without-codes',
  setup({ onLoad }) {
    onLoad({ filter: /client.src.codes\.ts$/ }, () => ({
      contents: `export const isKnown = () => false;
        export const kindOf = () => 'permanent';`,
    }));
  },
};

/**
 * Marks the library's calls of `memo` as pure, so that esbuild removes the unused search box.
 *
 * @type {import('esbuild').Plugin}
 */
const pureMemo = {
  name: 'pure-memo',
  setup({ onLoad }) {
    onLoad({ filter: /@headless-tree.core.dist.index\.mjs$/ }, async ({ path }) => {
      const text = await readFile(path, 'utf8');
      return { contents: text.replaceAll(': memo(', ': /* @__PURE__ */ memo(') };
    });
  },
};
