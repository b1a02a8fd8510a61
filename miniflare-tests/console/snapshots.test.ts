// Tests of the actions on snapshots, and of the notices and failures that they show.

import assert from 'node:assert/strict';
import { beforeEach, describe, test } from 'node:test';

import type { TakenSnapshot } from '../../client/src/index.ts';
import { isUnpacking } from '../world.ts';
import { ConsoleFixture } from './browser.ts';
import { delayCalls, disableRetries, failCalls, recordBodies, triggerRead } from './calls.ts';

let unpackFails = false;
const fixture = new ConsoleFixture({
  onCall: (call) => {
    if (unpackFails && isUnpacking(call)) throw new Error('the disk is full');
  },
});

let origins = 0;
let origin: string;
let base: TakenSnapshot;

beforeEach(async () => {
  unpackFails = false;
  origin = `origin-${++origins}`;
  await fixture.world.exec(origin, 'head -c 100000 /dev/urandom >file');
  base = await fixture.world.snapshot(origin, { label: 'base' });
});

describe('a snapshot', () => {
  test('is taken with a label and options, and is then selected', async () => {
    await using tab = await fixture.atSandbox(origin);
    await tab.button('Take a snapshot…').click();
    await tab.field('Label').fill('by hand');
    await tab.page.getByText('More options').click();
    await tab.field('Exclude').fill('*.log\n\nnode_modules\n');
    await tab.field('Expires after its last use').selectOption('hours');
    await tab.button('Take snapshot').click();
    assert.match(await tab.notice('was taken'), /“by hand” was taken: 1\d\d kB/);
    await tab.details.getByRole('heading', { name: 'by hand' }).waitFor();
    const { snapshots } = await fixture.world.list(origin);
    const manifest = await fixture.world.rpc('manifest', { ref: snapshots[0]?.ref });
    assert.deepEqual(manifest.excludes, ['*.log', 'node_modules']);
    assert.equal(manifest.expirationSeconds, 3600);
    const form = tab.details.locator('dl > div').filter({ hasText: /^Form/ });
    await form.getByText(/all files, except the excluded ones$/).waitFor();
    await tab.details.getByText('they will be missing in the new sandbox').waitFor();
  });

  test('that cannot be taken shows the reason and keeps the form', async () => {
    await fixture.world.sandbox(origin, 'destroy');
    await using tab = await fixture.atSandbox(origin);
    await tab.button('Take a snapshot…').click();
    await tab.field('Label').fill('by hand');
    await tab.button('Take snapshot').click();
    assert.match(await tab.failure('SANDBOX_NOT_RUNNING'), /wake/);
    assert.equal(await tab.field('Label').inputValue(), 'by hand');
  });

  test('is shown with its manifest', async () => {
    await using tab = await fixture.atSnapshot(base);
    await tab.page.getByText('Capture and storage').click();
    const details = await tab.details.innerText();
    for (const expected of [
      base.ref.snapshotId,
      '/workspace',
      `backups/${base.ref.backup.id}/data.sqsh`,
      'md5:',
    ])
      assert.ok(details.includes(expected), `${expected} in ${details}`);
    await tab.page.context().grantPermissions(['clipboard-read', 'clipboard-write']);
    await tab.button('Copy the ref').click();
    await tab.notice('The ref was copied');
    const { providerId, ref } = JSON.parse(await tab.evaluate('navigator.clipboard.readText()'));
    assert.deepEqual({ providerId, ref }, { providerId: base.providerId, ref: base.ref });
  });

  test('is verified with a result for each check', async () => {
    await using tab = await fixture.atSnapshot(base);
    await tab.button('Verify').click();
    const verification = tab.page.getByRole('region', { name: 'Verification' });
    await verification.getByText('No check failed.').waitFor();
    assert.match(await verification.innerText(), /passed\s+objects.*passed\s+header.*passed\s+checksum/s);
    await fixture.world.delete(`backups/${base.ref.backup.id}/data.sqsh`);
    await tab.button('Verify').click();
    await verification.getByText('A check failed.').waitFor();
    assert.match(await verification.innerText(), /failed\s+objects/);
  });

  test('is pinned and unpinned', async () => {
    await using tab = await fixture.atSnapshot(base);
    await tab.button('Pin').click();
    await tab.node('Snapshot base').getByText('pinned').waitFor();
    assert.equal((await fixture.world.get(base)).pinned, true);
    await tab.button('Unpin').click();
    await tab.button('Pin').waitFor();
    assert.equal((await fixture.world.get(base)).pinned, false);
  });

  test('gets a new label', async () => {
    await using tab = await fixture.atSnapshot(base);
    await tab.button('Label…').click();
    await tab.field('Label').fill('better');
    await tab.button('Save label').click();
    await tab.node('Snapshot better').waitFor();
    await tab.details.getByRole('heading', { name: 'better' }).waitFor();
  });
});

for (const [button, kind] of [
  ['Restore', 'restored'],
  ['Branch', 'branch'],
] as const) {
  describe(`${button.toLowerCase()}`, () => {
    test('creates a sandbox, shows its id, and selects it in the tree', async () => {
      await using tab = await fixture.atSnapshot(base);
      await tab.button(button).click();
      const [sandboxId = ''] = /origin-\d+-\w+-\w{8}/.exec(await tab.notice('The new sandbox is')) ?? [];
      assert.match(sandboxId, new RegExp(`^${origin}-${kind}-`));
      await tab.details.getByRole('heading', { name: sandboxId }).waitFor();
      assert.equal(await tab.node(`Sandbox ${sandboxId}`).getAttribute('aria-selected'), 'true');
      assert.equal(
        await fixture.world.exec(sandboxId, 'sha256sum file'),
        await fixture.world.exec(origin, 'sha256sum file'),
      );
    });
  });
}

describe('a restore', () => {
  test('runs once for several clicks, with an idempotency key', async () => {
    await using tab = await fixture.atSnapshot(base);
    const calls = recordBodies(tab, 'restore');
    await tab.button('Restore').dblclick();
    await tab.button('Restore').press('Enter');
    await tab.notice('The new sandbox is');
    assert.equal(calls.length, 1);
    assert.match(calls[0].idempotencyKey, /^[0-9a-f-]{36}$/);
    const { derived } = await fixture.world.rpc('manifest', { ref: base });
    assert.equal(derived.length, 1);
  });

  test('that fails shows the cause, the remediation and what happened to the new sandbox', async () => {
    await using tab = await fixture.atSnapshot(base);
    unpackFails = true;
    await disableRetries(tab, 'restore');
    await tab.button('Restore').click();
    const failure = await tab.failure('RESTORE_FAILED');
    assert.match(failure, /the disk is full/);
    assert.match(failure, /was destroyed/);
    assert.match(failure, /Correlation id [0-9a-f]{16}/);
    assert.equal(await tab.page.getByRole('treeitem').count(), 2);
  });

  test('whose answer is lost continues when it is repeated', async () => {
    await using tab = await fixture.atSnapshot(base);
    const calls = recordBodies(tab, 'restore');
    await tab.page.route('**/v1/restore', async (route) => {
      await route.fetch();
      await route.abort();
    });
    await tab.button('Restore').click();
    const failure = await tab.failure('The Worker can’t be reached.');
    assert.match(failure, /may have completed.*nothing is created twice/s);
    assert.doesNotMatch(failure, /ANSWER_LOST|idempotency/);
    await tab.page.unroute('**/v1/restore');
    await tab.button('Try again').click();
    await tab.notice('The new sandbox is');
    assert.equal(new Set(calls.map(({ idempotencyKey }) => idempotencyKey)).size, 1);
    assert.equal((await fixture.world.rpc('manifest', { ref: base })).derived.length, 1);
  });

  test('that fails before a sandbox is created says so', async () => {
    await using tab = await fixture.atSnapshot(base);
    await failCalls(tab, 'restore', 'SNAPSHOT_NOT_FOUND', 'not_found');
    await tab.button('Restore').click();
    assert.match(await tab.failure('SNAPSHOT_NOT_FOUND'), /No sandbox was created/);
  });

  test('that ends after the user went to another page shows a link to its result', async () => {
    await using tab = await fixture.atSnapshot(base);
    const proceed = await delayCalls(tab, 'restore');
    await tab.button('Restore').click();
    await tab.node(`Sandbox ${origin}`).click();
    await tab.button('Take a snapshot…').click();
    proceed();
    assert.match(await tab.notice('The new sandbox is'), /Show$/);
    assert.equal(await tab.dialog.count(), 1);
    await tab.link('Show').click();
    await tab.details.getByRole('heading', { name: `${origin}-restored-` }).waitFor();
    assert.equal(await tab.dialog.count(), 0);
  });

  test('that ends while a dialog is open leaves the dialog open', async () => {
    await using tab = await fixture.atSnapshot(base);
    const proceed = await delayCalls(tab, 'restore');
    await tab.button('Restore').click();
    await tab.button('Delete…').click();
    proceed();
    await tab.notice(/The new sandbox is .* Show/);
    await tab.dialog.getByText('is deleted permanently').waitFor();
  });

  test('that fails after the user went to another page is shown at the top of the page', async () => {
    await using tab = await fixture.atSnapshot(base);
    await failCalls(tab, 'restore', 'INTERNAL', 'permanent');
    const proceed = await delayCalls(tab, 'restore');
    await tab.button('Restore').click();
    await tab.node(`Sandbox ${origin}`).click();
    proceed();
    assert.match(await tab.failure('INTERNAL'), /The restore of “base” failed/);
    await tab.link('Open its page').click();
    await tab.details.getByRole('heading', { name: 'base' }).waitFor();
    await tab.button('Dismiss').click();
    await tab.page.getByRole('alert').waitFor({ state: 'detached' });
  });

  test('that is in progress cannot be started again from the page of its snapshot', async () => {
    await using tab = await fixture.atSnapshot(base);
    const calls = recordBodies(tab, 'restore');
    const proceed = await delayCalls(tab, 'restore');
    await tab.button('Restore').click();
    await tab.node(`Sandbox ${origin}`).click();
    await tab.node('Snapshot base').click();
    assert.ok(await tab.button('Restore').isDisabled());
    await tab.button('Restore').press('Enter');
    proceed();
    await tab.notice('The new sandbox is');
    assert.equal(calls.length, 1);
  });

  test('that ends after the user signed out shows no notice', async () => {
    await using tab = await fixture.atSnapshot(base);
    const proceed = await delayCalls(tab, 'restore');
    await tab.button('Restore').click();
    await tab.button('Sign out').click();
    const answer = tab.page.waitForResponse('**/v1/restore');
    proceed();
    await (await answer).finished();
    await tab.signIn();
    assert.equal(await tab.page.getByRole('status').innerText(), '');
    assert.equal(await tab.page.getByRole('alert').count(), 0);
  });
});

describe('a dialog', () => {
  test('that is closed during its action says that the action continues, and shows its failure later', async () => {
    await using tab = await fixture.atSnapshot(base);
    await failCalls(tab, 'delete', 'INTERNAL', 'permanent');
    const proceed = await delayCalls(tab, 'delete');
    await tab.button('Delete…').click();
    await tab.button('Delete').click();
    await tab.page.keyboard.press('Escape');
    await tab.notice('The operation continues.');
    assert.equal(await tab.dialog.count(), 0);
    proceed();
    assert.match(await tab.failure('INTERNAL'), /Deleting “base” failed/);
  });

  test('closes when the user goes to another page, which stays usable', async () => {
    await using tab = await fixture.atSandbox(origin, { viewport: { width: 390, height: 800 } });
    await tab.node(`Sandbox ${origin}`).click();
    await tab.button('Take a snapshot…').click();
    await tab.dialog.waitFor();
    await tab.page.goBack();
    await tab.dialog.waitFor({ state: 'detached' });
    await tab.node(`Sandbox ${origin}`).click();
    await tab.button('Take a snapshot…').waitFor();
  });

  test('contains the live region for notices', async () => {
    await using tab = await fixture.atSnapshot(base);
    await tab.button('Healthy').click();
    await tab.dialog.getByRole('status').waitFor({ state: 'attached' });
    assert.equal(await tab.page.getByRole('status').filter({ visible: true }).count(), 2);
  });

  test('isolates the text direction of a label', async () => {
    const label = 'keep \u202Edeteled ton si';
    await fixture.world.snapshot(origin, { label });
    await using tab = await fixture.atSandbox(origin);
    await tab.node('Snapshot keep').click();
    await tab.button('Delete…').click();
    assert.equal(await tab.dialog.locator('strong bdi').textContent(), label);
  });
});

describe('the focus', () => {
  test('moves to the details when the focused element was deleted', async () => {
    await using tab = await fixture.atSnapshot(base);
    await tab.button('Delete…').click();
    await tab.button('Delete').click();
    await tab.notice('was deleted');
    await tab.page.locator('section.details:focus').waitFor();
  });

  test('moves to the page after signing in and out', async () => {
    await using tab = await fixture.open();
    assert.equal(await tab.page.title(), 'Sign in · Sandbox snapshots');
    await tab.signIn();
    await tab.page.locator('main:focus').waitFor();
    await tab.button('Sign out').click();
    await tab.page.locator('main.sign-in:focus').waitFor();
    assert.equal(await tab.page.title(), 'Sign in · Sandbox snapshots');
  });
});

describe('a manifest', () => {
  test('that can no longer be read stays, with a remark', async () => {
    await using tab = await fixture.atSnapshot(base);
    await failCalls(tab, 'manifest', 'INTERNAL', 'permanent');
    await triggerRead(tab);
    await tab.details.getByText(/Last updated \d+ .* ago: INTERNAL.*retries automatically/).waitFor();
    await tab.details.getByText(base.ref.snapshotId).waitFor();
  });

  test('that no longer exists is replaced by the failure', async () => {
    await using tab = await fixture.atSnapshot(base);
    await failCalls(tab, 'manifest', 'SNAPSHOT_NOT_FOUND', 'not_found');
    await triggerRead(tab);
    await tab.failure('SNAPSHOT_NOT_FOUND');
    assert.equal(await tab.details.getByText(base.ref.snapshotId).count(), 0);
  });

  test('that cannot be rendered leaves the rest of the page usable, and is shown after a retry', async () => {
    await using tab = await fixture.atSandbox(origin);
    await tab.page.route('**/v1/manifest', (route) => route.fulfill({ json: {} }));
    await tab.node('Snapshot base').click();
    await tab.failure('CONSOLE_FAILED');
    await tab.button('Sign out').waitFor();
    await tab.page.unroute('**/v1/manifest');
    await tab.button('Try again').click();
    await tab.node('Snapshot base').click();
    await tab.details.getByText(base.ref.snapshotId).waitFor();
  });
});
