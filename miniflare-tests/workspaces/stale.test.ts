// Snapshots that depend on something outside of their directory: a start says where that has become another.

import assert from 'node:assert/strict';
import { createHash } from 'node:crypto';
import { after, before, beforeEach, describe, test } from 'node:test';

import { World } from '../world.ts';
import { Calls, isUnpacking } from './calls.ts';
import type { Named } from './named.ts';

const calls = new Calls();
let world: World;
let count = 0;
let workspace: Named;

before(async () => {
  world = await World.start({ onCall: calls.onCall });
});
after(() => world[Symbol.asyncDispose]());

beforeEach(() => {
  calls.reset();
  workspace = world.workspace(`agent-${++count}`);
});

/** A workspace that depends on something, was written into, and is stopped. */
async function stopped(dependsOn: object) {
  await workspace.create({ dependsOn });
  await workspace.exec('echo x > file; echo 1 > lock');
  return (await workspace.stop()).lastSnapshot!;
}

/** The start is refused before anything is restored, and says why; what there was stays there. */
async function isStale(options: object, why: RegExp) {
  calls.reset();
  const error = await world.failure(workspace.start(options));
  assert.deepEqual([error.code, error.kind], ['SNAPSHOT_STALE', 'conflict'], error.message);
  assert.match(error.message, why);
  assert.equal(calls.count(isUnpacking), 0);
  assert.equal(await workspace.isRunning(), false);
  const { state, problem } = await workspace.describe();
  assert.deepEqual([state, problem?.code], ['stopped', 'SNAPSHOT_STALE']);
}

async function starts(options: object, stale: RegExp[] = []) {
  const answer = await workspace.start(options);
  assert.equal(answer.how, 'restored');
  assert.equal(answer.stale.length, stale.length, answer.stale.join());
  stale.forEach((why, index) => assert.match(answer.stale[index]!, why));
  assert.equal(await workspace.exec('cat file'), 'x\n');
  return answer;
}

const sha256 = (text: string) => createHash('sha256').update(text).digest('hex');

describe('a fingerprint', () => {
  test('that is another is refused, until it is the same again', async () => {
    await stopped({ fingerprint: 'commit-1' });
    await isStale({ fingerprint: 'commit-2' }, /fingerprint is "commit-2", and was "commit-1"/);
    await isStale({}, /fingerprint/);
    await starts({ fingerprint: 'commit-1' });
  });

  test('that is another is fine where the caller accepts it, and the next snapshot has it', async () => {
    await stopped({ fingerprint: 'commit-1' });
    await starts({ fingerprint: 'commit-2', acceptStale: true }, [/commit-2.*commit-1/]);
    await workspace.stop();
    await starts({ fingerprint: 'commit-2' });
  });

  test('that is another is only told where the workspace says report', async () => {
    await stopped({ fingerprint: 'commit-1', onMismatch: 'report' });
    await starts({ fingerprint: 'commit-2' }, [/commit-2.*commit-1/]);
  });

  test('is taken by getOrCreate too', async () => {
    await stopped({ fingerprint: 'commit-1' });
    const call = workspace.getOrCreate({ dependsOn: { fingerprint: 'commit-2' } });
    assert.equal((await world.failure(call)).code, 'SNAPSHOT_STALE');
  });

  test('that becomes another while the workspace runs is that of the next snapshot', async () => {
    await stopped({ fingerprint: 'commit-1' });
    await starts({});
    assert.equal((await workspace.start({ fingerprint: 'commit-2' })).how, 'running');
    await workspace.stop();
    await starts({ fingerprint: 'commit-2' });
  });

  test('does not matter to a sandbox that runs', async () => {
    await stopped({ fingerprint: 'commit-1' });
    await starts({});
    assert.equal((await workspace.start({ fingerprint: 'commit-2' })).how, 'running');
  });
});

describe('a file outside of the directory', () => {
  const dependsOn = { files: ['/etc/os-release', '/tmp/version'] };

  test('that is as it was is fine', async () => {
    await stopped({ files: ['/etc/os-release', '/nowhere'] });
    await starts({});
  });

  test('that is another, or is not there any more, is refused', async () => {
    await workspace.create({ dependsOn });
    await workspace.exec('echo x > file; echo 2 > /tmp/version');
    await workspace.stop();
    await isStale({}, /"\/tmp\/version" has changed since the snapshot/);
    await starts({ acceptStale: true }, [/\/tmp\/version/]);
  });
});

describe('a file of the directory', () => {
  test('must have been what the caller expects', async () => {
    await stopped({ files: ['lock', '/workspace/file'] });
    await isStale({ expect: { lock: sha256('2\n') } }, /"lock" is not what was expected/);
    await isStale({ expect: { other: sha256('1\n') } }, /"other" is not what was expected/);
    const expect = { lock: sha256('1\n').toUpperCase(), '/workspace/file': sha256('x\n') };
    await starts({ expect });
  });

  test('is known from the next snapshot on when it is named later', async () => {
    await workspace.create();
    await workspace.exec('echo x > file; echo 1 > lock');
    await workspace.update({ dependsOn: { files: ['lock'] } });
    await workspace.stop();
    await starts({ expect: { lock: sha256('1\n') } });
  });

  test('that is written after the snapshot does not matter', async () => {
    await stopped({ files: ['lock'] });
    await starts({ expect: { lock: sha256('1\n') } });
    await workspace.exec('echo 2 > lock');
    await workspace.fallAsleep();
    await starts({ expect: { lock: sha256('1\n') } });
  });
});

describe('the image of the sandbox', () => {
  /** By the variable in which the SDK’s image has its version. */
  const release = (version: string) => workspace.update({ env: { SANDBOX_VERSION: version } });

  test('that is another is told', async () => {
    await stopped({});
    await release('0.13.0');
    await starts({}, [/the sandbox's image is "0\.13\.0 [0-9a-f]{16}", and was "0\.12\.10 /]);
    await workspace.stop();
    await starts({});
  });

  test('that is another is refused where the workspace says fail', async () => {
    await stopped({ onImageChange: 'fail' });
    await release('0.13.0');
    await isStale({}, /image/);
    await starts({ acceptStale: true }, [/image/]);
  });
});

test('a workspace goes back to a stale snapshot only where the caller accepts it', async () => {
  const { id } = await stopped({ fingerprint: 'commit-1' });
  await starts({ fingerprint: 'commit-2', acceptStale: true }, [/commit/]);
  const before = await workspace.sandboxId();
  const error = await world.failure(workspace.update({ currentSnapshotId: id }));
  assert.equal(error.code, 'SNAPSHOT_STALE');
  assert.equal(await workspace.sandboxId(), before);
  await workspace.update({ currentSnapshotId: id, acceptStale: true });
  assert.notEqual(await workspace.sandboxId(), before);
});

test('a fork of a workspace is not stale', async () => {
  await workspace.create({ dependsOn: { fingerprint: 'commit-1', files: ['/etc/os-release'] } });
  const { forks } = await workspace.fork({ count: 2 });
  assert.deepEqual(
    forks.map(({ value }) => value?.stale),
    [[], []],
  );
});
