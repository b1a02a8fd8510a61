// Workspaces that begin where another one is: all of them from one snapshot, and each of them on its own from there.

import assert from 'node:assert/strict';
import { after, before, beforeEach, describe, test } from 'node:test';

import { World } from '../world.ts';
import { Calls, isArchiving, isUnpacking } from './calls.ts';
import type { Named } from './named.ts';
import type { ForkedWorkspaces } from '../../client/src/index.ts';

const calls = new Calls();
let world: World;
let count = 0;
let workspace: Named;

before(async () => {
  world = await World.start({ onCall: calls.onCall });
});
after(() => world[Symbol.asyncDispose]());

beforeEach(async () => {
  workspace = world.workspace(`agent-${++count}`);
  await workspace.create({ env: { SECRET: 'sesame' }, hooks: { afterStart: { command: 'echo ready' } } });
  await workspace.exec('echo shared > file');
  calls.reset();
});

const namesOf = ({ forks }: ForkedWorkspaces) => forks.map(({ name }) => name);
const idsOf = ({ forks }: ForkedWorkspaces) => forks.map(({ value }) => value!.sandboxId);

/** Ends what a test has made, so that the machine is not full of it. */
const deleteAll = (forked: ForkedWorkspaces) =>
  Promise.all(namesOf(forked).map((name) => world.workspace(name).delete()));

describe('ten forks', () => {
  test('are ten sandboxes from one archive, and what is written in one is in no other', async () => {
    const forked = await workspace.fork({ newName: 'ten', count: 10 });
    assert.deepEqual(
      namesOf(forked),
      Array.from({ length: 10 }, (_, index) => `ten-${index + 1}`),
    );
    const ids = idsOf(forked);
    assert.equal(new Set([...ids, await workspace.sandboxId()]).size, 11);
    assert.equal(calls.count(isArchiving), 1);
    assert.ok(forked.forks.every(({ value }) => value?.restoredFrom === forked.snapshotId));
    await Promise.all(ids.map((id) => world.exec(id, `echo ${id} >> file`)));
    for (const id of ids) assert.equal(await world.exec(id, 'cat file'), `shared\n${id}\n`);
    assert.equal(await workspace.exec('cat file'), 'shared\n');
    await deleteAll(forked);
  });
});

describe('a fork', () => {
  test('has what is in the workspace at this moment, also when that is stopped', async () => {
    await workspace.exec('echo now > file');
    const { lastSnapshot } = await workspace.stop();
    calls.reset();
    const { snapshotId, forks } = await workspace.fork({ newName: `${workspace.name}-fork` });
    assert.deepEqual([snapshotId, calls.count(isArchiving)], [lastSnapshot?.id, 0]);
    assert.equal(await world.exec(forks[0]!.value!.sandboxId, 'cat file'), 'now\n');
    assert.equal(await workspace.state(), 'stopped');
  });

  test('of a workspace that was never saved and sleeps is refused', async () => {
    await workspace.fallAsleep();
    const error = await world.failure(workspace.fork({ newName: `${workspace.name}-fork` }));
    assert.equal(error.code, 'NOTHING_RESTORABLE', error.message);
  });

  test('is called like the workspace where nobody says how', async () => {
    const { forks } = await workspace.fork();
    assert.match(forks[0]!.name, new RegExp(`^${workspace.name}-fork-[a-z0-9]{8}$`));
  });

  test('has the settings of the workspace, but not its variables', async () => {
    const { forks } = await workspace.fork();
    const fork = forks[0]!.value!;
    assert.deepEqual(fork.envNames, []);
    assert.deepEqual(
      fork.hookRuns.map(({ hook, output }) => [hook, output]),
      [['afterStart', 'ready\n']],
    );
    assert.equal(await world.exec(fork.sandboxId, 'echo "[$SECRET]"'), '[]\n');
  });

  test('has the variables where the caller says so', async () => {
    const { forks } = await workspace.fork({ copyEnv: true });
    const fork = forks[0]!.value!;
    assert.deepEqual(fork.envNames, ['SECRET']);
    assert.equal(await world.exec(fork.sandboxId, 'echo "[$SECRET]"'), '[sesame]\n');
  });

  test('is a workspace: it is stopped and started, and forked again', async () => {
    const fork = world.workspace((await workspace.fork()).forks[0]!.name);
    await fork.exec('echo own >> file');
    await fork.stop();
    const again = await fork.fork({ newName: `${workspace.name}-of-fork` });
    await fork.start();
    assert.equal(await fork.exec('cat file'), 'shared\nown\n');
    assert.equal(await world.exec(idsOf(again)[0]!, 'cat file'), 'shared\nown\n');
  });

  test('that sleeps before it was ever stopped is started from where it began', async () => {
    const { snapshotId, forks } = await workspace.fork();
    const fork = world.workspace(forks[0]!.name);
    await workspace.exec('echo later > file');
    await workspace.stop();
    await fork.fallAsleep();
    assert.equal((await fork.start()).restoredFrom, snapshotId);
    assert.equal(await fork.exec('cat file'), 'shared\n');
  });

  test('whose snapshot was deleted by force says what it has lost when it sleeps', async () => {
    const { snapshotId, originId, forks } = await workspace.fork();
    const fork = world.workspace(forks[0]!.name);
    const selection = { sandboxId: originId, snapshotId };
    assert.equal((await world.failure(world.rpc('delete', selection))).code, 'SNAPSHOT_HAS_DEPENDENTS');
    await world.rpc('delete', { ...selection, force: true });
    assert.equal(await fork.exec('cat file'), 'shared\n');
    await fork.fallAsleep();
    const error = await world.failure(fork.start());
    assert.equal(error.code, 'NOTHING_RESTORABLE', error.message);
    assert.ok(error.message.includes(snapshotId), error.message);
  });

  test('whose name is taken is an error, and the others are made', async () => {
    const newName = `${workspace.name}-some`;
    await world.workspace(`${newName}-2`).create();
    const forked = await workspace.fork({ newName, count: 3 });
    assert.deepEqual(
      forked.forks.map(({ name, value, error }) => [name, value?.state ?? error?.code]),
      [
        [`${newName}-1`, 'active'],
        [`${newName}-2`, 'NAME_TAKEN'],
        [`${newName}-3`, 'active'],
      ],
    );
    assert.equal((await world.workspace(`${newName}-2`).describe()).lastSnapshot, undefined);
    await deleteAll(forked);
  });

  test('that can not be filled is an error, and leaves nothing behind', async () => {
    const running = world.running();
    calls.meet(isUnpacking, async () => {
      throw new Error('the disk is full');
    });
    const { forks } = await workspace.fork({ newName: `${workspace.name}-full`, count: 2 });
    assert.ok(forks.every(({ error }) => error?.message.includes('the disk is full')));
    assert.deepEqual(world.running(), running);
    for (const { name } of forks) {
      assert.equal((await world.failure(world.workspace(name).describe())).code, 'WORKSPACE_NOT_FOUND');
    }
  });
});

describe('the same fork with the same idempotency key', () => {
  test('gets the same forks, also when workerd has died in between', async () => {
    const options = { count: 2, idempotencyKey: 'key' };
    const first = await workspace.fork(options);
    await workspace.exec('echo later > file');
    const second = await workspace.fork(options);
    await world.crash();
    const third = await workspace.fork(options);
    for (const again of [second, third]) {
      assert.deepEqual([again.snapshotId, namesOf(again)], [first.snapshotId, namesOf(first)]);
      assert.deepEqual(idsOf(again), idsOf(first));
    }
    assert.equal(calls.count(isArchiving), 1);
    for (const id of idsOf(first)) assert.equal(await world.exec(id, 'cat file'), 'shared\n');
  });

  test('gets the same forks when the workspace was changed in between', async () => {
    const options = { newName: `${workspace.name}-kept`, idempotencyKey: 'key' };
    const first = await workspace.fork(options);
    await workspace.update({ expiry: { idleSeconds: 60 } });
    const second = await workspace.fork(options);
    assert.equal(second.forks[0]?.error, undefined);
    assert.deepEqual(idsOf(second), idsOf(first));
  });

  test('gets the same forks when the workspace was stopped in between', async () => {
    const options = { newName: `${workspace.name}-kept`, idempotencyKey: 'key' };
    const first = await workspace.fork(options);
    await workspace.exec('echo later > file');
    await workspace.stop();
    const second = await workspace.fork(options);
    assert.deepEqual([second.snapshotId, idsOf(second)], [first.snapshotId, idsOf(first)]);
  });
});
