// Over HTTP, a workspace is used by its name and the labels of its snapshots, without the id of a sandbox or a snapshot.

import assert from 'node:assert/strict';
import { after, test } from 'node:test';

import { World } from '../world.ts';

const world = await World.start();
after(() => world[Symbol.asyncDispose]());

/** Runs a command in a workspace, and returns its output. */
async function run(name: string, command: string): Promise<string> {
  return (await world.http('exec', { name, command })).stdout;
}

test('a workspace goes back to a label, and lists the snapshots from before', async () => {
  const name = 'lab';
  await world.http('workspaces/getOrCreate', { name });
  await run(name, 'echo good > notes.txt');
  const good = await world.http('snapshot', { name, label: 'tests pass' });
  await run(name, 'echo worse > notes.txt');
  await world.http('workspaces/update', { name, currentSnapshotId: 'tests pass' });
  assert.equal(await run(name, 'cat notes.txt'), 'good\n');

  const { snapshots } = await world.http('list', { name });
  const ids = snapshots.map(({ snapshotId }: { snapshotId: string }) => snapshotId);
  assert.ok(ids.includes(good.snapshotId), 'the snapshot of the former sandbox is listed');
  const paged: string[] = [];
  let cursor: string | undefined;
  do {
    const page = await world.http('list', { name, limit: 1, cursor });
    paged.push(...page.snapshots.map(({ snapshotId }: { snapshotId: string }) => snapshotId));
    cursor = page.cursor;
  } while (cursor);
  assert.deepEqual(paged, ids);

  const { root } = await world.http('lineage', { name });
  assert.ok(JSON.stringify(root).includes(good.snapshotId));
  await world.http('workspaces/delete', { name });
});

test('forks, starts and promotions begin with a label', async () => {
  const name = 'work';
  await world.http('workspaces/getOrCreate', { name });
  await run(name, 'echo good > notes.txt');
  await world.http('snapshot', { name, label: 'good' });
  const worse = () => run(name, 'echo worse > notes.txt');
  await worse();
  await world.http('workspaces/fork', { name, newName: 'work-fork', from: 'good' });
  assert.equal(await run('work-fork', 'cat notes.txt'), 'good\n');
  await world.http('workspaces/start', { name, from: 'good' });
  assert.equal(await run(name, 'cat notes.txt'), 'good\n');
  await worse();
  await world.http('workspaces/promote', { name, from: 'good' });
  assert.equal(await run(name, 'cat notes.txt'), 'good\n');
  const error = await world.failure(world.http('workspaces/start', { name, from: 'goood' }));
  assert.equal(error.code, 'SNAPSHOT_NOT_FOUND');
  assert.match(error.remediation ?? '', /Did you mean "good"\?/);
  for (const each of [name, 'work-fork']) await world.http('workspaces/delete', { name: each });
});

test('checkpoints take the workspace beside the name of the checkpoint', async () => {
  const workspace = 'code';
  await world.http('workspaces/getOrCreate', { name: workspace });
  await run(workspace, 'echo one > a');
  await world.http('checkpoints/create', { workspace, name: 'cp' });
  await run(workspace, 'echo two > a');
  await world.http('checkpoints/restore', { workspace, name: 'cp' });
  assert.equal(await run(workspace, 'cat a'), 'one\n');
  const { checkpoints } = await world.http('checkpoints/list', { workspace });
  assert.deepEqual(
    checkpoints.map(({ name }: { name: string }) => name),
    ['cp'],
  );
  await world.http('workspaces/delete', { name: workspace });
});

test('an operation on a sandbox says how a workspace is selected', async () => {
  const both = await world.failure(world.http('snapshot', { name: 'any', sandboxId: 'agent-42' }));
  assert.equal(both.code, 'INVALID_ARGUMENT');
  assert.match(both.message, /both a workspace and a sandbox/);
  const policy = await world.failure(world.http('setRetention', { name: 'any', policy: {} }));
  assert.match(policy.remediation ?? '', /`workspaces\/update`/);
});
