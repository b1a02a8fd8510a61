// The API document, its pages, and those of the guides. The pages are made here, so that reading them takes no script; a script adds the search.

import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { pathToFileURL } from 'node:url';

import { build } from 'esbuild';

import { at } from '../scripts/setup.mjs';

/** Returns the API document, its pages and those of the guides. The program that makes the pages is built into the folder. */
export async function referencePages(/** @type {string} */ folder) {
  const document = JSON.parse(readFileSync(at('reference/openapi.json'), 'utf8'));
  const { pages, compactIndex, searchIndex, guideIndexOf } = await program(join(folder, 'reference.mjs'));
  const read = (/** @type {string} */ file) => readFileSync(at(file), 'utf8');
  const html = (await pages(document, read)).map((/** @type {{ path: string, body: string }} */ page) => ({
    ...page,
    type: 'text/html; charset=utf-8',
  }));
  const define = { SEARCH_INDEX: JSON.stringify(compactIndex(searchIndex(document))) };
  return [
    { path: '/openapi.json', type: 'application/json', body: JSON.stringify(document) },
    ...html,
    {
      path: '/docs/guides.json',
      type: 'application/json',
      body: JSON.stringify(guideIndexOf(document, read)),
    },
    {
      path: '/docs/reference.js',
      type: 'text/javascript; charset=utf-8',
      body: await bundled('src/browser/main.ts', define),
    },
    {
      path: '/docs/reference.css',
      type: 'text/css; charset=utf-8',
      body: await bundled('src/style/main.css'),
    },
  ];
}

/** Builds and imports the program that makes the pages. */
async function program(/** @type {string} */ outfile) {
  await build({
    entryPoints: [at('reference/src/pages.tsx')],
    outfile,
    bundle: true,
    format: 'esm',
    platform: 'node',
    packages: 'external',
    jsx: 'automatic',
    jsxImportSource: 'preact',
  });
  return import(pathToFileURL(outfile).href);
}

/** Bundles a module or a style sheet with its imports. */
async function bundled(
  /** @type {string} */ entry,
  /** @type {Record<string, string> | undefined} */ define = {},
) {
  const entryPoints = [at('reference', entry)];
  const { outputFiles } = await build({
    entryPoints,
    bundle: true,
    minify: true,
    write: false,
    format: 'esm',
    target: 'es2022',
    define,
  });
  return outputFiles[0]?.text ?? '';
}
