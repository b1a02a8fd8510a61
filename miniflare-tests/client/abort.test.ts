// The signals of the client, which end the wait, and abort the operation if they reach the snapshotter.

import assert from 'node:assert/strict';
import { describe, test } from 'node:test';

import { until } from '../world.ts';
import { ClientFixture, TOKEN, type FixtureOptions } from './fixture.ts';

/** Creates a fixture that blocks the creation of archives until `release` is called. */
async function blockedFixture(options: FixtureOptions = {}) {
  const [reached, released] = [Promise.withResolvers<void>(), Promise.withResolvers<void>()];
  const onCall = async ({ method }: { method: string }) => {
    if (method !== 'backup.createArchive') return;
    reached.resolve();
    await released.promise;
  };
  const fixture = await ClientFixture.start({ ...options, onCall });
  await fixture.exec('agent', 'echo x > /workspace/file');
  const labels = () => fixture.do({ do: 'all snapshots', options: { sandboxId: 'agent' } });
  return { fixture, labels, reached: reached.promise, release: released.resolve };
}

const SNAPSHOT = { do: 'call', operation: 'snapshot', options: { sandboxId: 'agent', label: 'x' } } as const;

describe('a signal over RPC', () => {
  test('that has already fired prevents the call', async () => {
    await using fixture = await ClientFixture.start();
    await fixture.exec('agent', 'echo x > /workspace/file');
    await fixture.do({ do: 'abort' });
    assert.equal((await fixture.outcome({ ...SNAPSHOT, signal: true })).error?.code, 'ABORTED');
    assert.deepEqual(await fixture.do({ do: 'all snapshots', options: { sandboxId: 'agent' } }), []);
  });

  test('ends the wait, and aborts the operation', async () => {
    const { fixture, labels, reached, release } = await blockedFixture();
    await using _ = fixture;
    const call = fixture.outcome({ ...SNAPSHOT, signal: true });
    await reached;
    await fixture.do({ do: 'abort' });
    const { error } = await call; // while the archive is still blocked
    assert.deepEqual([error?.code, error?.className], ['ABORTED', 'TransientError']);
    release();
    await until(async () => (await labels()).length === 0);
  });

  test('that the platform does not pass ends the wait, and the operation continues', async () => {
    const { fixture, labels, reached, release } = await blockedFixture({ signals: false });
    await using _ = fixture;
    const call = fixture.outcome({ ...SNAPSHOT, signal: true });
    await reached;
    await fixture.do({ do: 'abort' });
    assert.equal((await call).error?.code, 'ABORTED');
    release();
    await until(
      async () => (await fixture.call('get', { sandboxId: 'agent', label: 'x' })).state === 'ready',
    );
    assert.deepEqual(await labels(), ['x']);
  });

  test('that does not fire has no effect, whether the platform passes it or not', async () => {
    for (const signals of [true, false]) {
      await using fixture = await ClientFixture.start({ signals });
      await fixture.exec('agent', 'echo x > /workspace/file');
      assert.equal((await fixture.do({ ...SNAPSHOT, signal: true })).ref.originId, 'agent');
    }
  });
});

test('a signal over fetch ends the wait, and aborts the operation', async () => {
  const { fixture, labels, reached, release } = await blockedFixture();
  await using _ = fixture;
  const call = fixture.outcome({ ...SNAPSHOT, route: { overFetch: true, token: TOKEN }, signal: true });
  await reached;
  await fixture.do({ do: 'abort' });
  assert.equal((await call).error?.code, 'ABORTED');
  release();
  await until(async () => (await labels()).length === 0);
});
