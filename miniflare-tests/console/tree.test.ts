// Tests of the lineage: the tree for eyes, screen readers and the keyboard, its addresses, and its updates.

import assert from 'node:assert/strict';
import { afterEach, before, beforeEach, describe, test } from 'node:test';

import type { SnapshotRef, Tree, TreeSandbox, TreeSnapshot } from '../../client/src/index.ts';
import { until } from '../world.ts';
import { ConsoleFixture, Tab } from './browser.ts';

const fixture = new ConsoleFixture();

/** The label of the field at the top. */
const OPEN = 'Sandbox id, or @name of a workspace';

/** Returns the name of the row that has the focus. */
const focusedRow = (tab: Tab) =>
  tab.evaluate<string | undefined>('document.activeElement.querySelector(".unseen")?.textContent');

/** Presses keys, and waits until a row has the focus. */
async function press(tab: Tab, keys: string[], row: string) {
  for (const key of keys) await tab.page.keyboard.press(key);
  await until(async () => (await focusedRow(tab)) === row);
}

/** Answers the console's calls of `lineage` with this tree. */
async function fakeLineage(tab: Tab, tree: Tree) {
  await tab.page.route('**/v1/lineage', (route) => route.fulfill({ json: tree }));
}

/** A lineage of 12 generations, each with long names and almost all badges. */
const deep: Tree = { root: generation(0), sandboxes: 12, truncated: false };

function generation(at: number): TreeSandbox {
  const snapshot: TreeSnapshot = {
    snapshotId: `snap-${at}`,
    label: `before the upgrade, number ${at}`,
    state: 'ready',
    pinned: true,
    dependents: [`agent-${at + 1}`],
    sizeBytes: 123_456,
    createdAt: '2026-11-20T12:00:00Z',
    expiresAt: new Date(Date.now() + 3 * 86_400_000).toISOString(),
    derived: at < 11 ? [generation(at + 1)] : [],
  };
  return {
    sandboxId: at === 0 ? 'agent' : `agent-branch-abcdefgh-restored-${at}`,
    workspace: { tenant: 'default', name: `a-workspace-of-a-long-name-${at}` },
    running: true,
    snapshots: [snapshot],
    problem: 'It did not answer.',
    ...(at === 0 ? {} : { lineage: 'branch' }),
  };
}

/** An expression: the badges that are not completely within their row. */
const CLIPPED_BADGES = `[...document.querySelectorAll('.row .badge')].filter((badge) => {
  const { left, right, top, bottom } = badge.getBoundingClientRect();
  const row = badge.closest('.row').getBoundingClientRect();
  return left < row.left || right > row.right || top < row.top || bottom > row.bottom;
}).map((badge) => badge.outerHTML)`;

describe('the tree', () => {
  let base: SnapshotRef;
  let branch: string;

  before(async () => {
    await fixture.world.exec('agent', 'head -c 5000 /dev/urandom >file');
    base = await fixture.world.snapshot('agent', { label: 'base' });
    branch = (await fixture.world.branch(base)).ref.sandboxId;
    await fixture.world.rpc('pin', { ref: base });
    await fixture.world.snapshot('agent', { label: 'later', expirationSeconds: 86_400 });
  });

  test('shows the badges of every sandbox and snapshot', async () => {
    await using tab = await fixture.atSandbox('agent');
    const tree = (await tab.tree()).replaceAll(/ (just now|\d+ s ago)/g, '');
    assert.equal(
      tree,
      [
        '- tree "Lineage":',
        '  - treeitem "Sandbox agent current running" [expanded] [level=1] [selected]',
        '  - treeitem "Snapshot later expires in 1 d 8.2 kB" [level=2]',
        '  - treeitem "Snapshot base pinned 1 dependent 8.2 kB" [expanded] [level=2]',
        `  - treeitem "Sandbox ${branch} running branched" [level=3]`,
      ].join('\n'),
    );
  });

  test('marks the sandbox that the page is about, at any depth', async () => {
    await using tab = await fixture.atSandbox(branch);
    assert.equal(await tab.node(`Sandbox ${branch}`).getAttribute('aria-current'), 'true');
    assert.equal(await tab.page.locator('[aria-current=true]').count(), 1);
  });

  test('is navigated by keyboard', async () => {
    await using tab = await fixture.atSandbox('agent');
    await tab.node('Sandbox agent').focus();
    await press(tab, ['ArrowDown'], 'Snapshot later');
    await press(tab, ['End'], `Sandbox ${branch}`);
    await press(tab, ['ArrowLeft'], 'Snapshot base');
    await press(tab, ['ArrowLeft'], 'Snapshot base');
    assert.equal(await tab.node('Snapshot base').getAttribute('aria-expanded'), 'false');
    assert.equal(await tab.node(`Sandbox ${branch}`).count(), 0);
    await press(tab, ['ArrowRight'], 'Snapshot base');
    await press(tab, ['ArrowRight'], `Sandbox ${branch}`);
    await press(tab, ['Home'], 'Sandbox agent');
    await press(tab, ['Shift+B'], 'Snapshot base');
    await press(tab, ['ArrowUp'], 'Snapshot later');
    assert.equal(await tab.page.locator('[role=treeitem][tabindex="0"]').count(), 1);
    await tab.page.keyboard.press('Enter');
    await tab.details.getByRole('heading', { name: 'later' }).waitFor();
    assert.equal(await tab.node('Snapshot later').getAttribute('aria-selected'), 'true');
    assert.equal(await focusedRow(tab), 'Snapshot later');
  });

  test('expands and collapses by a button of at least 24 pixels', async () => {
    await using tab = await fixture.atSandbox('agent');
    const twist = tab.node('Snapshot base').locator('.twist');
    const { width = 0, height = 0 } = (await twist.boundingBox()) ?? {};
    assert.ok(width >= 24 && height >= 24, `${width} × ${height}`);
    await twist.click();
    await tab.node(`Sandbox ${branch}`).waitFor({ state: 'detached' });
    assert.equal(await tab.node('Sandbox agent').getAttribute('aria-selected'), 'true');
  });

  test('shows a deleted snapshot that sandboxes were created from', async () => {
    await fixture.world.exec('lost', 'echo x >file');
    const ref = await fixture.world.snapshot('lost');
    const { sandboxId } = (await fixture.world.restore(ref)).ref;
    await fixture.world.rpc('delete', { ref, force: true });
    await using tab = await fixture.atSandbox('lost');
    await tab.node(`Snapshot ${ref.ref.snapshotId} deleted`).click();
    await tab.details.getByText('deleted', { exact: true }).waitFor();
    await tab.node(`Sandbox ${sandboxId} running restored`).waitFor();
  });

  test('marks what could not be read', async () => {
    const root: TreeSandbox = { sandboxId: 'agent', snapshots: [], problem: 'Its ledger did not answer.' };
    await using tab = await fixture.signedIn();
    await fakeLineage(tab, { root, sandboxes: 1, truncated: true });
    await tab.sandbox('agent');
    await tab.page.getByText('The lineage is larger than the limit').waitFor();
    await tab.node('Sandbox agent current problem').waitFor();
    await tab.details.getByText('Its ledger did not answer.').waitFor();
  });

  test('of a part of the lineage links to the earlier part, and to the page of a snapshot that it lacks', async () => {
    const parent = { originId: 'earlier', snapshotId: 'snap-earlier' };
    const root: TreeSandbox = { sandboxId: 'agent', lineage: 'restored', snapshots: [], running: true };
    await using tab = await fixture.signedIn();
    await fakeLineage(tab, { root, parent, sandboxes: 1, truncated: true });
    await tab.visit('#/sandboxes/agent?sandbox=earlier&snapshot=snap-earlier');
    const remark = tab.page.getByText('The lineage is longer than this part of it.');
    const link = remark.getByRole('link', { name: 'Show the earlier part' });
    assert.equal(await link.getAttribute('href'), '#/sandboxes/earlier');
    const page = tab.details.getByRole('link', { name: 'Show it on the page of its sandbox' });
    assert.equal(
      await page.getAttribute('href'),
      '#/sandboxes/earlier?sandbox=earlier&snapshot=snap-earlier',
    );
  });

  test('shows HTML in labels as text', async () => {
    const label = '<img src=x onerror=alert(1)> & "so on"';
    await fixture.world.exec('odd', 'echo x >file');
    await fixture.world.snapshot('odd', { label });
    await using tab = await fixture.atSandbox('odd');
    assert.ok((await tab.node('Snapshot').innerText()).includes(label));
  });

  test('isolates the text direction of labels', async () => {
    const label = 'keep \u202Edeteled ton si';
    await fixture.world.exec('bidi', 'echo x >file');
    await fixture.world.snapshot('bidi', { label });
    await using tab = await fixture.atSandbox('bidi');
    const labels = tab.node('Snapshot').locator('bdi').filter({ hasText: label });
    assert.equal(await labels.count(), 2);
  });

  for (const width of [1280, 800, 390, 320])
    test(`shows all badges and readable names at ${width} pixels`, async () => {
      await using tab = await fixture.signedIn(undefined, { viewport: { width, height: 900 } });
      await fakeLineage(tab, deep);
      await tab.sandbox('agent');
      assert.deepEqual(await tab.evaluate(CLIPPED_BADGES), []);
      const names = `Math.min(...[...document.querySelectorAll('.row .name')].slice(1).map((at) => at.clientWidth))`;
      assert.ok((await tab.evaluate<number>(names)) >= 90, `${await tab.evaluate(names)} pixels`);
    });
});

describe('a page', () => {
  let first: SnapshotRef;

  before(async () => {
    await fixture.world.exec('places', 'echo x >file');
    first = await fixture.world.snapshot('places', { label: 'first' });
  });

  test('has an address that includes the selection', async () => {
    await using tab = await fixture.signedIn();
    await tab.visit(`#/sandboxes/places?sandbox=places&snapshot=${first.ref.snapshotId}`);
    await tab.details.getByRole('heading', { name: 'first' }).waitFor();
    assert.equal(await tab.node('Snapshot first').getAttribute('aria-selected'), 'true');
  });

  test('is reached by the browser’s back and forward buttons', async () => {
    await using tab = await fixture.signedIn();
    await tab.field(OPEN).fill('places');
    await tab.button('Open').click();
    await tab.node('Snapshot first').click();
    await tab.details.getByRole('heading', { name: 'first' }).waitFor();
    await tab.page.goBack();
    await tab.details.getByRole('heading', { name: 'places' }).waitFor();
    await tab.page.goBack();
    await tab.page.getByRole('heading', { name: 'Workspaces' }).waitFor();
    await tab.page.goForward();
    await tab.page.goForward();
    await tab.details.getByRole('heading', { name: 'first' }).waitFor();
  });

  test('of a workspace is opened by its name after an @', async () => {
    await fixture.world.workspace('desk', 'crew').create();
    await using tab = await fixture.signedIn();
    await tab.field(OPEN).fill('@crew/desk');
    await tab.button('Open').click();
    await tab.page.getByRole('heading', { name: 'desk', exact: true }).waitFor();
    assert.equal(await tab.evaluate('location.hash'), '#/workspaces/crew/desk');
  });

  test('of the name of a workspace, taken for the id of a sandbox, is that of the workspace', async () => {
    await fixture.world.workspace('mistaken').create();
    await using tab = await fixture.signedIn();
    await tab.field(OPEN).fill('mistaken');
    await tab.button('Open').click();
    await tab.page.getByRole('heading', { name: 'mistaken', exact: true }).waitFor();
  });

  for (const address of ['#/nowhere', '#/workspaces/%', '#/sandboxes/']) {
    test(`with the invalid address ${address} says that it is unknown`, async () => {
      await using tab = await fixture.signedIn(address);
      await tab.page.getByRole('heading', { name: 'Unknown page' }).waitFor();
    });
  }

  test('of a snapshot outside of the lineage says so', async () => {
    await using tab = await fixture.signedIn();
    await tab.visit('#/sandboxes/places?sandbox=places&snapshot=snap-none');
    await tab.details.getByText('is not in this lineage').waitFor();
  });
});

describe('a change by another user', () => {
  let ref: SnapshotRef;
  let tab: Tab;

  before(async () => {
    await fixture.world.exec('shared', 'echo x >file');
    ref = await fixture.world.snapshot('shared', { label: 'early' });
  });
  beforeEach(async () => {
    tab = await fixture.atSandbox('shared');
  });
  afterEach(() => tab[Symbol.asyncDispose]());

  test('appears automatically, and keeps the focus and the selection', async () => {
    await tab.node('Snapshot early').click();
    await tab.details.getByRole('heading', { name: 'early' }).waitFor();
    await fixture.world.snapshot('shared', { label: 'by another user' });
    await tab.node('Snapshot by another user').waitFor();
    assert.equal(await focusedRow(tab), 'Snapshot early');
    assert.equal(await tab.node('Snapshot early').getAttribute('aria-selected'), 'true');
  });

  test('appears in the details', async () => {
    await tab.node('Snapshot early').click();
    await tab.button('Pin').waitFor();
    await fixture.world.rpc('pin', { ref });
    await tab.button('Unpin').waitFor();
  });

  test('that is absent renders nothing', async () => {
    await tab.evaluate(`(() => {
      globalThis.changed = [];
      const tree = document.querySelector('[role=tree]');
      new MutationObserver((records) => changed.push(...records)).observe(tree, { subtree: true, childList: true, attributes: true });
    })()`);
    const response = tab.page.waitForResponse('**/v1/lineage');
    await tab.button('Refresh').click();
    await (await response).finished();
    await tab.page.getByText('Updated just now').waitFor();
    assert.equal(await tab.evaluate('changed.length'), 0);
  });

  test('that cannot be read leaves the last tree, with the reason', async () => {
    await tab.page.route('**/v1/lineage', (route) => route.abort());
    await tab.button('Refresh').click();
    await tab.page.getByText(/Last updated \d+ .* ago: The Worker can’t be reached/).waitFor();
    await tab.node('Snapshot early').waitFor();
    await tab.page.unroute('**/v1/lineage');
    await tab.button('Try again').click();
    await tab.page.getByText(/Updated just now/).waitFor();
  });
});

test('a lineage of 500 sandboxes is shown completely, and End focuses the last one', async () => {
  const sandbox = (at: number): TreeSandbox => ({
    sandboxId: `agent-restored-${String(at).padStart(8, '0')}`,
    lineage: 'restored',
    running: at % 3 === 0,
    snapshots: [],
  });
  const derived = Array.from({ length: 499 }, (_, at) => sandbox(at));
  const snapshot = {
    snapshotId: 'snap-0',
    label: 'base',
    state: 'ready',
    pinned: false,
    dependents: [],
    derived,
  } as const;
  await using tab = await fixture.signedIn();
  await fakeLineage(tab, {
    root: { sandboxId: 'agent', snapshots: [{ ...snapshot, dependents: [] }] },
    sandboxes: 500,
    truncated: false,
  });
  await tab.sandbox('agent');
  assert.equal(await tab.page.getByRole('treeitem').count(), 501);
  await tab.node('Sandbox agent').focus();
  await press(tab, ['End'], 'Sandbox agent-restored-00000498');
  assert.equal(
    await tab.evaluate('document.activeElement.getBoundingClientRect().bottom <= innerHeight'),
    true,
  );
});
