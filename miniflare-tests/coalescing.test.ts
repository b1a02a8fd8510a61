// Concurrent snapshots of one sandbox by many callers.

import assert from 'node:assert/strict';
import { afterEach, beforeEach, test } from 'node:test';
import { fileURLToPath } from 'node:url';

import { isArchiving, until, World } from './world.ts';
import type { SnapshotRef, TakenSnapshot } from '../client/src/index.ts';

let world: World;
let reached: PromiseWithResolvers<void>;
let release: PromiseWithResolvers<void>;
let archives: number;

beforeEach(async () => {
  reached = Promise.withResolvers();
  release = Promise.withResolvers();
  archives = 0;
  world = await World.start({
    onCall: async (call) => {
      if (!isArchiving(call)) return;
      archives += 1;
      reached.resolve();
      await release.promise;
    },
  });
  await world.exec('agent', 'echo first > file');
});
afterEach(() => world[Symbol.asyncDispose]());

/** Waits until all calls so far have arrived. It makes calls that the same Workspace object answers after them. */
async function awaitArrival(ref: SnapshotRef) {
  for (let round = 0; round < 5; round += 1) {
    assert.equal((await world.failure(world.restore(ref))).code, 'BACKUP_NOT_FOUND');
  }
}

/** Returns a ref of the sandbox whose backup is missing. */
async function refWithoutBackup(): Promise<SnapshotRef> {
  release.resolve();
  const ref = await world.snapshot('agent');
  for (const key of await world.objects()) await world.delete(key);
  [reached, release, archives] = [Promise.withResolvers(), Promise.withResolvers(), 0];
  return ref;
}

test('fifty calls over RPC and HTTP share one backup', async () => {
  const missing = await refWithoutBackup();
  const calls = Array.from({ length: 50 }, (_, index) => {
    const options = { sandboxId: 'agent' };
    return index % 2 ? world.http('snapshot', options) : world.rpc('snapshot', options);
  });
  await reached.promise;
  await awaitArrival(missing);
  release.resolve();
  const answers: TakenSnapshot[] = await Promise.all(calls);
  assert.equal(new Set(answers.map(({ ref }) => ref.snapshotId)).size, 1);
  assert.equal(answers.filter(({ capture }) => capture.shared).length, 49);
  assert.equal(archives, 1);
  assert.equal((await world.objects()).length, 2);
});

test('a call with fresh returns a new backup, which has the files written during the first one', async () => {
  const first = world.snapshot('agent');
  await reached.promise;
  await world.exec('agent', 'echo second > file');
  const second = world.snapshot('agent', { fresh: true });
  release.resolve();
  const [early, late] = await Promise.all([first, second]);
  assert.notEqual(early.ref.snapshotId, late.ref.snapshotId);
  assert.ok((late.capture?.beganAt ?? '') >= early.ref.createdAt);
  const { ref } = await world.restore(late);
  assert.equal(await world.exec(ref.sandboxId, 'cat file'), 'second\n');
});

test('a call with other options waits, and takes its own snapshot', async () => {
  const plain = world.snapshot('agent');
  await reached.promise;
  const labeled = world.snapshot('agent', { label: 'other' });
  assert.equal(archives, 1);
  release.resolve();
  const [one, two] = await Promise.all([plain, labeled]);
  assert.notEqual(one.ref.snapshotId, two.ref.snapshotId);
  assert.equal((await world.objects()).length, 4);
});

test('the answer is accepted as a ref', async () => {
  release.resolve();
  const answer = await world.snapshot('agent');
  assert.deepEqual(Object.keys(answer).sort(), ['capture', 'providerId', 'ref', 'shortRef', 'snapshotId']);
  const { ref } = await world.restore(answer);
  assert.equal(await world.exec(ref.sandboxId, 'cat file'), 'first\n');
});

test('a snapshot without the binding of the workspaces fails, and the remediation names the binding', async () => {
  await using unbound = await World.start({ snapshotter: { without: ['Workspace'] } });
  const error = await unbound.failure(unbound.snapshot('agent'));
  assert.equal(error.code, 'WORKSPACE_BINDING_MISSING');
  assert.match(error.remediation ?? '', /name = "Workspace"/);
});

test('a Workspace object works after a reset of the WebAssembly module', async () => {
  const main = fileURLToPath(new URL('./caller/resets.mjs', import.meta.url));
  await using resets = await World.start({ snapshotter: { main } });
  await resets.exec('agent', 'echo captured > file');
  await resets.snapshot('agent');
  await resets.rpc('reset');
  const { ref } = await resets.restore(await resets.snapshot('agent'));
  assert.equal(await resets.exec(ref.sandboxId, 'cat file'), 'captured\n');
});

test('captures beyond the length of the queue fail with SANDBOX_BUSY, and the queued ones succeed', async () => {
  const first = world.snapshot('agent');
  await reached.promise;
  const calls = Array.from({ length: 40 }, (_, index) =>
    world.snapshot('agent', { label: `label ${index}` }),
  );
  const refused = Promise.all(
    calls.map((call) =>
      call.then(
        () => undefined,
        ({ code }) => code,
      ),
    ),
  );
  await until(async () => world.log.filter((line) => line.includes('SANDBOX_BUSY')).length === 9);
  release.resolve();
  await first;
  assert.deepEqual(
    (await refused).filter((code) => code !== undefined),
    Array(9).fill('SANDBOX_BUSY'),
  );
});
