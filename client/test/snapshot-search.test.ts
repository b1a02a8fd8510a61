// The search of a snapshot of a workspace by its label.

import assert from 'node:assert/strict';
import { test } from 'node:test';

import { clientOver, FakeTransport, failure, rpcError } from './fakes.ts';
import type { Call } from '../src/index.ts';

const sandboxes = { sandboxId: 'ws-3', formerSandboxIds: ['ws-2', 'ws-1'] };
const id = 'snap-abcdefghij012345';

/** The handle of a workspace whose sandboxes have these snapshots: an id or more for each `sandbox label`. */
function workspaceWith(snapshots: Record<string, string | object>) {
  const keys = Object.keys(snapshots).map((key) => key.split(' '));
  const labelsOf = (sandbox: string) => keys.filter(([id]) => id === sandbox).map(([, label]) => ({ label }));
  const transport = new FakeTransport(({ operation, options }: Call) => {
    if (operation === 'workspaces/getByName') return { name: 'project', ...sandboxes };
    if (operation === 'list') return { snapshots: labelsOf(String(options.sandboxId)) };
    if (operation !== 'get') return { name: 'project', changes: [] };
    const found = snapshots[`${options.sandboxId} ${options.label}`];
    if (!found) throw rpcError('SNAPSHOT_NOT_FOUND', 'not_found');
    const summary = typeof found === 'string' ? { snapshotId: found } : found;
    return { state: 'ready', createdAt: '2026-01-01T00:00:00.000Z', ...summary };
  });
  const handle = clientOver(transport).client.workspaces.handle({ name: 'project' });
  const lastSent = () => {
    const { idempotencyKey: _, ...sent } = transport.calls.at(-1)?.options as Record<string, unknown>;
    return sent;
  };
  return { handle, transport, lastSent };
}

test('a label selects the snapshot of the present or of a former sandbox that has it', async () => {
  const { handle, lastSent } = workspaceWith({ 'ws-2 good': id });
  await handle.rollback('good');
  assert.deepEqual(lastSent(), { name: 'project', currentSnapshotId: id });
  await handle.start({ from: 'good', acceptStale: true });
  assert.deepEqual(lastSent(), { name: 'project', from: id, acceptStale: true });
  await handle.fork({ from: 'good' });
  assert.deepEqual(lastSent(), { name: 'project', from: id });
});

test('an id, a short ref and `latest` are sent without a search', async () => {
  const { handle, transport } = workspaceWith({});
  await handle.rollback(id);
  await handle.start({ from: 'snap_short' });
  await handle.fork({ from: 'latest' });
  assert.deepEqual(
    transport.calls.map(({ operation }: Call) => operation),
    ['workspaces/update', 'workspaces/start', 'workspaces/fork'],
  );
});

test('two snapshots are compared by label, id or short ref', async () => {
  const { handle, lastSent } = workspaceWith({ 'ws-1 good': 'snap-1' });
  await handle.diff('good', id, { limit: 5 });
  const good = { name: 'project', snapshotId: 'snap-1' };
  assert.deepEqual(lastSent(), { limit: 5, from: good, to: { name: 'project', snapshotId: id } });
  await handle.diff('snap_short', 'good');
  assert.deepEqual(lastSent(), { from: { ref: 'snap_short' }, to: good });
});

test('of the snapshots with a label, the newest one is meant', async () => {
  const old = { snapshotId: 'snap-old', createdAt: '2026-01-01T00:00:00.000Z' };
  const recent = { snapshotId: 'snap-recent', createdAt: '2026-01-02T00:00:00.000Z' };
  for (const snapshots of [
    { 'ws-3 good': recent, 'ws-1 good': old },
    { 'ws-3 good': old, 'ws-1 good': recent },
    { 'ws-2 good': recent, 'ws-1 good': { ...recent, snapshotId: 'snap-of-an-older-sandbox' } },
  ]) {
    const { handle, lastSent } = workspaceWith(snapshots);
    await handle.rollback('good');
    assert.deepEqual(lastSent(), { name: 'project', currentSnapshotId: 'snap-recent' });
  }
});

test('a capture in progress has the label only once it is complete', async () => {
  const capture = { snapshotId: 'snap-new', createdAt: '2026-01-02T00:00:00.000Z', state: 'creating' };
  const { handle, lastSent } = workspaceWith({ 'ws-3 good': capture, 'ws-1 good': id });
  await handle.rollback('good');
  assert.deepEqual(lastSent(), { name: 'project', currentSnapshotId: id });
});

test('`latest` is the newest complete snapshot of the present sandbox, or else the restored one', async () => {
  const creating = { snapshotId: 'snap-creating', state: 'creating' };
  const listed = (snapshots: object[]) =>
    new FakeTransport(({ operation }: Call) => {
      if (operation === 'workspaces/getByName')
        return { name: 'project', ...sandboxes, restoredFrom: { snapshotId: 'snap-restored' } };
      if (operation === 'get') throw rpcError('SNAPSHOT_NOT_FOUND', 'not_found');
      return operation === 'list' ? { snapshots } : { name: 'project' };
    });
  const latestOf = async (snapshots: object[]) => {
    const transport = listed(snapshots);
    await clientOver(transport).client.workspaces.handle({ name: 'project' }).rollback('latest');
    return transport.calls.at(-1)?.options.currentSnapshotId;
  };
  assert.equal(await latestOf([creating, { snapshotId: id, state: 'ready' }]), id);
  assert.equal(await latestOf([creating]), 'snap-restored');
});

test('a snapshot with the label `latest` precedes the newest one', async () => {
  const { handle, lastSent } = workspaceWith({ 'ws-1 latest': id });
  await handle.rollback('latest');
  assert.deepEqual(lastSent(), { name: 'project', currentSnapshotId: id });
});

test('an unknown label is not found, and the remediation says how to list the existing ones', async () => {
  const error = await failure(workspaceWith({}).handle.rollback('oen'));
  assert.equal(error.code, 'SNAPSHOT_NOT_FOUND');
  assert.match(error.message, /"project" has the label "oen".*snapshots\(\)/);
});

test('the error of an unknown label names those of the newest snapshots', async () => {
  const { handle } = workspaceWith({ 'ws-3 one': id, 'ws-2 two': id, 'ws-1 one': id });
  const error = await failure(handle.rollback('oen'));
  assert.match(error.message, /The newest ones are "one", "two"\.$/);
});

test('another failure of the search is reported as it is', async () => {
  const transport = new FakeTransport(({ operation }: Call) => {
    if (operation === 'get') throw rpcError('POLICY_DENIED', 'policy_denied');
    return { name: 'project', ...sandboxes };
  });
  const handle = clientOver(transport).client.workspaces.handle({ name: 'project' });
  assert.equal((await failure(handle.rollback('good'))).code, 'POLICY_DENIED');
});
