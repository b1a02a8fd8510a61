// What is told of a sandbox besides its lineage: how long its snapshots are kept, and its checkpoints.

import assert from 'node:assert/strict';
import { beforeEach, describe, test } from 'node:test';

import { until } from '../world.ts';
import { Stage, type Tab } from './browser.ts';
import { lookAgain, sent } from './calls.ts';

const stage = new Stage();
let sandboxes = 0;
let sandboxId: string;

beforeEach(async () => {
  sandboxId = `sandbox-${++sandboxes}`;
  await stage.world.exec(sandboxId, 'printf "one\\ntwo\\n" >file');
});

/** A tab at one part of what is told of the sandbox. */
async function at(part: 'Retention' | 'Checkpoints'): Promise<Tab> {
  const tab = await stage.atSandbox(sandboxId);
  await tab.link(part).click();
  return tab;
}

describe('retention', () => {
  beforeEach(async () => {
    for (const label of ['old', 'middle', 'new']) await stage.world.snapshot(sandboxId, { label });
  });

  /** The plan as a table: label, decision, reasons. */
  async function plan(tab: Tab, name: string): Promise<string[]> {
    const rows = tab.page.getByRole('table', { name }).getByRole('row');
    await rows.nth(1).waitFor();
    const texts = await rows.allInnerTexts();
    return texts.slice(1).map((text) => text.replace(/\s+/g, ' '));
  }

  test('is told in words, with what it means for each snapshot and why', async () => {
    await using tab = await at('Retention');
    await tab.page.getByText('A snapshot goes 30 d after its last use.').waitFor();
    const rows = await plan(tab, 'What the policy means for each snapshot');
    assert.equal(rows.length, 3);
    for (const [row, label] of [
      [rows[0], 'new'],
      [rows[2], 'old'],
    ])
      assert.match(row ?? '', new RegExp(`^${label} .* stays `));
  });

  test('is changed only after its plan was seen', async () => {
    await using tab = await at('Retention');
    await tab.button('Change the policy…').click();
    await tab.field('Keep the newest').fill('1');
    await tab.button('Preview…').click();
    await tab.dialog.getByText('2 snapshots would go now, for good.').waitFor();
    const rows = await plan(tab, 'What would become of each snapshot');
    assert.deepEqual(
      rows.map((row) => row.includes(' goes ')),
      [false, true, true],
    );
    assert.deepEqual(await stage.world.labels(sandboxId), ['new', 'middle', 'old']);
    await tab.button('Set the policy').click();
    await tab.told('The policy is set; 2 snapshots went.');
    assert.deepEqual(await stage.world.labels(sandboxId), ['new']);
    await tab.page.getByText('The newest 1 stay; others go at once.').waitFor();
    await tab.node('Snapshot old').waitFor({ state: 'detached' });
  });

  test('is asked about again where its plan is another one by then', async () => {
    await using tab = await at('Retention');
    await tab.button('Change the policy…').click();
    await tab.field('Keep the newest').fill('1');
    await tab.button('Preview…').click();
    await tab.dialog.getByText('2 snapshots would go now, for good.').waitFor();
    await stage.world.snapshot(sandboxId, { label: 'newest' });
    await tab.button('Set the policy').click();
    await tab.dialog.getByText('Nothing was done: something changed').waitFor();
    await tab.dialog.getByText('3 snapshots would go now, for good.').waitFor();
    assert.deepEqual(await stage.world.labels(sandboxId), ['newest', 'new', 'middle', 'old']);
    await tab.button('Set the policy').click();
    await tab.told('The policy is set; 3 snapshots went.');
  });

  test('is applied after a look at what would go', async () => {
    await using tab = await at('Retention');
    await tab.button('Apply it now…').click();
    await tab.dialog.getByText('Nothing would go now.').waitFor();
    await tab.button('Apply it').click();
    await tab.told('The policy was applied; nothing went.');
  });
});

describe('what runs', () => {
  test('is asked at first and on demand, and told in between as it was', async () => {
    await using tab = await stage.signedIn();
    const calls = sent(tab, 'lineage');
    await tab.sandbox(sandboxId);
    await lookAgain(tab);
    await until(async () => calls.length === 2);
    await tab.page.getByText('Updated just now').waitFor();
    await tab.node(`Sandbox ${sandboxId} here running`).waitFor();
    await tab.button('Read again').click();
    await until(async () => calls.length === 3);
    assert.deepEqual(
      calls.map(({ check }) => check),
      [true, false, true],
    );
  });

  test('is not to be found under an id of which nothing is known, and that is said', async () => {
    await using tab = await stage.atSandbox('nobody');
    await tab.page.getByText('Nothing is known of nobody').waitFor();
  });
});

describe('checkpoints', () => {
  test('are made, compared with and gone back to', async () => {
    await using tab = await at('Checkpoints');
    await tab.page.getByText('There is no checkpoint yet.').waitFor();
    await tab.button('Make a checkpoint…').click();
    await tab.field('Name').fill('green');
    await tab.field('What it is of').fill('all tests pass');
    await tab.button('Make it').click();
    await tab.told('“green” was made');
    await tab.details.getByText('all tests pass').waitFor();

    await stage.world.exec(sandboxId, 'printf "one\\n--2\\n" >file');
    await tab.button('Compare with green').click();
    const diff = tab.page.locator('pre');
    await diff.waitFor();
    assert.deepEqual(await diff.locator('del').allInnerTexts(), ['-two\n']);
    assert.deepEqual(await diff.locator('ins').allInnerTexts(), ['+--2\n']);

    await tab.button('Go back to green…').click();
    await tab.dialog.getByText('What was written since is undone.').waitFor();
    await tab.button('Go back').click();
    await tab.told('The files are as they were at “green”: 1 path changed.');
    assert.equal(await stage.world.exec(sandboxId, 'cat file'), 'one\ntwo\n');
  });

  test('are shown 50 at a time', async () => {
    await stage.world.rpc('checkpoints/create', { sandboxId, name: 'oldest' });
    const { commit } = await stage.world.rpc('checkpoints/create', { sandboxId, name: 'newer' });
    await stage.world.exec(
      sandboxId,
      `for i in {1..60}; do echo "create refs/sandbox/snapshots/c$i ${commit}"; done | git update-ref --stdin`,
    );
    await using tab = await at('Checkpoints');
    const shown = tab.details.locator('.cards > li');
    await tab.button('Show older checkpoints').click();
    await tab.details.getByText('oldest', { exact: true }).waitFor();
    assert.equal(await shown.count(), 62);
    assert.equal(await tab.button('Show older checkpoints').count(), 0);
  });

  test('of a name that can not be are refused, and the remedy is told', async () => {
    await using tab = await at('Checkpoints');
    await tab.button('Make a checkpoint…').click();
    await tab.field('Name').fill('not a name');
    await tab.button('Make it').click();
    assert.match(await tab.failure('INVALID_CHECKPOINT_NAME'), /matches/);
  });

  test('of a sandbox that is asleep are not asked for', async () => {
    await stage.world.sandbox(sandboxId, 'destroy');
    await using tab = await at('Checkpoints');
    await tab.details.getByText('The sandbox is asleep.').waitFor();
    assert.ok(!tab.requests.some((address) => address.includes('checkpoints')));
  });
});
