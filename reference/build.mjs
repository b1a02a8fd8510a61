// The API document and its page, which is made of it here, so that reading it takes no script.

import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { pathToFileURL } from 'node:url';

import { build, transform } from 'esbuild';

import { at } from '../scripts/setup.mjs';

/** The API document, and its page. The program that makes the page is built into the folder. */
export async function referencePages(/** @type {string} */ folder) {
  const document = JSON.parse(readFileSync(at('reference/openapi.json'), 'utf8'));
  const { page } = await program(at('reference/src/page.tsx'), join(folder, 'reference.mjs'));
  return [
    { path: '/openapi.json', type: 'application/json', body: JSON.stringify(document) },
    { path: '/docs', type: 'text/html; charset=utf-8', body: page(document) },
    { path: '/docs/reference.css', type: 'text/css; charset=utf-8', body: await stylesheet() },
  ];
}

/** A program in TypeScript, which is built first. */
async function program(/** @type {string} */ path, /** @type {string} */ outfile) {
  await build({
    entryPoints: [path],
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

async function stylesheet() {
  const css = readFileSync(at('reference/src/reference.css'), 'utf8');
  return (await transform(css, { loader: 'css', minify: true })).code;
}
