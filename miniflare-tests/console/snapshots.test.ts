// What is done with snapshots in the console, and how it is told when that is refused or fails.

import assert from 'node:assert/strict';
import { beforeEach, describe, test } from 'node:test';

import type { SnapshotRef } from '../../client/src/index.ts';
import { Stage, type Tab } from './browser.ts';
import { isUnpacking } from '../world.ts';
import { hold, lookAgain, refuse, sent, tryOnce } from './calls.ts';

let failsToUnpack = false;
const stage = new Stage({
  onCall: (call) => {
    if (failsToUnpack && isUnpacking(call)) throw new Error('the disk is full');
  },
});

let origins = 0;
let origin: string;
let base: SnapshotRef;

beforeEach(async () => {
  failsToUnpack = false;
  origin = `origin-${++origins}`;
  await stage.world.exec(origin, 'head -c 100000 /dev/urandom >file');
  base = await stage.world.snapshot(origin, { label: 'base' });
});

/** A tab at the page of the origin, with its snapshot selected. */
async function atBase(): Promise<Tab> {
  const tab = await stage.atSandbox(origin);
  await tab.node('Snapshot base').click();
  await tab.details.getByText(base.ref.snapshotId).waitFor();
  return tab;
}

describe('a snapshot', () => {
  test('is taken with a label and options, and is selected then', async () => {
    await using tab = await stage.atSandbox(origin);
    await tab.button('Take a snapshot…').click();
    await tab.field('Label').fill('by hand');
    await tab.page.getByText('More options').click();
    await tab.field('Leave out').fill('*.log\n\nnode_modules\n');
    await tab.field('Goes after its last use').selectOption('hours');
    await tab.button('Take it').click();
    assert.match(await tab.told('was taken'), /“by hand” was taken: 1\d\d kB/);
    await tab.details.getByRole('heading', { name: 'by hand' }).waitFor();
    const { snapshots } = await stage.world.list(origin);
    const manifest = await stage.world.rpc('manifest', { ref: snapshots[0]?.ref });
    assert.deepEqual(manifest.excludes, ['*.log', 'node_modules']);
    assert.equal(manifest.expirationSeconds, 3600);
  });

  test('that can not be taken says why, and leaves the form as it is', async () => {
    await stage.world.sandbox(origin, 'destroy');
    await using tab = await stage.atSandbox(origin);
    await tab.button('Take a snapshot…').click();
    await tab.field('Label').fill('by hand');
    await tab.button('Take it').click();
    assert.match(await tab.failure('SANDBOX_NOT_RUNNING'), /wake/);
    assert.equal(await tab.field('Label').inputValue(), 'by hand');
  });

  test('is told with everything that is known of it', async () => {
    await using tab = await atBase();
    await tab.page.getByText('How it was captured and stored').click();
    const told = await tab.details.innerText();
    for (const known of [
      base.ref.snapshotId,
      '/workspace',
      `backups/${base.ref.backup.id}/data.sqsh`,
      'md5:',
    ])
      assert.ok(told.includes(known), `${known} in ${told}`);
    await tab.page.context().grantPermissions(['clipboard-read', 'clipboard-write']);
    await tab.button('Copy the ref').click();
    await tab.told('The ref was copied');
    const { providerId, ref } = JSON.parse(await tab.evaluate('navigator.clipboard.readText()'));
    assert.deepEqual({ providerId, ref }, { providerId: base.providerId, ref: base.ref });
  });

  test('is verified, check by check', async () => {
    await using tab = await atBase();
    await tab.button('Verify').click();
    const found = tab.page.getByRole('region', { name: 'Verification' });
    await found.getByText('Everything that could be checked is right.').waitFor();
    assert.match(await found.innerText(), /right\s+objects.*right\s+header.*right\s+checksum/s);
    await stage.world.delete(`backups/${base.ref.backup.id}/data.sqsh`);
    await tab.button('Verify').click();
    await found.getByText('Something is wrong with it.').waitFor();
    assert.match(await found.innerText(), /wrong\s+objects/);
  });

  test('is pinned and left to the policy again', async () => {
    await using tab = await atBase();
    await tab.button('Pin').click();
    await tab.node('Snapshot base').getByText('pinned').waitFor();
    assert.equal((await stage.world.get(base)).pinned, true);
    await tab.button('Unpin').click();
    await tab.button('Pin').waitFor();
    assert.equal((await stage.world.get(base)).pinned, false);
  });

  test('gets another label', async () => {
    await using tab = await atBase();
    await tab.button('Label…').click();
    await tab.field('Label').fill('better');
    await tab.button('Label it').click();
    await tab.node('Snapshot better').waitFor();
    await tab.details.getByRole('heading', { name: 'better' }).waitFor();
  });

  test('is deleted after a question, and not without one', async () => {
    await using tab = await atBase();
    const calls = sent(tab, 'delete');
    await tab.button('Delete…').click();
    await tab.dialog.waitFor();
    await tab.page.keyboard.press('Escape');
    await tab.dialog.waitFor({ state: 'detached' });
    assert.equal(await tab.evaluate('document.activeElement.innerText'), 'Delete…');
    assert.deepEqual(calls, []);
    await tab.button('Delete…').click();
    await tab.button('Delete').click();
    await tab.told('was deleted');
    await tab.node('Snapshot base').waitFor({ state: 'detached' });
    assert.deepEqual(await stage.world.labels(origin), []);
  });

  test('that others need goes only by a second, explicit yes', async () => {
    const dependent = (await stage.world.branch(base)).ref.sandboxId;
    await using tab = await atBase();
    const calls = sent(tab, 'delete');
    await tab.button('Delete…').click();
    assert.equal(await tab.dialog.getByRole('list', { name: 'Dependents' }).innerText(), dependent);
    assert.equal(await tab.field('Delete it all the same').count(), 0);
    await tab.button('Delete').click();
    const failure = await tab.failure('SNAPSHOT_HAS_DEPENDENTS');
    assert.ok(failure.includes(dependent), failure);
    assert.match(failure, /needs it until it has a snapshot of its own/);
    await tab.field('Delete it all the same').check();
    await tab.button('Delete by force').click();
    await tab.told('was deleted');
    await tab.node(`Snapshot ${base.ref.snapshotId} deleted`).waitFor();
    assert.deepEqual(
      calls.map(({ force }) => force),
      [undefined, true],
    );
  });
});

for (const [verb, made] of [
  ['Restore', 'restored'],
  ['Branch', 'branch'],
] as const) {
  describe(`${verb.toLowerCase()}`, () => {
    test('makes a new sandbox, tells its id, and selects it in the tree', async () => {
      await using tab = await atBase();
      await tab.button(verb).click();
      const [sandboxId = ''] = /origin-\d+-\w+-\w{8}/.exec(await tab.told('The new sandbox is')) ?? [];
      assert.match(sandboxId, new RegExp(`^${origin}-${made}-`));
      await tab.details.getByRole('heading', { name: sandboxId }).waitFor();
      assert.equal(await tab.node(`Sandbox ${sandboxId}`).getAttribute('aria-selected'), 'true');
      assert.equal(
        await stage.world.exec(sandboxId, 'sha256sum file'),
        await stage.world.exec(origin, 'sha256sum file'),
      );
    });
  });
}

describe('a restore', () => {
  test('is begun once, however often its button is pressed, and carries a key', async () => {
    await using tab = await atBase();
    const calls = sent(tab, 'restore');
    await tab.button('Restore').dblclick();
    await tab.button('Restore').press('Enter');
    await tab.told('The new sandbox is');
    assert.equal(calls.length, 1);
    assert.match(calls[0].idempotencyKey, /^[0-9a-f-]{36}$/);
    const { derived } = await stage.world.rpc('manifest', { ref: base });
    assert.equal(derived.length, 1);
  });

  test('that fails says why, what to do, and what became of the new sandbox', async () => {
    await using tab = await atBase();
    failsToUnpack = true;
    await tryOnce(tab, 'restore');
    await tab.button('Restore').click();
    const failure = await tab.failure('RESTORE_FAILED');
    assert.match(failure, /the disk is full/);
    assert.match(failure, /was destroyed/);
    assert.match(failure, /In the log as [0-9a-f]{16}/);
    assert.equal(await tab.page.getByRole('treeitem').count(), 2);
  });

  test('whose answer is lost is gone on with when it is begun again', async () => {
    await using tab = await atBase();
    const calls = sent(tab, 'restore');
    await tab.page.route('**/v1/restore', async (route) => {
      await route.fetch();
      await route.abort();
    });
    await tab.button('Restore').click();
    assert.match(await tab.failure('ANSWER_LOST'), /may have been done.*nothing is made twice/s);
    await tab.page.unroute('**/v1/restore');
    await tab.button('Restore').click();
    await tab.told('The new sandbox is');
    assert.equal(new Set(calls.map(({ idempotencyKey }) => idempotencyKey)).size, 1);
    assert.equal((await stage.world.rpc('manifest', { ref: base })).derived.length, 1);
  });

  test('that never came to the Worker made nothing, and says so', async () => {
    await using tab = await atBase();
    await refuse(tab, 'restore', 'SNAPSHOT_NOT_FOUND', 'not_found');
    await tab.button('Restore').click();
    assert.match(await tab.failure('SNAPSHOT_NOT_FOUND'), /No sandbox was made/);
  });

  test('that ends while somebody looks elsewhere leaves them there, with a link', async () => {
    await using tab = await atBase();
    const goOn = await hold(tab, 'restore');
    await tab.button('Restore').click();
    await tab.node(`Sandbox ${origin}`).click();
    await tab.button('Take a snapshot…').click();
    goOn();
    assert.match(await tab.told('The new sandbox is'), /Show it/);
    assert.equal(await tab.dialog.count(), 1);
    await tab.link('Show it').click();
    await tab.details.getByRole('heading', { name: `${origin}-restored-` }).waitFor();
    assert.equal(await tab.dialog.count(), 0);
  });

  test('that ends while something is asked leaves the question there', async () => {
    await using tab = await atBase();
    const goOn = await hold(tab, 'restore');
    await tab.button('Restore').click();
    await tab.button('Delete…').click();
    goOn();
    await tab.told(/The new sandbox is .* Show it/);
    await tab.dialog.getByText('is removed for good').waitFor();
  });

  test('that fails while somebody looks elsewhere is told at the head of the page', async () => {
    await using tab = await atBase();
    await refuse(tab, 'restore', 'INTERNAL', 'permanent');
    const goOn = await hold(tab, 'restore');
    await tab.button('Restore').click();
    await tab.node(`Sandbox ${origin}`).click();
    goOn();
    assert.match(await tab.failure('INTERNAL'), /The restore of “base” failed/);
    await tab.link('Back to it').click();
    await tab.details.getByRole('heading', { name: 'base' }).waitFor();
    await tab.button('Dismiss').click();
    await tab.page.getByRole('alert').waitFor({ state: 'detached' });
  });

  test('that is under way is not begun again by who comes back to its snapshot', async () => {
    await using tab = await atBase();
    const calls = sent(tab, 'restore');
    const goOn = await hold(tab, 'restore');
    await tab.button('Restore').click();
    await tab.node(`Sandbox ${origin}`).click();
    await tab.node('Snapshot base').click();
    assert.ok(await tab.button('Restore').isDisabled());
    await tab.button('Restore').press('Enter');
    goOn();
    await tab.told('The new sandbox is');
    assert.equal(calls.length, 1);
  });

  test('that ends after its user signed out is told to nobody', async () => {
    await using tab = await atBase();
    const goOn = await hold(tab, 'restore');
    await tab.button('Restore').click();
    await tab.button('Sign out').click();
    const answer = tab.page.waitForResponse('**/v1/restore');
    goOn();
    await (await answer).finished();
    await tab.signIn();
    assert.equal(await tab.page.getByRole('status').innerText(), '');
    assert.equal(await tab.page.getByRole('alert').count(), 0);
  });
});

describe('a question', () => {
  test('that is left while its answer is carried out says that it goes on, and what came of it', async () => {
    await using tab = await atBase();
    await refuse(tab, 'delete', 'INTERNAL', 'permanent');
    const goOn = await hold(tab, 'delete');
    await tab.button('Delete…').click();
    await tab.button('Delete').click();
    await tab.page.keyboard.press('Escape');
    await tab.told('It goes on.');
    assert.equal(await tab.dialog.count(), 0);
    goOn();
    assert.match(await tab.failure('INTERNAL'), /Deleting “base” failed/);
  });

  test('is gone with its place, and leaves the page in reach', async () => {
    await using tab = await stage.atSandbox(origin, { viewport: { width: 390, height: 800 } });
    await tab.node(`Sandbox ${origin}`).click();
    await tab.button('Take a snapshot…').click();
    await tab.dialog.waitFor();
    await tab.page.goBack();
    await tab.dialog.waitFor({ state: 'detached' });
    await tab.node(`Sandbox ${origin}`).click();
    await tab.button('Take a snapshot…').waitFor();
  });

  test('tells within itself what is told', async () => {
    await using tab = await atBase();
    await tab.button('Healthy').click();
    await tab.dialog.getByRole('status').waitFor({ state: 'attached' });
    assert.equal(await tab.page.getByRole('status').filter({ visible: true }).count(), 2);
  });

  test('shows a label within its own direction of writing', async () => {
    const label = 'keep \u202Edeteled ton si';
    await stage.world.snapshot(origin, { label });
    await using tab = await stage.atSandbox(origin);
    await tab.node('Snapshot keep').click();
    await tab.button('Delete…').click();
    assert.equal(await tab.dialog.locator('strong bdi').textContent(), label);
  });

  test('forgets a second yes when it comes to mean something else', async () => {
    await stage.world.branch(base);
    await using tab = await atBase();
    await tab.button('Delete…').click();
    await tab.button('Delete').click();
    await tab.field('Delete it all the same').check();
    await stage.world.rpc('pin', { ref: base });
    await tab.dialog.getByText('It is pinned').waitFor();
    assert.ok(!(await tab.field('Delete it all the same').isChecked()));
    await tab.button('Delete').waitFor();
  });
});

describe('the focus', () => {
  test('goes to what is shown when what had it was deleted', async () => {
    await using tab = await atBase();
    await tab.button('Delete…').click();
    await tab.button('Delete').click();
    await tab.told('was deleted');
    await tab.page.locator('section.details:focus').waitFor();
  });

  test('is with the page after signing in and out, which has its title', async () => {
    await using tab = await stage.open();
    assert.equal(await tab.page.title(), 'Sign in · Sandbox snapshots');
    await tab.signIn();
    await tab.page.locator('main:focus').waitFor();
    await tab.button('Sign out').click();
    await tab.page.locator('main.sign-in:focus').waitFor();
    assert.equal(await tab.page.title(), 'Sign in · Sandbox snapshots');
  });
});

describe('a manifest', () => {
  test('that can not be read again is shown as it was, with a remark', async () => {
    await using tab = await atBase();
    await refuse(tab, 'manifest', 'INTERNAL', 'permanent');
    await lookAgain(tab);
    await tab.details.getByText(/Not updated since .*INTERNAL.*read again by itself/).waitFor();
    await tab.details.getByText(base.ref.snapshotId).waitFor();
  });

  test('that is gone is not shown any more', async () => {
    await using tab = await atBase();
    await refuse(tab, 'manifest', 'SNAPSHOT_NOT_FOUND', 'not_found');
    await lookAgain(tab);
    await tab.failure('SNAPSHOT_NOT_FOUND');
    assert.equal(await tab.details.getByText(base.ref.snapshotId).count(), 0);
  });

  test('that the console can not show leaves the rest of the page, and is shown when it can', async () => {
    await using tab = await stage.atSandbox(origin);
    await tab.page.route('**/v1/manifest', (route) => route.fulfill({ json: {} }));
    await tab.node('Snapshot base').click();
    await tab.failure('CONSOLE_FAILED');
    await tab.button('Sign out').waitFor();
    await tab.page.unroute('**/v1/manifest');
    await tab.button('Show it again').click();
    await tab.node('Snapshot base').click();
    await tab.details.getByText(base.ref.snapshotId).waitFor();
  });
});
