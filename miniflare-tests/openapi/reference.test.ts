// The pages of the API document in a browser.

import assert from 'node:assert/strict';
import { execFile } from 'node:child_process';
import { describe, test } from 'node:test';
import { promisify } from 'node:util';
import { gzipSync } from 'node:zlib';

import type { BrowserContextOptions } from 'playwright-core';

import { OVERFLOW, violations } from '../console/accessibility.ts';
import { ConsoleFixture, type Tab } from '../console/browser.ts';
import { TOKEN } from '../world.ts';
import { DOCUMENT, OPERATIONS } from './document.ts';

const GROUPS = DOCUMENT.tags.map(({ name }) => `/docs/${name}`);
const GUIDES = [
  '/docs/guides',
  '/docs/guides/getting-started',
  '/docs/guides/workspaces',
  '/docs/guides/errors',
];
const PAGES = ['/docs', ...GROUPS, '/docs/errors', ...GUIDES];

const fixture = new ConsoleFixture();

/** Opens a page. */
const open = (path: string, options?: BrowserContextOptions): Promise<Tab> => fixture.open(options, path);

/** The path and the anchor of the page that the tab shows. */
const address = (tab: Tab) => tab.evaluate<string>('location.pathname + location.hash');

/** Opens the lists of errors, and some nested types: all of them together would take a minute to check. */
const openDetails = (tab: Tab) =>
  tab.evaluate(
    "[...document.querySelectorAll('.errors'), ...[...document.querySelectorAll('.nested')].slice(0, 3)].forEach((details) => (details.open = true))",
  );

describe('the page', () => {
  // The pages of all groups are made from one template. That of the commands has each of its parts, and few of each.
  for (const path of ['/docs', '/docs/commands', '/docs/errors', '/docs/guides', '/docs/guides/workspaces'])
    test(`${path} meets WCAG 2.2 AA`, async () => {
      await using tab = await open(path);
      await openDetails(tab);
      assert.deepEqual(
        await violations(tab, { rules: { 'target-size': { enabled: true } } }),
        [],
        'in light',
      );
      await tab.page.emulateMedia({ colorScheme: 'dark' });
      assert.deepEqual(await violations(tab, { runOnly: ['color-contrast'] }), [], 'in dark');
    });

  for (const path of PAGES)
    test(`${path} fits widths from 320 to 1440 pixels`, async () => {
      await using tab = await open(path);
      await openDetails(tab);
      for (const width of [320, 360, 768, 1024, 1440]) {
        await tab.page.setViewportSize({ width, height: 800 });
        assert.equal(await tab.evaluate(OVERFLOW), 0, `pixels of overflow at ${width}`);
      }
    });

  test('fits the paper, without navigation and with the codes of errors', async () => {
    await using tab = await open('/docs/checkpoints');
    await tab.page.emulateMedia({ media: 'print' });
    await tab.page.setViewportSize({ width: 720, height: 1000 });
    assert.equal(await tab.evaluate(OVERFLOW), 0);
    assert.ok(await tab.page.getByRole('navigation').isHidden());
    assert.ok(await tab.page.locator('#v1-checkpoints-create .errors a').first().isVisible());
  });

  test('says what to do after each error of an operation', async () => {
    await using tab = await open('/docs/checkpoints');
    const errors = tab.page.locator('#v1-checkpoints-create .errors');
    assert.equal(await errors.getByText('Remediation:').count(), 0);
    await errors.getByText(/^Errors: \d+ codes$/).click();
    await errors.getByText(/^Remediation: Install git in the image/).waitFor();
    const codes = await errors.locator('dd a[href^="/docs/errors#"]').count();
    assert.equal(await errors.getByText('Remediation:').count(), codes);
  });

  test('leads from an operation to the part of its guide', async () => {
    await using tab = await open('/docs/workspaces');
    await tab.page.locator('#v1-workspaces-fork').getByRole('link', { name: 'Fork a workspace' }).click();
    await tab.page.waitForURL('**/docs/guides/workspaces#fork-a-workspace');
    await tab.page.getByRole('navigation').getByRole('link', { name: 'Stop a workspace' }).click();
    assert.equal(await address(tab), '/docs/guides/workspaces#stop-a-workspace');
  });

  test('uses the color theme of the console', async () => {
    await using tab = await open('/docs');
    await tab.evaluate("localStorage.setItem('snapshotter-theme', 'dark')");
    await tab.page.reload();
    assert.equal(await tab.evaluate('getComputedStyle(document.documentElement).colorScheme'), 'dark');
  });
});

describe('the search', () => {
  const field = (tab: Tab) => tab.page.getByRole('combobox');

  test('works by keyboard', async () => {
    await using tab = await open('/docs');
    await tab.page.keyboard.press('/');
    await tab.page.keyboard.type('fork');
    await tab.page.getByRole('option', { name: /^workspaces\/fork/ }).waitFor();
    assert.deepEqual(await violations(tab, {}), []);
    await tab.page.keyboard.press('ArrowDown');
    await tab.page.keyboard.press('ArrowUp');
    assert.equal(await field(tab).getAttribute('aria-activedescendant'), 'result-0');
    await tab.page.keyboard.press('Enter');
    await tab.page.waitForURL('**/docs/workspaces#v1-workspaces-fork');
  });

  test('finds a field, and marks it on its page', async () => {
    await using tab = await open('/docs/snapshots');
    await field(tab).fill('idempotencyKey');
    await tab.page.getByRole('option', { name: 'Option of restore' }).click();
    assert.equal(await address(tab), '/docs/snapshots#v1-restore.idempotencyKey');
    assert.ok(await tab.page.locator(':target').isVisible());
    assert.ok(await tab.page.getByRole('listbox').isHidden());
  });

  test('finds an option by a word of its description', async () => {
    await using tab = await open('/docs');
    await field(tab).fill('environment variables');
    const option = tab.page.getByRole('option', { name: 'Option of exec' });
    await option.locator('mark', { hasText: 'Environment' }).waitFor();
    await option.click();
    assert.equal(await address(tab), '/docs/commands#v1-exec.env');
  });

  test('finds a part of a guide by its words, and opens it', async () => {
    await using tab = await open('/docs');
    await field(tab).fill('three keep best');
    await tab.page.getByRole('option', { name: /^Fork three, keep the best/ }).click();
    await tab.page.waitForURL('**/docs/guides/workspaces#fork-three-keep-the-best');
    await tab.page.getByRole('heading', { name: 'Fork three, keep the best' }).waitFor();
  });

  test('finds an error code by words of its remediation, which it shows', async () => {
    await using tab = await open('/docs');
    await field(tab).fill('disk full');
    const option = tab.page.getByRole('option', { name: /^BACKUP_FAILED/ });
    await option.locator('mark', { hasText: 'full' }).first().waitFor();
  });

  test('says which words no page has', async () => {
    await using tab = await open('/docs');
    await field(tab).fill('kubernetes deploy');
    await tab.notice('No page has “kubernetes”. These have the other words: The best 30 of');
    await tab.page.getByRole('option', { name: /^3. Deploy/ }).waitFor();
    assert.deepEqual(await violations(tab, {}), []);
  });

  test('finds an error code on a phone', async () => {
    await using tab = await open('/docs/tools', { viewport: { width: 360, height: 740 }, hasTouch: true });
    await field(tab).tap();
    await field(tab).fill('name taken');
    assert.equal(await tab.evaluate(OVERFLOW), 0);
    await tab.page.getByRole('option', { name: /^NAME_TAKEN/ }).tap();
    await tab.page.waitForURL('**/docs/errors#NAME_TAKEN');
  });

  test('works without a network once the page is loaded', async () => {
    await using tab = await open('/docs');
    await tab.page.context().setOffline(true);
    await field(tab).fill('verify');
    await tab.page.getByRole('option', { name: /^verify/ }).waitFor();
  });

  test('reports that it found nothing, and ends with Escape', async () => {
    await using tab = await open('/docs');
    await field(tab).fill('xyzzy');
    await tab.notice('No page has “xyzzy”.');
    assert.ok(await tab.page.locator('#found').getByText('No page has “xyzzy”.').isVisible());
    await field(tab).fill('snapshot');
    await tab.page.getByRole('listbox').waitFor();
    await tab.page.keyboard.press('Escape');
    await tab.page.getByRole('listbox').waitFor({ state: 'hidden' });
  });
});

test('the first call works as it stands, once it has the token', async () => {
  await using tab = await open('/docs');
  const code = await tab.page.locator('#call pre:visible').innerText();
  const { stdout } = await promisify(execFile)('sh', ['-c', code.replace('…', `'${TOKEN}'`)]);
  const { name, state } = JSON.parse(stdout);
  assert.deepEqual([name, state], ['notebook', 'active']);
});

test('the examples of workspaces work as they stand, after the first call', async () => {
  await fixture.world.http('workspaces/getOrCreate', { name: 'notebook' });
  for (const name of [
    'create',
    'getOrCreate',
    'getByName',
    'list',
    'fork',
    'promote',
    'stop',
    'start',
    'delete',
  ]) {
    const place = OPERATIONS.find(({ path }) => path === `/v1/workspaces/${name}`);
    await fixture.world.http(
      `workspaces/${name}`,
      place?.route.requestBody?.content['application/json']?.example,
    );
  }
});

test('an unknown path is a page with links', async () => {
  await using tab = await fixture.open();
  const response = await tab.page.goto(`${await fixture.world.url('/docs/nope')}`);
  assert.equal(response?.status(), 404);
  await tab.page.getByRole('heading', { name: 'Page not found' }).waitFor();
  assert.deepEqual(await violations(tab, {}), []);
  for (const width of [320, 1440]) {
    await tab.page.setViewportSize({ width, height: 800 });
    assert.equal(await tab.evaluate(OVERFLOW), 0, `pixels of overflow at ${width}`);
  }
  await tab.link('The HTTP API').click();
  await tab.page.waitForURL('**/docs');
});

describe('an operation', () => {
  test('shows its examples in the language that was chosen last', async () => {
    await using tab = await open('/docs/workspaces');
    const example = tab.page.locator('#v1-workspaces-start .code').first();
    assert.match(await example.locator('pre:visible').innerText(), /^curl /);
    await example.getByRole('button', { name: 'TypeScript' }).click();
    assert.match(
      await example.locator('pre:visible').innerText(),
      /^const startedWorkspace = await snapshotter/,
    );
    await tab.page.goto(`${await fixture.world.url('/docs/tools#v1-tools-call')}`);
    const other = tab.page.locator('#v1-tools-call .code').first();
    assert.match(await other.locator('pre:visible').innerText(), /snapshotter\.tools\.call/);
    const top = await tab.page.locator('#v1-tools-call').evaluate((at) => at.getBoundingClientRect().top);
    assert.ok(top >= 0 && top < 200, `${top}`);
  });

  test('shows the first of its examples if it has none in the chosen language', async () => {
    await using tab = await open('/docs/tools');
    await tab.evaluate("localStorage.setItem('snapshotter-language', 'cli')");
    await tab.page.reload();
    assert.match(await tab.page.locator('#v1-tools-call pre:visible').first().innerText(), /^curl /);
  });

  test('shows the fields of its answer, and nested types in place', async () => {
    await using tab = await open('/docs/snapshots#v1-list');
    const operation = tab.page.locator('#v1-list');
    await operation.getByText('Fields of Summary', { exact: true }).click();
    const nested = operation.locator('[data-type=Summary]').first();
    await nested.getByText('pinned', { exact: true }).waitFor();
    await nested.getByText('Fields of SnapshotRef', { exact: true }).click();
    await nested.getByText('providerId', { exact: true }).waitFor();
    assert.equal(await address(tab), '/docs/snapshots#v1-list');
    const duplicates = `[...document.querySelectorAll('[id]')].map(({ id }) => id)
      .filter((id, index, all) => all.indexOf(id) !== index)`;
    assert.deepEqual(await tab.evaluate(duplicates), []);
  });

  test('has a button that copies the shown example', async () => {
    await using tab = await open('/docs/snapshots', { permissions: ['clipboard-read', 'clipboard-write'] });
    const example = tab.page.locator('#v1-pin .code').first();
    await example.getByRole('button', { name: 'Command line' }).click();
    await example.getByRole('button', { name: 'Copy' }).click();
    await example.getByRole('button', { name: 'Copied' }).waitFor();
    assert.match(
      await tab.evaluate('navigator.clipboard.readText()'),
      /^snapshotter snapshot pin @notebook /,
    );
  });
});

for (const [link, target] of [
  ['/docs#v1-workspaces-start', '/docs/workspaces#v1-workspaces-start'],
  ['/docs#type-Summary', '/docs/snapshots#type-Summary'],
  ['/docs#NAME_TAKEN', '/docs/errors#NAME_TAKEN'],
  ['/docs#workspaces', '/docs#workspaces'],
  ['/docs#errors', '/docs#errors'],
] as const)
  test(`a link to the former single page, ${link}, leads to ${target}`, async () => {
    await using tab = await open(link);
    await tab.page.waitForURL(`**${target}`);
    assert.ok(await tab.page.locator(':target').isVisible());
  });

test('without scripts, all examples and links to nested types are shown', async () => {
  await using tab = await open('/docs/snapshots', { javaScriptEnabled: false });
  assert.equal(await tab.page.locator('#v1-snapshot pre:visible').count(), 4);
  assert.ok(await tab.page.getByRole('combobox').isHidden());
  await tab.page.locator('#v1-list .nested summary').first().click();
  await tab.page.locator('#v1-list .nested a').first().click();
  assert.ok(await tab.page.locator('#type-Summary').isVisible());
});

test('a page with its script and its styles has less than 53 kB', async () => {
  const sizeOf = async (path: string) => {
    const answer = await fetch(await fixture.world.url(path));
    return gzipSync(await answer.bytes(), { level: 9 }).length;
  };
  const shared = (await sizeOf('/docs/reference.js')) + (await sizeOf('/docs/reference.css'));
  for (const path of PAGES) {
    const size = shared + (await sizeOf(path));
    assert.ok(size < 53_000, `${path}: ${size} bytes`);
  }
});
