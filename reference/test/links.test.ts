// The links of the operations that the texts name.

import assert from 'node:assert/strict';
import { test } from 'node:test';

import { operationLinks } from '../src/links.ts';
import { DOCUMENT } from './document.ts';
import { PAGES } from './pages.ts';

test('the operations that a text names are links to their sections', () => {
  const links = operationLinks(DOCUMENT);
  assert.equal(links.get('workspaces/getByName'), '/docs/workspaces#v1-workspaces-getByName');
  for (const href of links.values()) {
    const [path = '', id] = href.split('#');
    assert.ok(PAGES.get(path)?.includes(`<section id="${id}"`), href);
  }
  const remediations = PAGES.get('/docs/errors') ?? '';
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
