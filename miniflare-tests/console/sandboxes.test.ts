// Tests of a sandbox's details: retention, whether it is running, and checkpoints.

import assert from 'node:assert/strict';
import { beforeEach, describe, test } from 'node:test';

import { until } from '../world.ts';
import { ConsoleFixture, type Tab } from './browser.ts';
import { recordBodies, triggerRead } from './calls.ts';

const fixture = new ConsoleFixture();
let sandboxes = 0;
let sandboxId: string;

beforeEach(async () => {
  sandboxId = `sandbox-${++sandboxes}`;
  await fixture.world.exec(sandboxId, 'printf "one\\ntwo\\n" >file');
});

/** Opens a tab of the sandbox's details. */
async function open(part: 'Retention' | 'Checkpoints'): Promise<Tab> {
  const tab = await fixture.atSandbox(sandboxId);
  await tab.link(part).click();
  return tab;
}

describe('the retention tab', () => {
  beforeEach(async () => {
    for (const label of ['old', 'middle', 'new']) await fixture.world.snapshot(sandboxId, { label });
  });

  /** Returns the rows of a plan's table: label, decision, reasons. */
  async function planRows(tab: Tab, name: string): Promise<string[]> {
    const rows = tab.page.getByRole('table', { name }).getByRole('row');
    await rows.nth(1).waitFor();
    const texts = await rows.allInnerTexts();
    return texts.slice(1).map((text) => text.replace(/\s+/g, ' '));
  }

  test('shows the policy in sentences, and its decision about each snapshot', async () => {
    await using tab = await open('Retention');
    await tab.page.getByText('Snapshots expire 30 d after their last use.').waitFor();
    const rows = await planRows(tab, 'Effect of the policy on each snapshot');
    assert.equal(rows.length, 3);
    assert.match(rows[2] ?? '', /it expires at \w+ \d+, \d{4}, \d+:\d\d/);
    const reasons = tab.page.getByRole('row', { name: /^new / }).getByRole('listitem');
    assert.deepEqual(await reasons.allInnerTexts(), ['the newest snapshot that can be restored']);
    for (const [row, label] of [
      [rows[0], 'new'],
      [rows[2], 'old'],
    ])
      assert.match(row ?? '', new RegExp(`^${label} .* keep `));
  });

  test('changes the policy only after the user saw its plan', async () => {
    await using tab = await open('Retention');
    await tab.button('Change the policy…').click();
    await tab.field('Newest snapshots to keep').fill('1');
    await tab.button('Preview…').click();
    await tab.dialog.getByText('2 snapshots would be removed permanently now.').waitFor();
    const rows = await planRows(tab, 'Planned effect on each snapshot');
    assert.deepEqual(
      rows.map((row) => row.includes(' remove ')),
      [false, true, true],
    );
    assert.deepEqual(await fixture.world.labels(sandboxId), ['new', 'middle', 'old']);
    await tab.button('Set policy').click();
    await tab.notice('The policy was set; 2 snapshots removed.');
    assert.deepEqual(await fixture.world.labels(sandboxId), ['new']);
    await tab.page.getByText('Snapshots that are not among the newest 1 are removed at once.').waitFor();
    await tab.node('Snapshot old').waitFor({ state: 'detached' });
  });

  test('asks again if the plan has changed', async () => {
    await using tab = await open('Retention');
    await tab.button('Change the policy…').click();
    await tab.field('Newest snapshots to keep').fill('1');
    await tab.button('Preview…').click();
    await tab.dialog.getByText('2 snapshots would be removed permanently now.').waitFor();
    await fixture.world.snapshot(sandboxId, { label: 'newest' });
    await tab.button('Set policy').click();
    await tab.dialog.getByText('Nothing was done: the plan has changed.').waitFor();
    await tab.dialog.getByText('3 snapshots would be removed permanently now.').waitFor();
    assert.deepEqual(await fixture.world.labels(sandboxId), ['newest', 'new', 'middle', 'old']);
    await tab.button('Set policy').click();
    await tab.notice('The policy was set; 3 snapshots removed.');
  });

  test('applies the policy after the user saw its plan', async () => {
    await using tab = await open('Retention');
    await tab.button('Apply now…').click();
    await tab.dialog.getByText('No snapshot would be removed now.').waitFor();
    await tab.button('Apply policy').click();
    await tab.notice('The policy was applied; 0 snapshots removed.');
  });
});

describe('the status of sandboxes', () => {
  test('is checked on the first read and on a refresh, and reused in between', async () => {
    await using tab = await fixture.signedIn();
    const calls = recordBodies(tab, 'lineage');
    await tab.sandbox(sandboxId);
    await triggerRead(tab);
    await until(async () => calls.length === 2);
    await tab.page.getByText('Updated just now').waitFor();
    await tab.node(`Sandbox ${sandboxId} current running`).waitFor();
    await tab.button('Refresh').click();
    await until(async () => calls.length === 3);
    assert.deepEqual(
      calls.map(({ check }) => check),
      [true, false, true],
    );
  });
});

describe('an unknown sandbox', () => {
  test('leads to a remark', async () => {
    await using tab = await fixture.signedIn('#/sandboxes/unknown');
    await tab.page.getByText('The sandbox unknown is not running and has no snapshots.').waitFor();
    await tab.page.getByText('No workspace of the default tenant has this name.').waitFor();
  });

  test('has neither a tree nor a button that takes a snapshot', async () => {
    await using tab = await fixture.signedIn('#/sandboxes/unknown');
    await tab.page.getByText('The sandbox unknown is not running').waitFor();
    assert.equal(await tab.page.getByRole('tree').count(), 0);
    assert.equal(await tab.button('Take a snapshot…').count(), 0);
  });

  test('with the name of a workspace leads to the workspace', async () => {
    await fixture.world.workspace('named').create();
    const listed = async () => (await fixture.world.rpc('workspaces/list', {})).workspaces.length;
    await until(async () => (await listed()) === 1);
    await using tab = await fixture.signedIn('#/usage/default');
    await tab.page.getByRole('heading', { name: 'Usage' }).waitFor();
    await tab.field('Sandbox id, or @name of a workspace').fill('named');
    await tab.button('Open').click();
    await tab.page.getByRole('heading', { name: 'named', exact: true }).waitFor();
    assert.ok(tab.page.url().endsWith('#/workspaces/default/named'));
    await tab.page.goBack();
    await tab.page.getByRole('heading', { name: 'Usage' }).waitFor();
  });

  test('has its remark in one piece', async () => {
    await using tab = await fixture.signedIn('#/sandboxes/an-unknown-sandbox', {
      viewport: { width: 390, height: 800 },
    });
    const remark = tab.page.locator('.remark');
    await remark.waitFor();
    assert.deepEqual(
      await remark.evaluate((at) => [...at.childNodes].map(({ nodeName }) => nodeName.toLowerCase())),
      ['svg', 'span'],
    );
  });
});

test('the dialog of a new snapshot says that a container has ended', async () => {
  await fixture.world.snapshot(sandboxId);
  await using tab = await fixture.atSandbox(sandboxId);
  await tab.button('Take a snapshot…').click();
  await tab.dialog.getByText('The sandbox keeps running.').waitFor();
  await tab.button('Cancel').click();
  await fixture.world.sandbox(sandboxId, 'destroy');
  await tab.button('Refresh').click();
  await tab.node(`Sandbox ${sandboxId} current ended`).waitFor();
  await tab.button('Take a snapshot…').click();
  await tab.dialog.getByText('Its container has ended, with its files').waitFor();
  assert.equal(await tab.dialog.getByText('keeps running').count(), 0);
});

describe('checkpoints', () => {
  test('are created, compared and restored', async () => {
    await using tab = await open('Checkpoints');
    await tab.page.getByText('No checkpoints yet.').waitFor();
    await tab.button('Create a checkpoint…').click();
    await tab.field('Name').fill('green');
    await tab.field('Description').fill('all tests pass');
    await tab.button('Create').click();
    await tab.notice('“green” was created');
    await tab.details.getByText('all tests pass').waitFor();

    await fixture.world.exec(sandboxId, 'printf "one\\n--2\\n" >file');
    await tab.button('Compare with green').click();
    const diff = tab.dialog.locator('pre');
    await diff.waitFor();
    assert.deepEqual(await diff.locator('del').allInnerTexts(), ['-two\n']);
    assert.deepEqual(await diff.locator('ins').allInnerTexts(), ['+--2\n']);
    await tab.button('Close').click();

    await tab.button('Restore green…').click();
    await tab.dialog.getByText('Changes since the checkpoint are undone.').waitFor();
    await tab.button('Restore checkpoint').click();
    await tab.notice(
      'The checkpoint “green” was restored: 1 path changed. To undo that, restore “before-restore”.',
    );
    assert.equal(await fixture.world.exec(sandboxId, 'cat file'), 'one\ntwo\n');
    await tab.button('Restore before-restore…').click();
    await tab.button('Restore checkpoint').click();
    await tab.notice('To undo that, restore “before-restore-2”.');
    assert.equal(await fixture.world.exec(sandboxId, 'cat file'), 'one\n--2\n');
  });

  test('are compared in a dialog as wide as the page, with a list of the files', async () => {
    await fixture.world.rpc('checkpoints/create', { sandboxId, name: 'green' });
    await fixture.world.exec(sandboxId, 'echo three >>file; seq 300 >long; echo x >zebra');
    await using tab = await open('Checkpoints');
    await tab.button('Compare with green').click();
    const files = tab.dialog.getByRole('navigation', { name: 'Changed files' });
    await files.waitFor();
    assert.deepEqual(
      (await files.getByRole('listitem').allInnerTexts()).map((text) => text.replace(/\s+/g, ' ')),
      ['file +1 −0', 'long +300 −0', 'zebra +1 −0'],
    );
    assert.ok(((await tab.dialog.boundingBox())?.width ?? 0) > 1200);
    await files.getByRole('button', { name: 'zebra' }).click();
    await tab.dialog.getByRole('heading', { name: 'zebra' }).and(tab.page.locator(':focus')).waitFor();
  });

  test('are listed 50 at a time', async () => {
    await fixture.world.rpc('checkpoints/create', { sandboxId, name: 'oldest' });
    const { commit } = await fixture.world.rpc('checkpoints/create', { sandboxId, name: 'newer' });
    await fixture.world.exec(
      sandboxId,
      `for i in {1..60}; do echo "create refs/sandbox/snapshots/c$i ${commit}"; done | git update-ref --stdin`,
    );
    await using tab = await open('Checkpoints');
    const shown = tab.details.locator('.cards > li');
    await tab.button('Show older checkpoints').click();
    await tab.details.getByText('oldest', { exact: true }).waitFor();
    assert.equal(await shown.count(), 62);
    assert.equal(await tab.button('Show older checkpoints').count(), 0);
  });

  test('with an invalid name are refused with a remediation', async () => {
    await using tab = await open('Checkpoints');
    await tab.button('Create a checkpoint…').click();
    await tab.field('Name').fill('not a name');
    await tab.button('Create').click();
    assert.match(await tab.failure('INVALID_CHECKPOINT_NAME'), /matches/);
  });

  test('are not listed after the container ended', async () => {
    await fixture.world.snapshot(sandboxId);
    await fixture.world.sandbox(sandboxId, 'destroy');
    await using tab = await open('Checkpoints');
    await tab.details.getByText('The container has ended.').waitFor();
    assert.ok(!tab.requests.some((address) => address.includes('checkpoints')));
  });
});
