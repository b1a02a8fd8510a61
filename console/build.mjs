// Builds the console: one page, its script, its style and its icon.

import { readFile } from 'node:fs/promises';
import { fileURLToPath } from 'node:url';

import { build } from 'esbuild';

const at = (/** @type {string} */ path) => fileURLToPath(new URL(path, import.meta.url));

/**
 * The console's pages.
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

/** A module or a style sheet with everything that it imports. */
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
    plugins: [sparing],
  });
  return outputFiles[0]?.text ?? '';
}

/**
 * Leaves out the library's search box, which nothing uses: esbuild keeps it for a call that it can't know to do nothing.
 *
 * @type {import('esbuild').Plugin}
 */
const sparing = {
  name: 'sparing',
  setup({ onLoad }) {
    onLoad({ filter: /@headless-tree.core.dist.index\.mjs$/ }, async ({ path }) => {
      const text = await readFile(path, 'utf8');
      return { contents: text.replaceAll(': memo(', ': /* @__PURE__ */ memo(') };
    });
  },
};
