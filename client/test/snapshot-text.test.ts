// A snapshot of a workspace that a text selects: its id, its short ref or its label.

import assert from 'node:assert/strict';
import { test } from 'node:test';

import { clientOver, FakeTransport } from './fakes.ts';
import type { Call } from '../src/index.ts';

const id = 'snap-abcdefghij012345';
const address = { name: 'project', tenant: 'team' };

/** The handle of a workspace, and the calls that it makes. */
function workspace() {
  const transport = new FakeTransport(() => ({ ...address, changes: [] }));
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
