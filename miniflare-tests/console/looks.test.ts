// What every view of the console has to be: readable for everybody, small, and on its own.

import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import { gzipSync } from 'node:zlib';

import axe, { type AxeResults } from 'axe-core';

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
  async 'a snapshot that is held'(tab) {
    await tab.sandbox(showcase.origin);
    await tab.node('Snapshot tests are green').click();
    await tab.button('Delete…').click();
    await tab.button('Delete').click();
    await tab.failure('SNAPSHOT_HELD');
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

/** What is wrong with what is shown, by the rules of WCAG 2.2 AA that a program can judge. */
async function findings(tab: Tab): Promise<string[]> {
  const { violations } = await tab.evaluate<AxeResults>('axe.run(document)');
  return violations.flatMap(({ id, nodes }) =>
    nodes.map(({ html, any }) => `${id}: ${html} ${any[0]?.message ?? ''}`),
  );
}

/** The view is for everybody, in light and in dark, and on the narrowest of screens. */
async function isForEverybody(tab: Tab) {
  await tab.page.evaluate(axe.source);
  for (const colorScheme of ['light', 'dark'] as const) {
    await tab.page.emulateMedia({ colorScheme });
    assert.deepEqual(await findings(tab), [], colorScheme);
  }
  await tab.page.setViewportSize({ width: 320, height: 640 });
  const beyond = 'document.documentElement.scrollWidth - document.documentElement.clientWidth';
  assert.equal(await tab.evaluate(beyond), 0, 'pixels beyond the right edge');
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

  test('everything that is pressed is large enough for a finger', async () => {
    await using tab = await stage.atSandbox(showcase.origin, phone);
    await tab.node('Snapshot nightly').tap();
    await tab.details.getByRole('heading', { name: 'nightly' }).waitFor();
    const small = `[...document.querySelectorAll('button, input, select, [role=treeitem], nav a')]
      .filter((at) => at.checkVisibility() && at.getBoundingClientRect().height < 44)
      .map((at) => at.outerHTML)`;
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

  test('are small', async () => {
    let size = 0;
    for (const path of PAGES) {
      const response = await fetch(await stage.world.url(path));
      assert.equal(response.status, 200);
      size += gzipSync(await response.bytes(), { level: 9 }).length;
    }
    assert.ok(size < 45_000, `${size} bytes`);
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
