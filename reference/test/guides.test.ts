// The guides that the pages serve and name.

import assert from 'node:assert/strict';
import { readFileSync } from 'node:fs';
import { test } from 'node:test';

import { find } from '../src/browser/find.ts';
import { descriptionsOf } from '../src/descriptions.ts';
import { allRoutes, codesOf } from '../src/document.ts';
import { guideOf, GUIDES } from '../src/guides/of-operations.ts';
import { guideIndex } from '../src/guides/search.ts';
import { servedGuides, type ReadFile } from '../src/guides/served.ts';
import { searchIndex } from '../src/search-index.ts';
import { DOCUMENT } from './document.ts';
import { PAGES } from './pages.ts';

const read: ReadFile = (file) => readFileSync(new URL(`../../${file}`, import.meta.url), 'utf8');
const SERVED = servedGuides(read);
const CODES = codesOf(DOCUMENT).map(({ code }) => code);
const { targets, words } = guideIndex(SERVED, CODES);

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
    for (const href of linksOf(body).filter((href) => !/^(https?:|\/$|\/openapi)/.test(href))) {
      const [target = '', anchor] = href.split('#');
      const page = PAGES.get(target || path);
      assert.ok(page, `${path}: ${href}`);
      if (anchor && !anchor.includes('.')) assert.ok(page.includes(` id="${anchor}"`), `${path}: ${href}`);
    }
  }
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

test('the search finds a part of a guide by its heading and by words of its text', () => {
  const index = [...searchIndex(DOCUMENT), ...targets];
  const found = (query: string) =>
    find(index, query, new Map(Object.entries(words))).map(({ kind, url }) => `${kind} ${url}`);
  assert.ok(found('keep the best')[0]?.startsWith('guide /docs/guides/workspaces#fork-three-keep-the-best'));
  assert.ok(found('pdeathsig').length === 0);
  assert.ok(found('how do I undo a bad change?').length > 0);
  assert.ok(
    found('what happens when my container dies without a stop').some((each) =>
      each.includes('/docs/guides/'),
    ),
  );
  assert.ok(found('squashfs-tools').some((each) => each.startsWith('guide ')));
});

const QUESTIONS: Record<string, string> = {
  'container dies': 'recover#after-a-container-ended',
  'how long are snapshots kept?': 'snapshots#expire-snapshots',
  'snapshot every 5 minutes': 'autosave',
  'save automatically': 'autosave',
  autosave: 'autosave',
  'ai sdk': 'tools',
  'max file size': 'files#limits',
  billing: 'usage',
  windows: 'getting-started#on-macos-and-windows',
  gdpr: 'operations#delete-all-data-of-a-user',
  'exclude node_modules': 'workspaces#leave-out-node_modules',
  'how large can a workspace be': 'concepts#limits',
  'mock in unit tests': 'client#transports',
  'rate limit': 'load',
  'download whole workspace as zip': 'files#download-files',
};

for (const [question, guide] of Object.entries(QUESTIONS))
  test(`the first results for ${JSON.stringify(question)} have the guide`, () => {
    const descriptions = new Map([...descriptionsOf(DOCUMENT), ...Object.entries(words)]);
    const found = find([...searchIndex(DOCUMENT), ...targets], question, descriptions).slice(0, 4);
    const urls = found.map(({ url }) => url.replace('/docs/guides/', ''));
    assert.ok(urls.includes(guide), urls.join());
  });

test('a word that a guide has is not corrected to a similar one', () => {
  const found = find([...searchIndex(DOCUMENT), ...targets], 'sleep', new Map(Object.entries(words)));
  assert.ok(found.length > 0);
  assert.deepEqual(
    found.filter(({ name }) => /sweep/i.test(name)),
    [],
  );
});

test('every heading of a guide is found, with the words of its part', () => {
  const headings = SERVED.flatMap(({ headings }) => headings).filter(({ title }) => !CODES.includes(title));
  assert.equal(targets.length, headings.length);
  for (const { url } of targets) {
    const [path = '', anchor] = url.split('#');
    const page = PAGES.get(path) ?? '';
    assert.ok(anchor === undefined || page.includes(` id="${anchor}"`), url);
  }
});
