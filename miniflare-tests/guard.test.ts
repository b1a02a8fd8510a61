// Snapshots of one sandbox that are asked for at the same time, from many callers.

import assert from 'node:assert/strict';
import { afterEach, beforeEach, test } from 'node:test';
import { fileURLToPath } from 'node:url';

import { until, World } from './world.ts';
import type { SnapshotRef, TakenSnapshot } from '../client/src/index.ts';

let world: World;
let held: PromiseWithResolvers<void>;
let release: PromiseWithResolvers<void>;
let archives: number;

beforeEach(async () => {
  held = Promise.withResolvers();
  release = Promise.withResolvers();
  archives = 0;
  world = await World.start({
    onCall: async ({ method }) => {
      if (method !== 'backup.createArchive') return;
      archives += 1;
      held.resolve();
      await release.promise;
    },
  });
  await world.exec('agent', 'echo first > file');
});
afterEach(() => world[Symbol.asyncDispose]());

/** Lets all calls so far arrive: a call that the same object answers at once goes the same way behind them. */
async function arrived(ref: SnapshotRef) {
  for (let round = 0; round < 5; round += 1) {
    assert.equal((await world.failure(world.restore(ref))).code, 'BACKUP_NOT_FOUND');
  }
}

/** A ref of the sandbox whose backup is gone. */
async function goneRef(): Promise<SnapshotRef> {
  release.resolve();
  const ref = await world.snapshot('agent');
  for (const key of await world.objects()) await world.delete(key);
  [held, release, archives] = [Promise.withResolvers(), Promise.withResolvers(), 0];
  return ref;
}

test('fifty callers share one backup, over RPC and HTTP alike', async () => {
  const gone = await goneRef();
  const calls = Array.from({ length: 50 }, (_, index) => {
    const options = { sandboxId: 'agent' };
    return index % 2 ? world.http('snapshot', options) : world.rpc('snapshot', options);
  });
  await held.promise;
  await arrived(gone);
  release.resolve();
  const answers: TakenSnapshot[] = await Promise.all(calls);
  assert.equal(new Set(answers.map(({ ref }) => ref.snapshotId)).size, 1);
  assert.equal(answers.filter(({ capture }) => capture.shared).length, 49);
  assert.equal(archives, 1);
  assert.equal((await world.objects()).length, 2);
});

test('a caller who wrote since gets a fresh backup, which has what was written', async () => {
  const first = world.snapshot('agent');
  await held.promise;
  await world.exec('agent', 'echo second > file');
  const second = world.snapshot('agent', { fresh: true });
  release.resolve();
  const [early, late] = await Promise.all([first, second]);
  assert.notEqual(early.ref.snapshotId, late.ref.snapshotId);
  assert.ok((late.capture?.beganAt ?? '') >= early.ref.createdAt);
  const { ref } = await world.restore(late);
  assert.equal(await world.exec(ref.sandboxId, 'cat file'), 'second\n');
});

test('other options wait for their turn', async () => {
  const plain = world.snapshot('agent');
  await held.promise;
  const labelled = world.snapshot('agent', { label: 'other' });
  assert.equal(archives, 1);
  release.resolve();
  const [one, two] = await Promise.all([plain, labelled]);
  assert.notEqual(one.ref.snapshotId, two.ref.snapshotId);
  assert.equal((await world.objects()).length, 4);
});

test('an answer is a ref as it is', async () => {
  release.resolve();
  const answer = await world.snapshot('agent');
  assert.deepEqual(Object.keys(answer).sort(), ['capture', 'providerId', 'ref']);
  const { ref } = await world.restore(answer);
  assert.equal(await world.exec(ref.sandboxId, 'cat file'), 'first\n');
});

test('without the binding of the workspaces, says what to add', async () => {
  await using lacking = await World.start({ snapshotter: { without: ['Workspace'] } });
  const error = await lacking.failure(lacking.snapshot('agent'));
  assert.equal(error.code, 'WORKSPACE_BINDING_MISSING');
  assert.match(error.remediation ?? '', /name = "Workspace"/);
});

test('an object that outlives a reset of the WebAssembly goes on', async () => {
  const main = fileURLToPath(new URL('./caller/resets.mjs', import.meta.url));
  await using resets = await World.start({ snapshotter: { main } });
  await resets.exec('agent', 'echo kept > file');
  await resets.snapshot('agent');
  await resets.rpc('reset');
  const { ref } = await resets.restore(await resets.snapshot('agent'));
  assert.equal(await resets.exec(ref.sandboxId, 'cat file'), 'kept\n');
});

test('captures beyond what the line holds are refused for now, and the others are taken', async () => {
  const first = world.snapshot('agent');
  await held.promise;
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
