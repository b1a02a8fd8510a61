// The guides that the pages name.

import assert from 'node:assert/strict';
import { readFileSync } from 'node:fs';
import { test } from 'node:test';

import { allRoutes } from '../src/document.ts';
import { guideOf, GUIDES } from '../src/guides.ts';
import { DOCUMENT } from './document.ts';

const read = (file: string) => readFileSync(new URL(`../../${file}`, import.meta.url), 'utf8');

test('every operation has a guide, and every guide exists with its heading', () => {
  const routes = allRoutes(DOCUMENT).filter(({ path }) => path.startsWith('/v1/'));
  assert.deepEqual(
    routes.filter(({ name }) => !guideOf(name)).map(({ name }) => name),
    [],
  );
  for (const { file, heading } of Object.values(GUIDES))
    assert.match(read(file), new RegExp(heading ? `^##+ ${heading}$` : '^# ', 'm'));
});
