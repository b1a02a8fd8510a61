// The lineage, as it is seen, heard and walked through.

import assert from 'node:assert/strict';
import { afterEach, before, beforeEach, describe, test } from 'node:test';

import type { SnapshotRef, Tree, TreeSandbox, TreeSnapshot } from '../../client/src/index.ts';
import { until } from '../world.ts';
import { Stage, Tab } from './browser.ts';

const stage = new Stage();

/** The row that has the focus. */
const focused = (tab: Tab) =>
  tab.evaluate<string | undefined>('document.activeElement.querySelector(".unseen")?.textContent');

/** Presses keys, and waits until the focus is at a row. */
async function press(tab: Tab, keys: string[], row: string) {
  for (const key of keys) await tab.page.keyboard.press(key);
  await until(async () => (await focused(tab)) === row);
}

/** Answers the console's question for a lineage with this one. */
async function pretend(tab: Tab, tree: Tree) {
  await tab.page.route('**/v1/lineage', (route) => route.fulfill({ json: tree }));
}

/** Twelve generations, each with all the signs there are and a long name. */
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

/** The signs of which a part is not to be seen. */
const CUT = `[...document.querySelectorAll('.row .badge')].filter((badge) => {
  const { left, right, top, bottom } = badge.getBoundingClientRect();
  const row = badge.closest('.row').getBoundingClientRect();
  return left < row.left || right > row.right || top < row.top || bottom > row.bottom;
}).map((badge) => badge.outerHTML)`;

describe('the tree', () => {
  let base: SnapshotRef;
  let branch: string;

  before(async () => {
    await stage.world.exec('agent', 'head -c 5000 /dev/urandom >file');
    base = await stage.world.snapshot('agent', { label: 'base' });
    branch = (await stage.world.branch(base)).ref.sandboxId;
    await stage.world.rpc('pin', { ref: base });
    await stage.world.snapshot('agent', { label: 'later', expirationSeconds: 86_400 });
  });

  test('says of every sandbox and snapshot what is to be known at a glance', async () => {
    await using tab = await stage.atSandbox('agent');
    const told = (await tab.tree()).replaceAll(/ (just now|\d+ s ago)/g, '');
    assert.equal(
      told,
      [
        '- tree "Lineage":',
        '  - treeitem "Sandbox agent here running" [expanded] [level=1] [selected]',
        '  - treeitem "Snapshot later expires in 23 h 8.2 kB" [level=2]',
        '  - treeitem "Snapshot base pinned needed by 1 8.2 kB" [expanded] [level=2]',
        `  - treeitem "Sandbox ${branch} running branched" [level=3]`,
      ].join('\n'),
    );
  });

  test('marks the sandbox that the page is about, wherever it stands', async () => {
    await using tab = await stage.atSandbox(branch);
    assert.equal(await tab.node(`Sandbox ${branch}`).getAttribute('aria-current'), 'true');
    assert.equal(await tab.page.locator('[aria-current=true]').count(), 1);
  });

  test('is walked through by the keyboard', async () => {
    await using tab = await stage.atSandbox('agent');
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
    assert.equal(await focused(tab), 'Snapshot later');
  });

  test('is opened and closed by a mark that is large enough', async () => {
    await using tab = await stage.atSandbox('agent');
    const twist = tab.node('Snapshot base').locator('.twist');
    const { width = 0, height = 0 } = (await twist.boundingBox()) ?? {};
    assert.ok(width >= 24 && height >= 24, `${width} × ${height}`);
    await twist.click();
    await tab.node(`Sandbox ${branch}`).waitFor({ state: 'detached' });
    assert.equal(await tab.node('Sandbox agent').getAttribute('aria-selected'), 'true');
  });

  test('keeps the place of a snapshot that is gone, where something was made from it', async () => {
    await stage.world.exec('lost', 'echo x >file');
    const ref = await stage.world.snapshot('lost');
    const { sandboxId } = (await stage.world.restore(ref)).ref;
    await stage.world.rpc('delete', { ref, force: true });
    await using tab = await stage.atSandbox('lost');
    await tab.node(`Snapshot ${ref.ref.snapshotId} deleted`).click();
    await tab.details.getByText('deleted', { exact: true }).waitFor();
    await tab.node(`Sandbox ${sandboxId} running restored`).waitFor();
  });

  test('says what could not be looked at', async () => {
    const root: TreeSandbox = { sandboxId: 'agent', snapshots: [], problem: 'Its workspace did not answer.' };
    await using tab = await stage.signedIn();
    await pretend(tab, { root, sandboxes: 1, truncated: true });
    await tab.sandbox('agent');
    await tab.page.getByText('There is more than could be looked at').waitFor();
    await tab.node('Sandbox agent here problem').waitFor();
    await tab.details.getByText('Its workspace did not answer.').waitFor();
  });

  test('shows texts as they are, whatever they are', async () => {
    const label = '<img src=x onerror=alert(1)> & "so on"';
    await stage.world.exec('odd', 'echo x >file');
    await stage.world.snapshot('odd', { label });
    await using tab = await stage.atSandbox('odd');
    assert.ok((await tab.node('Snapshot').innerText()).includes(label));
  });

  test('lets no text change the direction of what stands beside it', async () => {
    const label = 'keep \u202Edeteled ton si';
    await stage.world.exec('bidi', 'echo x >file');
    await stage.world.snapshot('bidi', { label });
    await using tab = await stage.atSandbox('bidi');
    const whole = tab.node('Snapshot').locator('bdi').filter({ hasText: label });
    assert.equal(await whole.count(), 2);
  });

  for (const width of [1280, 800, 390, 320])
    test(`shows its signs whole, and a name of each, at ${width} pixels`, async () => {
      await using tab = await stage.signedIn(undefined, { viewport: { width, height: 900 } });
      await pretend(tab, deep);
      await tab.sandbox('agent');
      assert.deepEqual(await tab.evaluate(CUT), []);
      const names = `Math.min(...[...document.querySelectorAll('.row .name')].slice(1).map((at) => at.clientWidth))`;
      assert.ok((await tab.evaluate<number>(names)) >= 90, `${await tab.evaluate(names)} pixels`);
    });
});

describe('a place', () => {
  let first: SnapshotRef;

  before(async () => {
    await stage.world.exec('places', 'echo x >file');
    first = await stage.world.snapshot('places', { label: 'first' });
  });

  test('has an address that leads to it, with what is selected', async () => {
    await using tab = await stage.signedIn();
    await tab.visit(`#/sandboxes/places?sandbox=places&snapshot=${first.ref.snapshotId}`);
    await tab.details.getByRole('heading', { name: 'first' }).waitFor();
    assert.equal(await tab.node('Snapshot first').getAttribute('aria-selected'), 'true');
  });

  test('is come back to by the browser’s buttons', async () => {
    await using tab = await stage.signedIn();
    await tab.field('Sandbox id').fill('places');
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

  for (const address of ['#/nowhere', '#/workspaces/%', '#/sandboxes/']) {
    test(`that does not exist, as ${address}, is the first one`, async () => {
      await using tab = await stage.signedIn(address);
      await tab.page.getByRole('heading', { name: 'Workspaces' }).waitFor();
    });
  }

  test('of a snapshot that is not in the lineage says so', async () => {
    await using tab = await stage.signedIn();
    await tab.visit('#/sandboxes/places?sandbox=places&snapshot=snap-none');
    await tab.details.getByText('is not in this lineage').waitFor();
  });
});

describe('what others change', () => {
  let ref: SnapshotRef;
  let tab: Tab;

  before(async () => {
    await stage.world.exec('shared', 'echo x >file');
    ref = await stage.world.snapshot('shared', { label: 'early' });
  });
  beforeEach(async () => {
    tab = await stage.atSandbox('shared');
  });
  afterEach(() => tab[Symbol.asyncDispose]());

  test('shows up by itself, and leaves focus and selection where they are', async () => {
    await tab.node('Snapshot early').click();
    await tab.details.getByRole('heading', { name: 'early' }).waitFor();
    await stage.world.snapshot('shared', { label: 'by somebody else' });
    await tab.node('Snapshot by somebody else').waitFor();
    assert.equal(await focused(tab), 'Snapshot early');
    assert.equal(await tab.node('Snapshot early').getAttribute('aria-selected'), 'true');
  });

  test('is shown in the details too', async () => {
    await tab.node('Snapshot early').click();
    await tab.button('Pin').waitFor();
    await stage.world.rpc('pin', { ref });
    await tab.button('Unpin').waitFor();
  });

  test('that is nothing draws nothing again', async () => {
    await tab.evaluate(`(() => {
      globalThis.changed = [];
      const tree = document.querySelector('[role=tree]');
      new MutationObserver((seen) => changed.push(...seen)).observe(tree, { subtree: true, childList: true, attributes: true });
    })()`);
    const again = tab.page.waitForResponse('**/v1/lineage');
    await tab.button('Read again').click();
    await (await again).finished();
    await tab.page.getByText('Updated just now').waitFor();
    assert.equal(await tab.evaluate('changed.length'), 0);
  });

  test('can not be read for a while: that is told, and what was read stays', async () => {
    await tab.page.route('**/v1/lineage', (route) => route.abort());
    await tab.button('Read again').click();
    await tab.page.getByText(/Not updated.*ANSWER_LOST/).waitFor();
    await tab.node('Snapshot early').waitFor();
    await tab.page.unroute('**/v1/lineage');
    await tab.button('Read again').click();
    await tab.page.getByText(/Updated just now/).waitFor();
  });
});

test('a lineage of five hundred sandboxes is shown whole, and its last one is a key away', async () => {
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
  await using tab = await stage.signedIn();
  await pretend(tab, {
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
