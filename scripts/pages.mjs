// Builds the pages that the Worker serves into one module, pages.js: the console, the API document, and its page.

import { createHash } from 'node:crypto';
import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { gzipSync } from 'node:zlib';

import { run } from './setup.mjs';

/**
 * @typedef {object} Page
 * @property {string} path The path of the URL.
 * @property {string} type The media type.
 * @property {string} body The content.
 */

/** Builds the pages into a folder, in a new process, with the Node from the packages if there is one. */
export function pages(/** @type {string} */ folder) {
  run('node', ['scripts/pages.mjs', folder]);
}

if (process.argv[1] === import.meta.filename) {
  const folder = process.argv[2] ?? '.';
  const { consolePages } = await import('../console/build.mjs');
  const { referencePages } = await import('../reference/build.mjs');
  /** @type {Page[]} */
  const all = [...(await consolePages()), ...(await referencePages(folder))];
  const served = all.map(({ path, type, body }) => [path, { type, body, etag: etag(body) }]);
  writeFileSync(join(folder, 'pages.js'), `export default new Map(${JSON.stringify(served)});\n`);
  const size = all.reduce((sum, { body }) => sum + gzipSync(body, { level: 9 }).length, 0);
  console.log(`Pages: ${all.length}, ${(size / 1000).toFixed(1)} kB gzipped`);
}

function etag(/** @type {string} */ body) {
  return `"${createHash('sha256').update(body).digest('base64url').slice(0, 22)}"`;
}
