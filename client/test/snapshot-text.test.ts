// A snapshot of a workspace that a text selects: its id, its short ref or its label.

import assert from 'node:assert/strict';
import { test } from 'node:test';

import { clientOver, FakeTransport } from './fakes.ts';
import type { Call } from '../src/index.ts';

const id = 'snap-abcdefghij012345';
const address = { name: 'project', tenant: 'team' };

/** The handle of a workspace, and the calls that it makes. */
function workspace() {
  const transport = new FakeTransport(() => ({ ...address, sandboxId: 'ws-1', changes: [] }));
  const calls = () =>
    transport.calls.map(({ operation, options }: Call) => {
      const { idempotencyKey: _, ...sent } = options as Record<string, unknown>;
      return [operation, sent];
    });
  return { handle: clientOver(transport).client.workspaces.handle(address), calls };
}

test('an id, a short ref and a label are sent as they are: the Worker finds the snapshot', async () => {
  const { handle, calls } = workspace();
  await handle.rollback('good');
  await handle.start({ from: 'snap_short', acceptStale: true });
  await handle.fork({ from: id });
  await handle.promote({ from: 'good' });
  assert.deepEqual(calls(), [
    ['workspaces/update', { ...address, currentSnapshotId: 'good' }],
    ['workspaces/start', { ...address, from: 'snap_short', acceptStale: true }],
    ['workspaces/fork', { ...address, from: id }],
    ['workspaces/promote', { ...address, from: 'good' }],
  ]);
});

test('two snapshots are compared in one call, by label, id or short ref', async () => {
  const { handle, calls } = workspace();
  await handle.diff('good', id, { limit: 5 });
  await handle.diff('snap_short', 'latest');
  assert.deepEqual(calls(), [
    ['diff', { limit: 5, from: { ...address, label: 'good' }, to: { ...address, snapshotId: id } }],
    ['diff', { from: { ref: 'snap_short' }, to: { ...address, label: 'latest' } }],
  ]);
});

test('the calls about one snapshot of a handle select it by label, id or short ref', async () => {
  const { handle, calls } = workspace();
  await handle.getSnapshot('good');
  await handle.labelSnapshot('latest', 'best', { replace: true });
  await handle.pinSnapshot(id);
  await handle.unpinSnapshot('snap_short');
  await handle.verifySnapshot('good');
  await handle.deleteSnapshot('good', { force: true });
  assert.deepEqual(calls(), [
    ['get', { ...address, label: 'good' }],
    ['label', { ...address, label: 'latest', newLabel: 'best', replace: true }],
    ['pin', { ...address, snapshotId: id }],
    ['unpin', { ref: 'snap_short' }],
    ['verify', { ...address, label: 'good' }],
    ['delete', { ...address, label: 'good', force: true }],
  ]);
});

test('files of a snapshot are restored to the workspace itself, also by a short ref', async () => {
  const { handle, calls } = workspace();
  await handle.files.restore('good', ['a'], { overwrite: true });
  await handle.files.restore('snap_short', ['a', 'b']);
  assert.deepEqual(calls(), [
    ['files/restore', { ...address, label: 'good', paths: ['a'], overwrite: true }],
    ['workspaces/getByName', address],
    ['files/restore', { ref: 'snap_short', paths: ['a', 'b'], to: 'ws-1' }],
  ]);
});

test('anything else than a text is refused as a snapshot, before a call', async () => {
  const { handle, calls } = workspace();
  const refused = /needs a snapshot as a text, got/;
  const wrong = [undefined, 5, { label: 'good' }] as never[];
  for (const snapshot of wrong)
    for (const call of [
      () => handle.diff(snapshot),
      () => handle.getSnapshot(snapshot),
      () => handle.labelSnapshot(snapshot, 'best'),
      () => handle.pinSnapshot(snapshot),
      () => handle.unpinSnapshot(snapshot),
      () => handle.verifySnapshot(snapshot),
      () => handle.deleteSnapshot(snapshot),
      () => handle.files.restore(snapshot, ['a']),
      () => handle.rollback(snapshot),
    ])
      await assert.rejects(call, refused);
  await assert.rejects(handle.diff('good', { limit: 1 } as never), refused);
  assert.deepEqual(calls(), []);
});

test('a file of a snapshot is read by its label', async () => {
  const { handle, calls } = workspace();
  await handle.files.read('a', { label: 'good' });
  assert.deepEqual(calls(), [['files/read', { ...address, label: 'good', path: 'a' }]]);
});

test('a handle needs a name', () => {
  const { client } = clientOver(new FakeTransport(() => ({})));
  assert.throws(() => client.workspaces.handle({} as never), /needs the name of a workspace, got undefined/);
});
