// A snapshot of a workspace that a text selects: its id, its short ref or its label.

import assert from 'node:assert/strict';
import { test } from 'node:test';

import { clientOver, FakeTransport, failure, rpcError } from './fakes.ts';
import type { Call } from '../src/index.ts';

const id = 'snap-abcdefghij012345';
const address = { name: 'project', tenant: 'team' };

/** The handle of a workspace in which each label selects the snapshot `id`, and the calls that it makes. */
function workspace() {
  const transport = new FakeTransport(({ operation }: Call) =>
    operation === 'get' ? { snapshotId: id } : { ...address, changes: [] },
  );
  const calls = () =>
    transport.calls.map(({ operation, options }: Call) => {
      const { idempotencyKey: _, ...sent } = options as Record<string, unknown>;
      return [operation, sent];
    });
  return { handle: clientOver(transport).client.workspaces.handle(address), calls };
}

test('the Worker is asked for the id of the snapshot with a label', async () => {
  const { handle, calls } = workspace();
  await handle.rollback('good');
  await handle.start({ from: 'good', acceptStale: true });
  await handle.fork({ from: 'good' });
  const search = ['get', { ...address, label: 'good' }];
  assert.deepEqual(calls(), [
    search,
    ['workspaces/update', { ...address, currentSnapshotId: id }],
    search,
    ['workspaces/start', { ...address, from: id, acceptStale: true }],
    search,
    ['workspaces/fork', { ...address, from: id }],
  ]);
});

test('an id, a short ref and the `latest` snapshot of a fork are sent as they are', async () => {
  const { handle, calls } = workspace();
  await handle.rollback(id);
  await handle.start({ from: 'snap_short' });
  await handle.fork({ from: 'latest' });
  assert.deepEqual(
    calls().map(([operation]) => operation),
    ['workspaces/update', 'workspaces/start', 'workspaces/fork'],
  );
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

test('a failure of the search is reported as it is', async () => {
  const transport = new FakeTransport(() => {
    throw rpcError('POLICY_DENIED', 'policy_denied');
  });
  const handle = clientOver(transport).client.workspaces.handle(address);
  assert.equal((await failure(handle.rollback('good'))).code, 'POLICY_DENIED');
});
