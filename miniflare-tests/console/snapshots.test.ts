// What is done with snapshots in the console, and how it is told when that is refused or fails.

import assert from 'node:assert/strict';
import { beforeEach, describe, test } from 'node:test';

import type { SnapshotRef } from '../../client/src/index.ts';
import { Stage, type Tab } from './browser.ts';

let failsAt: string | undefined;
const stage = new Stage({
  onCall: ({ command }) => {
    if (failsAt !== undefined && command?.includes(failsAt)) throw new Error('the disk is full');
  },
});

let origins = 0;
let origin: string;
let base: SnapshotRef;

beforeEach(async () => {
  failsAt = undefined;
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

/** The bodies of the requests for an operation, as they are sent from now on. */
function sent(tab: Tab, operation: string): any[] {
  const bodies: any[] = [];
  tab.page.on('request', (request) => {
    if (new URL(request.url()).pathname === `/v1/${operation}`) bodies.push(request.postDataJSON());
  });
  return bodies;
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
    const holder = (await stage.world.branch(base)).ref.sandboxId;
    await using tab = await atBase();
    const calls = sent(tab, 'delete');
    await tab.button('Delete…').click();
    assert.equal(await tab.dialog.getByRole('list', { name: 'Holders' }).innerText(), holder);
    assert.equal(await tab.field('Delete it all the same').count(), 0);
    await tab.button('Delete').click();
    const failure = await tab.failure('SNAPSHOT_HELD');
    assert.ok(failure.includes(holder), failure);
    assert.match(failure, /holds it until it has a snapshot of its own/);
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

  test('that fails says why, what to do, and that nothing was left behind', async () => {
    await using tab = await atBase();
    failsAt = 'unsquashfs';
    await tab.button('Restore').click();
    const failure = await tab.failure('RESTORE_FAILED');
    assert.match(failure, /the disk is full/);
    assert.match(failure, /was destroyed/);
    assert.match(failure, /Nothing was left behind/);
    assert.match(failure, /In the log as [0-9a-f]{16}/);
    assert.equal(await tab.page.getByRole('treeitem').count(), 2);
  });

  test('whose answer is lost does not claim to know', async () => {
    await using tab = await atBase();
    await tab.page.route('**/v1/restore', (route) => route.abort());
    await tab.button('Restore').click();
    assert.match(await tab.failure('ANSWER_LOST'), /Whether a sandbox was made is not known/);
  });
});
