// Forks: new workspaces from one snapshot of another workspace, independent of it.

import assert from 'node:assert/strict';
import { after, before, beforeEach, describe, test } from 'node:test';

import { World } from '../world.ts';
import { CallInterceptor, isArchiving, isUnpacking } from './calls.ts';
import type { NamedWorkspace } from './named.ts';
import type { ForkedWorkspaces } from '../../client/src/index.ts';

const calls = new CallInterceptor();
let world: World;
let count = 0;
let workspace: NamedWorkspace;

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

/** Deletes forks, so that their containers do not fill the machine. */
const deleteAll = (forked: ForkedWorkspaces) =>
  Promise.all(namesOf(forked).map((name) => world.workspace(name).delete()));

describe('ten forks', () => {
  test('are ten independent sandboxes from one archive', async () => {
    const forked = await workspace.fork({ newName: 'ten', count: 10 });
    assert.deepEqual(
      namesOf(forked),
      Array.from({ length: 10 }, (_, index) => `ten-${index + 1}`),
    );
    const ids = idsOf(forked);
    assert.equal(new Set([...ids, await workspace.sandboxId()]).size, 11);
    assert.equal(calls.count(isArchiving), 1);
    assert.ok(forked.forks.every(({ value }) => value?.restoredFrom?.snapshotId === forked.snapshotId));
    assert.ok(!forked.mayHaveLost && forked.forks.every(({ value }) => value?.mayHaveLost === false));
    await Promise.all(ids.map((id) => world.exec(id, `echo ${id} >> file`)));
    for (const id of ids) assert.equal(await world.exec(id, 'cat file'), `shared\n${id}\n`);
    assert.equal(await workspace.exec('cat file'), 'shared\n');
    await deleteAll(forked);
  });
});

describe('a fork', () => {
  test('has the present files of the workspace, also if it is stopped', async () => {
    await workspace.exec('echo now > file');
    const { lastSnapshot } = await workspace.stop();
    calls.reset();
    const { snapshotId, forks } = await workspace.fork({ newName: `${workspace.name}-fork` });
    assert.deepEqual([snapshotId, calls.count(isArchiving)], [lastSnapshot?.id, 0]);
    assert.equal(await world.exec(forks[0]!.value!.sandboxId, 'cat file'), 'now\n');
    assert.equal(await workspace.state(), 'stopped');
  });

  test('of a workspace without a snapshot whose container ended is refused', async () => {
    await workspace.endContainer();
    const error = await world.failure(workspace.fork({ newName: `${workspace.name}-fork` }));
    assert.equal(error.code, 'NOTHING_RESTORABLE', error.message);
  });

  test('has a name made from that of the workspace by default', async () => {
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

  test('has the variables with copyEnv', async () => {
    const { forks } = await workspace.fork({ copyEnv: true });
    const fork = forks[0]!.value!;
    assert.deepEqual(fork.envNames, ['SECRET']);
    assert.equal(await world.exec(fork.sandboxId, 'echo "[$SECRET]"'), '[sesame]\n');
  });

  test('can be stopped, started and forked', async () => {
    const fork = world.workspace((await workspace.fork()).forks[0]!.name);
    await fork.exec('echo own >> file');
    await fork.stop();
    const again = await fork.fork({ newName: `${workspace.name}-of-fork` });
    await fork.start();
    assert.equal(await fork.exec('cat file'), 'shared\nown\n');
    assert.equal(await world.exec(idsOf(again)[0]!, 'cat file'), 'shared\nown\n');
  });

  test('whose container ended before its first stop is restored from its source snapshot', async () => {
    const { snapshotId, forks } = await workspace.fork();
    const fork = world.workspace(forks[0]!.name);
    await workspace.exec('echo later > file');
    await workspace.stop();
    await fork.endContainer();
    assert.equal((await fork.start()).restoredFrom?.snapshotId, snapshotId);
    assert.equal(await fork.exec('cat file'), 'shared\n');
  });

  test('whose source snapshot was deleted by force names it in the error of a start', async () => {
    const { snapshotId, originId, forks } = await workspace.fork();
    const fork = world.workspace(forks[0]!.name);
    const selection = { sandboxId: originId, snapshotId };
    assert.equal((await world.failure(world.rpc('delete', selection))).code, 'SNAPSHOT_HAS_DEPENDENTS');
    await world.rpc('delete', { ...selection, force: true });
    assert.equal(await fork.exec('cat file'), 'shared\n');
    await fork.endContainer();
    const error = await world.failure(fork.start());
    assert.equal(error.code, 'NOTHING_RESTORABLE', error.message);
    assert.ok(error.message.includes(snapshotId), error.message);
  });

  test('whose name is taken fails, and the other forks succeed', async () => {
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

  test('whose restore fails is rolled back', async () => {
    const running = world.running();
    calls.intercept(isUnpacking, async () => {
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

describe('a repeated fork with the same idempotency key', () => {
  test('returns the same forks, also after a restart of workerd', async () => {
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

  test('returns the same forks after an update of the workspace', async () => {
    const options = { newName: `${workspace.name}-fork`, idempotencyKey: 'key' };
    const first = await workspace.fork(options);
    await workspace.update({ expiry: { idleSeconds: 60 } });
    const second = await workspace.fork(options);
    assert.equal(second.forks[0]?.error, undefined);
    assert.deepEqual(idsOf(second), idsOf(first));
  });

  test('returns the same forks after a stop of the workspace', async () => {
    const options = { newName: `${workspace.name}-fork`, idempotencyKey: 'key' };
    const first = await workspace.fork(options);
    await workspace.exec('echo later > file');
    await workspace.stop();
    const second = await workspace.fork(options);
    assert.deepEqual([second.snapshotId, idsOf(second)], [first.snapshotId, idsOf(first)]);
  });
});
