// Builds the pages that the Worker serves into build/pages.js: the console, and the API document with its own page.

import { createHash } from 'node:crypto';
import { writeFileSync } from 'node:fs';
import { gzipSync } from 'node:zlib';

import { at, run } from './setup.mjs';

/**
 * @typedef {object} Page
 * @property {string} path Where it is served.
 * @property {string} type Its media type.
 * @property {string} body What it says.
 */

/** Builds them with the packages' own Node. */
export function pages() {
  run('node', ['scripts/pages.mjs']);
}

if (process.argv[1] === import.meta.filename) {
  const { consolePages } = await import('../console/build.mjs');
  const { referencePages } = await import('../reference/build.mjs');
  /** @type {Page[]} */
  const all = [...(await consolePages()), ...(await referencePages())];
  const served = all.map(({ path, type, body }) => [path, { type, body, etag: etag(body) }]);
  writeFileSync(at('build/pages.js'), `export default new Map(${JSON.stringify(served)});\n`);
  const size = all.reduce((sum, { body }) => sum + gzipSync(body, { level: 9 }).length, 0);
  console.log(`Pages: ${all.length}, ${(size / 1000).toFixed(1)} kB gzipped`);
}

function etag(/** @type {string} */ body) {
  return `"${createHash('sha256').update(body).digest('base64url').slice(0, 22)}"`;
}
