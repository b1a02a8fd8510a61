// Tests of accessibility, layout, forms, themes and the size of the pages.

import assert from 'node:assert/strict';
import { readdirSync } from 'node:fs';
import { describe, test } from 'node:test';
import { gzipSync } from 'node:zlib';

import type { Locator } from 'playwright-core';

import { at } from '../../scripts/setup.mjs';
import { DOCUMENT } from '../openapi/document.ts';
import { TOKEN } from '../world.ts';
import { OVERFLOW, violations } from './accessibility.ts';
import { ConsoleFixture, type Tab } from './browser.ts';
import { failCalls } from './calls.ts';
import { fillShowcase, type Showcase } from './showcase.ts';

let showcase: Showcase;
const fixture = new ConsoleFixture({}, async (world) => {
  showcase = await fillShowcase(world);
  await world.rpc('checkpoints/create', { sandboxId: showcase.origin, name: 'green' });
  await world.exec(showcase.origin, 'echo more >>log');
});

/** The views, and the steps to each from the list of workspaces. */
const VIEWS: Record<string, (tab: Tab) => Promise<void>> = {
  async 'the list of workspaces'(tab) {
    await tab.link('notebook').waitFor();
  },
  async 'the dialog of a new workspace'(tab) {
    await tab.button('New workspace…').click();
    await tab.dialog.getByText('More options').click();
  },
  async 'the dialog that deletes a workspace'(tab) {
    await tab.button('Delete notebook…').click();
    await tab.dialog.waitFor();
  },
  async 'the health of the deployment'(tab) {
    await tab.button('Healthy').click();
    await tab.dialog.waitFor();
  },
  async 'a workspace with its lineage'(tab) {
    await tab.link('checkout-agent').click();
    await tab.node('Snapshot base image').waitFor();
    await tab.page.getByText('Settings and history').click();
  },
  async 'a snapshot with its manifest'(tab) {
    await tab.sandbox(showcase.origin);
    await tab.node('Snapshot tests are green').click();
    await tab.details.getByText('Capture and storage').click();
  },
  async 'the deletion of a snapshot with dependents'(tab) {
    await tab.sandbox(showcase.origin);
    await tab.node('Snapshot tests are green').click();
    await tab.button('Delete anyway…').click();
    await tab.dialog.getByText('can’t be deleted').waitFor();
  },
  async 'an unknown sandbox'(tab) {
    await tab.visit('#/sandboxes/unknown');
    await tab.page.getByText('No workspace of the default tenant').waitFor();
  },
  async 'a workspace that does not exist'(tab) {
    await tab.visit('#/workspaces/default/missing');
    await tab.button('Create it…').waitFor();
  },
  async 'the dialog of a new snapshot'(tab) {
    await tab.visit(`#/sandboxes/${showcase.origin}?sandbox=${showcase.origin}`);
    await tab.button('Take a snapshot…').click();
    await tab.dialog.getByText('More options').click();
  },
  async 'the retention tab with the form of the policy'(tab) {
    await tab.visit(`#/sandboxes/${showcase.origin}?sandbox=${showcase.origin}&tab=retention`);
    await tab.button('Change the policy…').click();
    await tab.field('Newest snapshots to keep').fill('3');
  },
  async 'the form of a new access token'(tab) {
    await tab.visit('#/tokens/default');
    await tab.button('New token…').click();
  },
  async 'the usage of workspaces'(tab) {
    await tab.visit('#/usage/default');
    await tab.page.getByText('US dollars').waitFor();
  },
  async 'the changes since a checkpoint'(tab) {
    await tab.visit(`#/sandboxes/${showcase.origin}?sandbox=${showcase.origin}&tab=checkpoints`);
    await tab.button('Compare with green').click();
    await tab.page.locator('pre').waitFor();
  },
};

/** Asserts that the view is accessible in light and dark colors, and fits a width of 320 pixels. */
async function assertAccessible(tab: Tab) {
  assert.deepEqual(await violations(tab, { rules: { 'target-size': { enabled: true } } }), [], 'in light');
  await tab.page.emulateMedia({ colorScheme: 'dark' });
  assert.deepEqual(await violations(tab, { runOnly: ['color-contrast'] }), [], 'in dark');
  await tab.page.setViewportSize({ width: 320, height: 640 });
  assert.equal(await tab.evaluate(OVERFLOW), 0, 'pixels of overflow');
}

describe('WCAG 2.2 AA is met by', () => {
  test('the sign-in page', async () => {
    await using tab = await fixture.open();
    await tab.field('API token').fill('another token');
    await tab.button('Sign in').click();
    await tab.failure('UNAUTHORIZED');
    await assertAccessible(tab);
  });

  for (const [view, goTo] of Object.entries(VIEWS)) {
    test(view, async () => {
      await using tab = await fixture.signedIn();
      await goTo(tab);
      await assertAccessible(tab);
    });
  }
});

for (const width of [1000, 1280])
  test(`the list of workspaces fits long names at ${width} pixels`, async () => {
    await using tab = await fixture.open({ viewport: { width, height: 800 } });
    const name = 'a-workspace-with-a-long-name-that-fills-all-63-characters-of-it';
    const entry = {
      name,
      state: 'stopped',
      sandboxId: `${name}-abcdefghij-restored-abcdefgh`,
      sizeBytes: 1e6,
    };
    const time = '2026-01-01T00:00:00Z';
    await tab.page.route('**/v1/workspaces/list', (route) =>
      route.fulfill({ json: { workspaces: [{ ...entry, createdAt: time, updatedAt: time }] } }),
    );
    await tab.signIn();
    await tab.link(name).waitFor();
    const overflowing = `[...document.querySelectorAll('.workspaces, .workspaces a, .workspaces button')]
      .filter((at) => at.getBoundingClientRect().right > at.closest('.workspaces').clientWidth + 40)
      .map((at) => at.outerHTML)`;
    assert.deepEqual(await tab.evaluate(overflowing), []);
    assert.equal(await tab.evaluate(OVERFLOW), 0);
  });

test('the usage has its numbers and units in one line at 700 pixels', async () => {
  await using tab = await fixture.signedIn('#/usage/default', { viewport: { width: 700, height: 800 } });
  await tab.page.locator('.usage td').first().waitFor();
  const broken = `[...document.querySelectorAll('.usage td')].filter((at) => {
    const content = document.createRange();
    content.selectNodeContents(at);
    return content.getClientRects().length > 1;
  }).map((at) => at.textContent)`;
  assert.deepEqual(await tab.evaluate(broken), []);
  assert.equal(await tab.evaluate(OVERFLOW), 0);
});

describe('with forced colors', () => {
  const styleOf = (locator: Locator) =>
    locator.evaluate((at) => {
      const { backgroundColor, outlineStyle, borderTopStyle } =
        at.ownerDocument.defaultView!.getComputedStyle(at);
      return `${backgroundColor} ${outlineStyle} ${borderTopStyle}`;
    });

  test('running sandboxes, the selected row and badges are distinguishable', async () => {
    await using tab = await fixture.atSandbox(showcase.origin, { forcedColors: 'active' });
    const [running, ended] = ['true', 'false'].map((is) =>
      tab.page.locator(`.row.sandbox[data-is=${is}] .shape`).first(),
    );
    assert.notEqual(await styleOf(running as Locator), await styleOf(ended as Locator));
    assert.notEqual(
      await styleOf(tab.node('Snapshot nightly')),
      await styleOf(tab.node(`Sandbox ${showcase.origin}`)),
    );
    assert.match(await styleOf(tab.page.locator('.row .badge').first()), /solid$/);
  });
});

test('the facts of a workspace begin at the top of their cells', async () => {
  await using tab = await fixture.signedIn('#/workspaces/default/notebook');
  const facts = tab.page.locator('main > .facts > div');
  await facts.first().waitFor();
  const gaps = await facts.evaluateAll((all) =>
    all.map(
      ({ children: [name, value] }) =>
        value!.getBoundingClientRect().top - name!.getBoundingClientRect().bottom,
    ),
  );
  assert.ok(
    gaps.every((gap) => gap < 8),
    `${gaps}`,
  );
});

describe('a form', () => {
  test('keeps the text of a field as typed', async () => {
    await using tab = await fixture.atSandbox(showcase.origin);
    await tab.button('Take a snapshot…').click();
    await tab.dialog.getByText('More options').click();
    await tab.field('Expires after its last use').selectOption('days');
    const amount = tab.field('Expires after its last use, amount');
    await amount.fill('');
    assert.equal(await amount.inputValue(), '');
    await amount.pressSequentially('14');
    assert.equal(await amount.inputValue(), '14');
    await tab.field('Expires after its last use').selectOption('hours');
    assert.equal(await amount.inputValue(), '14');
  });

  test('opens a collapsed section that has an invalid field', async () => {
    await using tab = await fixture.atSandbox(showcase.origin);
    await tab.button('Take a snapshot…').click();
    const more = tab.dialog.getByText('More options');
    await more.click();
    await tab.field('Expires after its last use').selectOption('days');
    const amount = tab.field('Expires after its last use, amount');
    await amount.fill('0');
    await more.click();
    await amount.waitFor({ state: 'hidden' });
    await tab.button('Take snapshot').click();
    await amount.waitFor();
    assert.equal(await amount.evaluate((at) => at === at.ownerDocument.activeElement), true);
  });
});

describe('on a phone', () => {
  const phone = { viewport: { width: 390, height: 844 }, hasTouch: true };

  test('the header has the link to the documentation after that to the workspaces', async () => {
    await using tab = await fixture.signedIn(undefined, { ...phone, viewport: { width: 360, height: 800 } });
    const [docs, home] = [await tab.link('Docs').boundingBox(), await tab.link('Workspaces').boundingBox()];
    assert.ok(docs && home && docs.y === home.y && docs.x >= home.x + home.width);
    for (const width of [320, 360, 640]) {
      await tab.page.setViewportSize({ width, height: 800 });
      assert.equal(await tab.evaluate(OVERFLOW), 0, `pixels of overflow at ${width}`);
    }
  });

  test('the header has room for the text in the search, and for the focus frame of the logo', async () => {
    await using tab = await fixture.signedIn(undefined, { ...phone, viewport: { width: 360, height: 800 } });
    const search = tab.field('Sandbox id, or @name of a workspace');
    await search.fill((await search.getAttribute('placeholder')) ?? '');
    const hidden = await search.evaluate((at) => at.scrollWidth - at.clientWidth);
    assert.equal(hidden, 0, 'pixels of the text that are not visible');
    const [logo, link] = [
      await tab.page.locator('.brand').boundingBox(),
      await tab.link('Workspaces').boundingBox(),
    ];
    const frame = 4; // Its offset and its width.
    assert.ok(logo && link && logo.x + logo.width + frame <= link.x);
  });

  test('the choices after a failed start fit the width', async () => {
    await using tab = await fixture.signedIn(undefined, { ...phone, viewport: { width: 360, height: 800 } });
    await failCalls(tab, 'workspaces/start', 'WORKSPACE_DIVERGED', 'conflict');
    await tab.button('Start notebook').tap();
    await tab.button('Discard them and restore…').waitFor();
    assert.equal(await tab.evaluate(OVERFLOW), 0);
  });

  test('the header has the navigation and the session in one row', async () => {
    await using tab = await fixture.signedIn(undefined, { ...phone, viewport: { width: 360, height: 800 } });
    await tab.button('Healthy').waitFor();
    const [link, button] = await Promise.all([
      tab.link('Workspaces').boundingBox(),
      tab.button('Sign out').boundingBox(),
    ]);
    assert.equal(link?.y, button?.y);
  });

  test('the page of a workspace has the head of its tree on the first screen, and its details collapsed', async () => {
    await using tab = await fixture.signedIn('#/workspaces/default/notebook', {
      ...phone,
      viewport: { width: 360, height: 740 },
    });
    const heading = tab.page.getByRole('heading', { name: 'Lineage' });
    await heading.waitFor();
    const [title, refresh] = [await heading.boundingBox(), await tab.button('Refresh').boundingBox()];
    assert.ok(title && refresh && title.y < 560, JSON.stringify(title));
    assert.ok(refresh.y < title.y + title.height, 'the head has one row');
    const directory = tab.page.getByText('Directory', { exact: true });
    assert.equal(await directory.isVisible(), false);
    await tab.page.getByText('Details, settings and history').click();
    await directory.waitFor();
    await tab.page.setViewportSize({ width: 1000, height: 740 });
    await tab.page.getByText('Settings and history', { exact: true }).waitFor();
    assert.equal(await directory.count(), 1);
  });

  test('a selection opens a sheet, which can be closed', async () => {
    await using tab = await fixture.atSandbox(showcase.origin, phone);
    assert.ok(await tab.details.isHidden());
    await tab.node('Snapshot nightly').tap();
    await tab.details.getByRole('heading', { name: 'nightly' }).waitFor();
    await tab.button('Close the details').tap();
    await tab.details.waitFor({ state: 'hidden' });
  });

  test('Escape closes the sheet and returns the focus to its row', async () => {
    await using tab = await fixture.atSandbox(showcase.origin, phone);
    await tab.node('Snapshot nightly').tap();
    await tab.details.and(tab.page.locator(':focus')).waitFor();
    await tab.page.keyboard.press('Escape');
    await tab.details.waitFor({ state: 'hidden' });
    await tab.node('Snapshot nightly').and(tab.page.locator(':focus')).waitFor();
  });

  for (const [orientation, viewport] of [
    ['portrait', { width: 390, height: 844 }],
    ['landscape', { width: 844, height: 390 }],
  ] as const)
    test(`the sheet does not cover the end of the tree in ${orientation} orientation`, async () => {
      await using tab = await fixture.atSandbox(showcase.origin, { ...phone, viewport });
      await tab.node('Snapshot nightly').tap();
      await tab.details.getByRole('heading', { name: 'nightly' }).waitFor();
      await tab.evaluate('scrollTo(0, document.documentElement.scrollHeight)');
      const [row, sheet] = await Promise.all([
        tab.page.getByRole('treeitem').last().boundingBox(),
        tab.details.boundingBox(),
      ]);
      assert.ok(row && sheet);
      const isClear = row.y + row.height <= sheet.y || row.x + row.width <= sheet.x;
      assert.ok(isClear, `${JSON.stringify(row)} under ${JSON.stringify(sheet)}`);
    });

  test('all controls are at least 44 pixels high', async () => {
    await using tab = await fixture.atSandbox(showcase.origin, phone);
    await tab.node('Snapshot nightly').tap();
    await tab.details.getByRole('heading', { name: 'nightly' }).waitFor();
    const small = `[...document.querySelectorAll('button, input, select, [role=treeitem], nav a, [data-twist=true]')]
      .map((at) => [at.outerHTML, at.checkVisibility(), at.getBoundingClientRect()])
      .filter(([html, isVisible, { height, width }]) => isVisible && (height < 44 || html.includes('twist') && width < 44))
      .map(([html]) => html)`;
    assert.deepEqual(await tab.evaluate(small), []);
  });
});

test('the page has no frame while it has the focus', async () => {
  await using tab = await fixture.open();
  await tab.field('API token').fill(TOKEN);
  await tab.page.keyboard.press('Enter');
  const page = tab.page.locator('main:focus-visible');
  await page.waitFor();
  assert.equal(
    await page.evaluate((at) => at.ownerDocument.defaultView!.getComputedStyle(at).outlineWidth),
    '0px',
  );
});

test('the chosen color theme survives a reload', async () => {
  await using tab = await fixture.signedIn();
  await tab.button('Colors: system. Change to light').click();
  await tab.button('Colors: light. Change to dark').click();
  const colorScheme = 'getComputedStyle(document.documentElement).colorScheme';
  assert.equal(await tab.evaluate(colorScheme), 'dark');
  await tab.page.reload();
  assert.equal(await tab.evaluate(colorScheme), 'dark');
});

describe('the pages', () => {
  const PAGES = ['/', '/console/app.js', '/console/app.css', '/console/icon.svg'];

  async function sizeOf(path: string): Promise<number> {
    const response = await fetch(await fixture.world.url(path));
    assert.equal(response.status, 200);
    return gzipSync(await response.bytes(), { level: 9 }).length;
  }

  test('of the console are smaller than 74 kB', async () => {
    let size = 0;
    for (const path of PAGES) size += await sizeOf(path);
    assert.ok(size < 74_000, `${size} bytes`);
  });

  test('of the console and the API reference are smaller than 280 KiB', async () => {
    const groups = DOCUMENT.tags.map(({ name }) => name);
    const reference = [...groups, 'errors', 'reference.js', 'reference.css'].map((name) => `/docs/${name}`);
    let size = 0;
    for (const path of [...PAGES, '/openapi.json', '/docs', ...reference]) size += await sizeOf(path);
    assert.ok(size < 280 * 1024, `${size} bytes`);
  });

  test('of the guides are smaller than 350 kB', async () => {
    const names = readdirSync(at('docs')).map((file) => `/docs/guides/${file.replace('.md', '')}`);
    let size = 0;
    for (const path of ['/docs/guides', '/docs/guides/client', '/docs/guides.json', ...names]) {
      const response = await fetch(await fixture.world.url(path));
      if (response.status === 200) size += gzipSync(await response.bytes(), { level: 9 }).length;
    }
    assert.ok(size > 100_000 && size < 350_000, `${size} bytes`);
  });

  test('cannot load anything from other origins, and cannot be framed', async () => {
    for (const path of PAGES) {
      const { headers } = await fetch(await fixture.world.url(path));
      const policy = headers.get('content-security-policy') ?? '';
      assert.match(policy, /default-src 'none'.*frame-ancestors 'none'/);
      assert.doesNotMatch(policy, /unsafe|https?:/);
    }
  });
});
