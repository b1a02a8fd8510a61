// What every view of the console has to be: readable for everybody, small, and on its own.

import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import { gzipSync } from 'node:zlib';

import axe, { type AxeResults, type RunOptions } from 'axe-core';
import type { Locator } from 'playwright-core';

import { Stage, type Tab } from './browser.ts';
import { fill, type Showcase } from './showcase.ts';

let showcase: Showcase;
const stage = new Stage({}, async (world) => {
  showcase = await fill(world);
  await world.rpc('checkpoints/create', { sandboxId: showcase.origin, name: 'green' });
  await world.exec(showcase.origin, 'echo more >>log');
});

/** The views, and how one gets there from the list of workspaces. */
const VIEWS: Record<string, (tab: Tab) => Promise<void>> = {
  async 'the list of workspaces'(tab) {
    await tab.link('notebook').waitFor();
  },
  async 'the form of a new workspace'(tab) {
    await tab.button('New workspace…').click();
    await tab.dialog.getByText('More options').click();
  },
  async 'the question before a workspace is deleted'(tab) {
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
    await tab.details.getByText('How it was captured and stored').click();
  },
  async 'a snapshot that is needed'(tab) {
    await tab.sandbox(showcase.origin);
    await tab.node('Snapshot tests are green').click();
    await tab.button('Delete…').click();
    await tab.button('Delete').click();
    await tab.failure('SNAPSHOT_HAS_DEPENDENTS');
  },
  async 'the form of a snapshot'(tab) {
    await tab.visit(`#/sandboxes/${showcase.origin}?sandbox=${showcase.origin}`);
    await tab.button('Take a snapshot…').click();
    await tab.dialog.getByText('More options').click();
  },
  async 'a policy with its form and its plan'(tab) {
    await tab.visit(`#/sandboxes/${showcase.origin}?sandbox=${showcase.origin}&tab=retention`);
    await tab.button('Change the policy…').click();
    await tab.field('Keep the newest').fill('3');
  },
  async 'checkpoints with a difference'(tab) {
    await tab.visit(`#/sandboxes/${showcase.origin}?sandbox=${showcase.origin}&tab=checkpoints`);
    await tab.button('Compare with green').click();
    await tab.page.locator('pre').waitFor();
  },
};

/** How many pixels of the page are beyond its right edge. */
const BEYOND = 'document.documentElement.scrollWidth - document.documentElement.clientWidth';

/** What is wrong with what is shown, by the rules of WCAG 2.2 AA that a program can judge. */
async function findings(tab: Tab, options: RunOptions): Promise<string[]> {
  const { violations } = await tab.evaluate<AxeResults>(`axe.run(document, ${JSON.stringify(options)})`);
  return violations.flatMap(({ id, nodes }) =>
    nodes.map(({ html, any }) => `${id}: ${html} ${any[0]?.message ?? ''}`),
  );
}

/** The view is for everybody, in light and in dark, and on the narrowest of screens. */
async function isForEverybody(tab: Tab) {
  await tab.page.evaluate(axe.source);
  assert.deepEqual(await findings(tab, { rules: { 'target-size': { enabled: true } } }), [], 'in light');
  await tab.page.emulateMedia({ colorScheme: 'dark' });
  assert.deepEqual(await findings(tab, { runOnly: ['color-contrast'] }), [], 'in dark');
  await tab.page.setViewportSize({ width: 320, height: 640 });
  assert.equal(await tab.evaluate(BEYOND), 0, 'pixels beyond the right edge');
}

describe('nobody is kept out of', () => {
  test('the way in', async () => {
    await using tab = await stage.open();
    await tab.field('API token').fill('another token');
    await tab.button('Sign in').click();
    await tab.failure('UNAUTHORIZED');
    await isForEverybody(tab);
  });

  for (const [view, arrive] of Object.entries(VIEWS)) {
    test(view, async () => {
      await using tab = await stage.signedIn();
      await arrive(tab);
      await isForEverybody(tab);
    });
  }
});

for (const width of [1000, 1280])
  test(`the list of workspaces has room for long names at ${width} pixels`, async () => {
    await using tab = await stage.open({ viewport: { width, height: 800 } });
    const name = 'the-workspace-of-somebody-who-likes-names-that-say-all-there-is';
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
    const beyond = `[...document.querySelectorAll('.workspaces, .workspaces a, .workspaces button')]
      .filter((at) => at.getBoundingClientRect().right > at.closest('.workspaces').clientWidth + 40)
      .map((at) => at.outerHTML)`;
    assert.deepEqual(await tab.evaluate(beyond), []);
    assert.equal(await tab.evaluate(BEYOND), 0);
  });

describe('where the system gives the colours', () => {
  const colours = (locator: Locator) =>
    locator.evaluate((at) => {
      const { backgroundColor, outlineStyle, borderTopStyle } =
        at.ownerDocument.defaultView!.getComputedStyle(at);
      return `${backgroundColor} ${outlineStyle} ${borderTopStyle}`;
    });

  test('what runs, what is selected, and badges can be told', async () => {
    await using tab = await stage.atSandbox(showcase.origin, { forcedColors: 'active' });
    const [runs, sleeps] = ['true', 'false'].map((is) =>
      tab.page.locator(`.row.sandbox[data-is=${is}] .shape`).first(),
    );
    assert.notEqual(await colours(runs as Locator), await colours(sleeps as Locator));
    assert.notEqual(
      await colours(tab.node('Snapshot nightly')),
      await colours(tab.node(`Sandbox ${showcase.origin}`)),
    );
    assert.match(await colours(tab.page.locator('.row .badge').first()), /solid$/);
  });
});

describe('a form', () => {
  test('leaves what is typed as it is typed', async () => {
    await using tab = await stage.atSandbox(showcase.origin);
    await tab.button('Take a snapshot…').click();
    await tab.dialog.getByText('More options').click();
    await tab.field('Goes after its last use').selectOption('days');
    const many = tab.field('Goes after its last use, how many');
    await many.fill('');
    assert.equal(await many.inputValue(), '');
    await many.pressSequentially('14');
    assert.equal(await many.inputValue(), '14');
    await tab.field('Goes after its last use').selectOption('hours');
    assert.equal(await many.inputValue(), '14');
  });

  test('shows what is not filled in as it must be, wherever it is', async () => {
    await using tab = await stage.atSandbox(showcase.origin);
    await tab.button('Take a snapshot…').click();
    const more = tab.dialog.getByText('More options');
    await more.click();
    await tab.field('Goes after its last use').selectOption('days');
    const many = tab.field('Goes after its last use, how many');
    await many.fill('0');
    await more.click();
    await many.waitFor({ state: 'hidden' });
    await tab.button('Take it').click();
    await many.waitFor();
    assert.equal(await many.evaluate((at) => at === at.ownerDocument.activeElement), true);
  });
});

describe('on a phone', () => {
  const phone = { viewport: { width: 390, height: 844 }, hasTouch: true };

  test('what is selected comes on a sheet, which goes again', async () => {
    await using tab = await stage.atSandbox(showcase.origin, phone);
    assert.ok(await tab.details.isHidden());
    await tab.node('Snapshot nightly').tap();
    await tab.details.getByRole('heading', { name: 'nightly' }).waitFor();
    await tab.button('Close the details').tap();
    await tab.details.waitFor({ state: 'hidden' });
  });

  test('Escape takes the sheet away, and the focus goes back to its row', async () => {
    await using tab = await stage.atSandbox(showcase.origin, phone);
    await tab.node('Snapshot nightly').tap();
    await tab.details.getByRole('heading', { name: 'nightly' }).waitFor();
    await tab.page.keyboard.press('Escape');
    await tab.details.waitFor({ state: 'hidden' });
    assert.equal(
      await tab.node('Snapshot nightly').evaluate((at) => at === at.ownerDocument.activeElement),
      true,
    );
  });

  for (const [held, viewport] of [
    ['upright', { width: 390, height: 844 }],
    ['on its side', { width: 844, height: 390 }],
  ] as const)
    test(`held ${held}, nothing of the tree stays under the sheet`, async () => {
      await using tab = await stage.atSandbox(showcase.origin, { ...phone, viewport });
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

  test('everything that is pressed is large enough for a finger', async () => {
    await using tab = await stage.atSandbox(showcase.origin, phone);
    await tab.node('Snapshot nightly').tap();
    await tab.details.getByRole('heading', { name: 'nightly' }).waitFor();
    const small = `[...document.querySelectorAll('button, input, select, [role=treeitem], nav a, [data-twist=true]')]
      .map((at) => [at.outerHTML, at.checkVisibility(), at.getBoundingClientRect()])
      .filter(([html, isVisible, { height, width }]) => isVisible && (height < 44 || html.includes('twist') && width < 44))
      .map(([html]) => html)`;
    assert.deepEqual(await tab.evaluate(small), []);
  });
});

test('the colours are those that somebody chose, also the next time', async () => {
  await using tab = await stage.signedIn();
  await tab.button('Colours: system. Change to light').click();
  await tab.button('Colours: light. Change to dark').click();
  const ground = 'getComputedStyle(document.documentElement).colorScheme';
  assert.equal(await tab.evaluate(ground), 'dark');
  await tab.page.reload();
  assert.equal(await tab.evaluate(ground), 'dark');
});

describe('the pages', () => {
  const PAGES = ['/', '/console/app.js', '/console/app.css', '/console/icon.svg'];

  async function sizeOf(path: string): Promise<number> {
    const response = await fetch(await stage.world.url(path));
    assert.equal(response.status, 200);
    return gzipSync(await response.bytes(), { level: 9 }).length;
  }

  test('are small', async () => {
    let size = 0;
    for (const path of PAGES) size += await sizeOf(path);
    assert.ok(size < 45_000, `${size} bytes`);
  });

  test('are small together with the others of the Worker', async () => {
    let size = 0;
    for (const path of [...PAGES, '/openapi.json', '/docs', '/docs/reference.css'])
      size += await sizeOf(path);
    assert.ok(size < 108 * 1024, `${size} bytes`);
  });

  test('may load nothing from anywhere else, and be framed by nobody', async () => {
    for (const path of PAGES) {
      const { headers } = await fetch(await stage.world.url(path));
      const policy = headers.get('content-security-policy') ?? '';
      assert.match(policy, /default-src 'none'.*frame-ancestors 'none'/);
      assert.doesNotMatch(policy, /unsafe|https?:/);
    }
  });
});
