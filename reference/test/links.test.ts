// The links of the operations that the texts name.

import assert from 'node:assert/strict';
import { mkdtempSync, rmSync } from 'node:fs';
import { join } from 'node:path';
import { after, test } from 'node:test';

import { at } from '../../scripts/setup.mjs';
import { referencePages } from '../build.mjs';
import { operationLinks } from '../src/links.ts';
import { DOCUMENT } from './document.ts';

// The program that makes the pages imports packages of the project.
const folder = mkdtempSync(join(at('node_modules'), '.reference-'));
after(() => rmSync(folder, { recursive: true }));

const pages = new Map((await referencePages(folder)).map(({ path, body }) => [path, body]));

test('the operations that a text names are links to their sections', () => {
  const links = operationLinks(DOCUMENT);
  assert.equal(links.get('workspaces/getByName'), '/docs/workspaces#v1-workspaces-getByName');
  for (const href of links.values()) {
    const [path = '', id] = href.split('#');
    assert.ok(pages.get(path)?.includes(`<section id="${id}"`), href);
  }
  const remediations = pages.get('/docs/errors') ?? '';
  assert.ok(
    remediations.includes(
      '<a href="/docs/workspaces#v1-workspaces-update"><code>workspaces/update</code></a>',
    ),
  );
});

test('a text that can also be a field or a value is no link', () => {
  const links = operationLinks(DOCUMENT);
  for (const name of ['snapshot', 'label', 'delete']) assert.equal(links.get(name), undefined, name);
});
