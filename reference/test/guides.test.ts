// The guides that the pages serve and name.

import assert from 'node:assert/strict';
import { test } from 'node:test';

import { allRoutes, codesOf } from '../src/document.ts';
import { guideOf, GUIDES } from '../src/guides/of-operations.ts';
import { DOCUMENT } from './document.ts';
import { GUIDE_INDEX, SERVED } from './finder.ts';
import { PAGES } from './pages.ts';

const CODES = codesOf(DOCUMENT).map(({ code }) => code);

/** Returns the addresses of the links on a page, in order. */
const linksOf = (body: string) =>
  [...body.matchAll(/<a (?:class="\w+" )?href="([^"]+)"/g)].map(([, href = '']) => href);

test('every operation has a guide, which is served with its heading', () => {
  const routes = allRoutes(DOCUMENT).filter(({ path }) => path.startsWith('/v1/'));
  assert.deepEqual(
    routes.filter(({ name }) => !guideOf(name)).map(({ name }) => name),
    [],
  );
  for (const { file, heading } of Object.values(GUIDES)) {
    const guide = SERVED.find((each) => each.file === file);
    assert.ok(guide, file);
    if (heading)
      assert.ok(
        guide.headings.some(({ title }) => title === heading),
        `${file}: ${heading}`,
      );
  }
});

test('every link of the pages leads to a page that has its anchor', () => {
  for (const [path, body] of PAGES) {
    if (!path.startsWith('/docs') || !body.startsWith('<!doctype')) continue;
    for (const href of linksOf(body).filter((href) => !/^(https?:|\/(?:#|$)|\/openapi)/.test(href))) {
      const [target = '', anchor] = href.split('#');
      const page = PAGES.get(target || path);
      assert.ok(page, `${path}: ${href}`);
      if (anchor && !anchor.includes('.')) assert.ok(page.includes(` id="${anchor}"`), `${path}: ${href}`);
    }
  }
});

test('a link of a guide to the Worker has no address, and one to the types of the client leads to the reference', () => {
  const linked = (name: string) => linksOf(PAGES.get(`/docs/guides/${name}`) ?? '');
  assert.ok(linked('getting-started').includes('/#/workspaces/default/notebook'));
  for (const [path, body] of PAGES) assert.doesNotMatch(body, /href="http:\/\/127\.0\.0\.1:8787/, path);
  assert.ok(linked('snapshots').includes('/docs/snapshots#types'));
  assert.ok(linked('workspaces').includes('/docs/workspaces#types'));
});

test('the guides are those for users', () => {
  const files = SERVED.map(({ file }) => file);
  for (const file of [
    'docs/getting-started.md',
    'docs/workspaces.md',
    'client/README.md',
    'docs/operations.md',
  ])
    assert.ok(files.includes(file), file);
  for (const file of ['docs/benchmarks.md', 'docs/architecture.md', 'docs/README.md'])
    assert.ok(!files.includes(file), file);
  assert.equal(new Set(SERVED.map(({ path }) => path)).size, SERVED.length);
});

test('a link to a file that is not served names the file', () => {
  const page = PAGES.get('/docs/guides/getting-started') ?? '';
  assert.match(page, /<code>wrangler\.container\.toml<\/code>/);
  assert.doesNotMatch(page, /href="[^"]*\.(md|toml|ts)"/);
});

test('every heading of a guide is found, with the text of its part', () => {
  const { targets, texts } = GUIDE_INDEX;
  const headings = SERVED.flatMap(({ headings }) => headings).filter(({ title }) => !CODES.includes(title));
  assert.equal(targets.length, headings.length);
  for (const { url } of targets) {
    const [path = '', anchor] = url.split('#');
    const page = PAGES.get(path) ?? '';
    assert.ok(anchor === undefined || page.includes(` id="${anchor}"`), url);
  }
  assert.match(texts['/docs/guides/limits#limits'] ?? '', /^a label · 128 characters · Label and pin$/m);
});
