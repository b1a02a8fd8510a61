// Stale snapshots: a start compares the declared dependencies of a snapshot with the present ones.

import assert from 'node:assert/strict';
import { createHash } from 'node:crypto';
import { after, before, beforeEach, describe, test } from 'node:test';

import { World } from '../world.ts';
import { CallInterceptor, isUnpacking } from './calls.ts';
import type { NamedWorkspace } from './named.ts';

const calls = new CallInterceptor();
let world: World;
let count = 0;
let workspace: NamedWorkspace;

before(async () => {
  world = await World.start({ onCall: calls.onCall });
});
after(() => world[Symbol.asyncDispose]());

beforeEach(() => {
  calls.reset();
  workspace = world.workspace(`agent-${++count}`);
});

/** Creates a workspace with dependencies and files, and stops it. */
async function createStopped(dependsOn: object, settings: object = {}) {
  await workspace.create({ dependsOn, ...settings });
  await workspace.exec('echo x > file; echo 1 > lock');
  return (await workspace.stop()).lastSnapshot!;
}

/** Asserts that a start fails with SNAPSHOT_STALE and a message, before it restores anything. */
async function assertStale(options: object, message: RegExp) {
  calls.reset();
  const error = await world.failure(workspace.start(options));
  assert.deepEqual([error.code, error.kind], ['SNAPSHOT_STALE', 'conflict'], error.message);
  assert.match(error.message, message);
  assert.equal(calls.count(isUnpacking), 0);
  assert.equal(await workspace.isRunning(), false);
  const { state, problem } = await workspace.describe();
  assert.deepEqual([state, problem?.code], ['stopped', 'SNAPSHOT_STALE']);
}

/** Asserts that a start restores the files, and reports these stale dependencies. */
async function assertRestored(options: object, stale: RegExp[] = []) {
  const answer = await workspace.start(options);
  assert.equal(answer.how, 'restored');
  assert.equal(answer.stale.length, stale.length, answer.stale.join());
  stale.forEach((message, index) => assert.match(answer.stale[index]!, message));
  assert.equal(await workspace.exec('cat file'), 'x\n');
  return answer;
}

const sha256 = (text: string) => createHash('sha256').update(text).digest('hex');

describe('a fingerprint', () => {
  test('that differs makes a start fail, until it is the same again', async () => {
    await createStopped({ fingerprint: 'commit-1' });
    await assertStale({ fingerprint: 'commit-2' }, /fingerprint is "commit-2", and was "commit-1"/);
    await assertStale({}, /fingerprint/);
    await assertRestored({ fingerprint: 'commit-1' });
  });

  test('that differs is accepted with acceptStale, and the next snapshot has the new one', async () => {
    await createStopped({ fingerprint: 'commit-1' });
    await assertRestored({ fingerprint: 'commit-2', acceptStale: true }, [/commit-2.*commit-1/]);
    await workspace.stop();
    await assertRestored({ fingerprint: 'commit-2' });
  });

  test('that differs is only reported with onMismatch report', async () => {
    await createStopped({ fingerprint: 'commit-1', onMismatch: 'report' });
    await assertRestored({ fingerprint: 'commit-2' }, [/commit-2.*commit-1/]);
  });

  test('is also checked by getOrCreate', async () => {
    await createStopped({ fingerprint: 'commit-1' });
    const call = workspace.getOrCreate({ dependsOn: { fingerprint: 'commit-2' } });
    assert.equal((await world.failure(call)).code, 'SNAPSHOT_STALE');
  });

  test('that changes while the workspace runs is stored with the next snapshot', async () => {
    await createStopped({ fingerprint: 'commit-1' });
    await assertRestored({});
    assert.equal((await workspace.start({ fingerprint: 'commit-2' })).how, 'running');
    await workspace.stop();
    await assertRestored({ fingerprint: 'commit-2' });
  });

  test('is not checked if the sandbox runs', async () => {
    await createStopped({ fingerprint: 'commit-1' });
    await assertRestored({});
    assert.equal((await workspace.start({ fingerprint: 'commit-2' })).how, 'running');
  });
});

describe('a file outside the directory', () => {
  const dependsOn = { files: ['/etc/os-release', '/tmp/version'] };

  test('that is unchanged is not stale', async () => {
    await createStopped({ files: ['/etc/os-release', '/nowhere'] });
    await assertRestored({});
  });

  test('that changed or was removed makes a start fail', async () => {
    await workspace.create({ dependsOn });
    await workspace.exec('echo x > file; echo 2 > /tmp/version');
    await workspace.stop();
    await assertStale({}, /"\/tmp\/version" has changed since the snapshot/);
    await assertRestored({ acceptStale: true }, [/\/tmp\/version/]);
  });
});

describe('a file in the directory', () => {
  test('must have the hash that the caller expects', async () => {
    await createStopped({ files: ['lock', '/workspace/file'] });
    await assertStale({ expect: { lock: sha256('2\n') } }, /"lock" did not have the expected hash/);
    await assertStale({ expect: { other: sha256('1\n') } }, /"other" did not have the expected hash/);
    const expect = { lock: sha256('1\n').toUpperCase(), '/workspace/file': sha256('x\n') };
    await assertRestored({ expect });
  });

  test('that is declared later is recorded with the next snapshot', async () => {
    await workspace.create();
    await workspace.exec('echo x > file; echo 1 > lock');
    await workspace.update({ dependsOn: { files: ['lock'] } });
    await workspace.stop();
    await assertRestored({ expect: { lock: sha256('1\n') } });
  });

  test('that is written after the snapshot is not stale', async () => {
    await createStopped({ files: ['lock'] });
    await assertRestored({ expect: { lock: sha256('1\n') } });
    await workspace.exec('echo 2 > lock');
    await workspace.endContainer();
    await assertRestored({ expect: { lock: sha256('1\n') } });
  });
});

describe('the image of the sandbox', () => {
  /** The variable that contains the version of the SDK's image. Only images of the SDK 0.12 set it. */
  const version = (version: string) => ({ env: { SANDBOX_VERSION: version } });

  test('that differs is reported', async () => {
    await createStopped({}, version('0.12.9'));
    await workspace.update(version('0.13.0'));
    await assertRestored({}, [/the sandbox's SDK version is "0\.13\.0", and was "0\.12\.9" at the snapshot/]);
    await workspace.stop();
    await assertRestored({});
  });

  test('that differs makes a start fail with onImageChange fail', async () => {
    await createStopped({ onImageChange: 'fail' }, version('0.12.9'));
    await workspace.update(version('0.13.0'));
    await assertStale({}, /SDK version/);
    await assertRestored({ acceptStale: true }, [/SDK version/]);
  });
});

test('a rollback to a stale snapshot requires acceptStale', async () => {
  const { id } = await createStopped({ fingerprint: 'commit-1' });
  await assertRestored({ fingerprint: 'commit-2', acceptStale: true }, [/commit/]);
  const before = await workspace.sandboxId();
  const error = await world.failure(workspace.update({ currentSnapshotId: id }));
  assert.equal(error.code, 'SNAPSHOT_STALE');
  assert.equal(await workspace.sandboxId(), before);
  await workspace.update({ currentSnapshotId: id, acceptStale: true });
  assert.notEqual(await workspace.sandboxId(), before);
});

test('a fork is not stale', async () => {
  await workspace.create({ dependsOn: { fingerprint: 'commit-1', files: ['/etc/os-release'] } });
  const { forks } = await workspace.fork({ count: 2 });
  assert.deepEqual(
    forks.map(({ value }) => value?.stale),
    [[], []],
  );
});
