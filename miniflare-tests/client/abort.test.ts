// A signal of the client: it ends the wait at once, and the work where it gets there.

import assert from 'node:assert/strict';
import { describe, test } from 'node:test';

import { until } from '../world.ts';
import { TOKEN, Visit, type VisitOptions } from './visit.ts';

/** A visit in which the next archive is held until it is released. */
async function holding(options: VisitOptions = {}) {
  const [reached, released] = [Promise.withResolvers<void>(), Promise.withResolvers<void>()];
  const onCall = async ({ method }: { method: string }) => {
    if (method !== 'backup.createArchive') return;
    reached.resolve();
    await released.promise;
  };
  const visit = await Visit.start({ ...options, onCall });
  await visit.exec('agent', 'echo x > /workspace/file');
  const labels = () => visit.do({ do: 'all snapshots', options: { sandboxId: 'agent' } });
  return { visit, labels, reached: reached.promise, release: released.resolve };
}

const SNAPSHOT = { do: 'call', operation: 'snapshot', options: { sandboxId: 'agent', label: 'x' } } as const;

describe('a signal over RPC', () => {
  test('that has fired already lets nothing start', async () => {
    await using visit = await Visit.start();
    await visit.exec('agent', 'echo x > /workspace/file');
    await visit.do({ do: 'abort' });
    assert.equal((await visit.outcome({ ...SNAPSHOT, signal: true })).error?.code, 'ABORTED');
    assert.deepEqual(await visit.do({ do: 'all snapshots', options: { sandboxId: 'agent' } }), []);
  });

  test('ends the wait, and the work', async () => {
    const { visit, labels, reached, release } = await holding();
    await using _ = visit;
    const call = visit.outcome({ ...SNAPSHOT, signal: true });
    await reached;
    await visit.do({ do: 'abort' });
    const { error } = await call; // while the archive is still being held
    assert.deepEqual([error?.code, error?.className], ['ABORTED', 'TransientError']);
    release();
    await until(async () => (await labels()).length === 0);
  });

  test('that the platform does not let through ends the wait, and the work goes on', async () => {
    const { visit, labels, reached, release } = await holding({ signals: false });
    await using _ = visit;
    const call = visit.outcome({ ...SNAPSHOT, signal: true });
    await reached;
    await visit.do({ do: 'abort' });
    assert.equal((await call).error?.code, 'ABORTED');
    release();
    await until(async () => (await visit.call('get', { sandboxId: 'agent', label: 'x' })).state === 'ready');
    assert.deepEqual(await labels(), ['x']);
  });

  test('that does not fire is of no account, where it passes and where it does not', async () => {
    for (const signals of [true, false]) {
      await using visit = await Visit.start({ signals });
      await visit.exec('agent', 'echo x > /workspace/file');
      assert.equal((await visit.do({ ...SNAPSHOT, signal: true })).ref.originId, 'agent');
    }
  });
});

test('a signal over fetch ends the wait, and the work', async () => {
  const { visit, labels, reached, release } = await holding();
  await using _ = visit;
  const call = visit.outcome({ ...SNAPSHOT, way: { overFetch: true, token: TOKEN }, signal: true });
  await reached;
  await visit.do({ do: 'abort' });
  assert.equal((await call).error?.code, 'ABORTED');
  release();
  await until(async () => (await labels()).length === 0);
});
