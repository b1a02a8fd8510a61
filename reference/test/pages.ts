// The pages as the build makes them, by their paths.

import { mkdtempSync, rmSync } from 'node:fs';
import { join } from 'node:path';

import { at } from '../../scripts/setup.mjs';
import { referencePages } from '../build.mjs';

// The program that makes the pages imports packages of the project.
const folder = mkdtempSync(join(at('node_modules'), '.reference-'));

/** The content of each page. */
export const PAGES: ReadonlyMap<string, string> = new Map(
  (await referencePages(folder)).map(({ path, body }) => [path, body]),
);

rmSync(folder, { recursive: true });
