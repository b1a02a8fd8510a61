// The lifecycle of a workspace: a start after a stop restores the same files in the sandbox with the same id.

import assert from 'node:assert/strict';
import { after, before, beforeEach, describe, test } from 'node:test';

import { World } from '../world.ts';
import { CallInterceptor, isArchiving, isUnpacking } from './calls.ts';
import type { NamedWorkspace } from './named.ts';
import type { StartedWorkspace } from '../../client/src/index.ts';

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

/** Makes the same call several times concurrently, half over RPC and half over HTTP. */
const callConcurrently = (
  times: number,
  operation: string,
  options: object = {},
): Promise<StartedWorkspace[]> => {
  const argument = { name: workspace.name, ...options };
  const call = (index: number) => (index % 2 ? world.http : world.rpc)(`workspaces/${operation}`, argument);
  return Promise.all(Array.from({ length: times }, (_, index) => call(index)));
};

describe('a new workspace', () => {
  test('is active, and has an empty sandbox that an application can use', async () => {
    const { state, how, sandboxId, workspace: ref, history } = await workspace.create();
    assert.deepEqual([state, how], ['active', 'empty']);
    assert.match(sandboxId, /^agent-\d+-[a-z0-9]{10}$/);
    assert.deepEqual(ref.ref, { sandboxId, rootId: sandboxId });
    assert.deepEqual(history.map(({ to }) => to).reverse(), ['provisioning', 'active']);
    assert.equal(await world.exec(sandboxId, 'pwd; ls -A'), '/workspace\n');
  });

  test('made by getOrCreate is returned by the next call', async () => {
    const created = await workspace.getOrCreate({ persistent: true });
    const again = await workspace.getOrCreate();
    assert.deepEqual([created.how, again.how], ['empty', 'running']);
    assert.equal(again.sandboxId, created.sandboxId);
  });

  test('made by twenty concurrent calls of getOrCreate has one sandbox', async () => {
    const running = world.running();
    const answers = await callConcurrently(20, 'getOrCreate');
    assert.equal(new Set(answers.map(({ sandboxId }) => sandboxId)).size, 1);
    assert.deepEqual(new Set(answers.map(({ state }) => state)), new Set(['active']));
    const objectId = await world.objectId(answers[0]!.sandboxId);
    assert.deepEqual(world.running(), [...running, objectId].sort());
  });
});

describe('a stopped workspace', () => {
  test('has a snapshot, and no container', async () => {
    await workspace.create();
    await workspace.exec('head -c 100000 /dev/urandom > file');
    const { state, lastSnapshot, hadEnded, changedDuringCapture, sandboxId } = await workspace.stop();
    assert.deepEqual([state, hadEnded, changedDuringCapture], ['stopped', false, false]);
    assert.equal(await workspace.isRunning(), false);
    assert.deepEqual(await workspace.snapshots(), [lastSnapshot?.id]);
    assert.ok(lastSnapshot!.sizeBytes > 100_000, 'the size is that of the archive');
    assert.deepEqual([lastSnapshot!.originId, lastSnapshot!.dir], [sandboxId, '/workspace']);
  });

  test('can be described and listed, and stays stopped', async () => {
    await workspace.create();
    const { lastSnapshot } = await workspace.stop();
    calls.reset();
    assert.deepEqual((await workspace.describe()).lastSnapshot, lastSnapshot);
    await world.rpc('workspaces/list', {});
    assert.deepEqual(calls.recorded, []);
    assert.equal(await workspace.isRunning(), false);
  });
});

describe('a restarted workspace', () => {
  test('has its files with their contents, modes, times, links and unusual names', async () => {
    const show = `find . ! -type d -printf '%P %y %m %Ts %l\\n' | sort; find . -type d -printf '%P %m\\n' | sort;
      find . -type f -exec sha256sum {} + | sort`;
    const { sandboxId } = await workspace.create();
    await workspace.exec(`mkdir -p empty 'odd names/in' && chmod 700 empty
      head -c 300000 /dev/urandom > random; : > nothing; printf 'a\\0b' > binary; echo x > $'line\\nbreak'
      echo x > 'with spaces'; echo x > ünïcødé-日本; echo x > ./-n; echo x > .hidden; echo x > "quote'\\""
      printf '#!/bin/sh\\necho ran\\n' > script; chmod 755 script; chmod 400 binary
      ln -s random link; ln -s /nowhere dangling; ln random hard; touch -d 2001-02-03T04:05:06Z nothing`);
    const expected = await workspace.exec(show);
    const { lastSnapshot } = await workspace.stop();
    const started = await workspace.start();
    assert.deepEqual([started.how, started.restoredFrom?.snapshotId], ['restored', lastSnapshot?.id]);
    assert.equal(started.mayHaveLost, false);
    assert.ok(started.restoredFrom!.ageSeconds < 600);
    assert.equal(started.sandboxId, sandboxId);
    assert.equal(await world.exec(sandboxId, show), expected);
    // A mount shows hard links as separate files.
    const linked = world.mode !== 'production' ? 'hard -ef random' : '! hard -ef random';
    assert.equal(
      await world.exec(sandboxId, `./script; cat -- -n; [ ${linked} ] && echo one`),
      'ran\nx\none\n',
    );
  });

  test('has its newest files after several stops and starts', async () => {
    await workspace.create();
    for (const line of ['1', '2']) {
      await workspace.exec(`echo ${line} >> file`);
      await workspace.stop();
      await workspace.start();
    }
    assert.equal(await workspace.exec('cat file'), '1\n2\n');
  });

  test('that was empty is empty', async () => {
    await workspace.create();
    await workspace.stop();
    assert.equal((await workspace.start()).how, 'restored');
    assert.equal(await workspace.exec('ls -A'), '');
  });

  test('has the files of its own directory only', async () => {
    await workspace.create({ dir: '/home/agent' });
    await workspace.exec('mkdir -p /home/agent && echo kept > /home/agent/file && echo lost > file');
    await workspace.stop();
    await workspace.start();
    assert.equal(await workspace.exec('cat /home/agent/file && ls -A'), 'kept\n');
  });

  test('has a directory that the image lacks, and its hooks run there', async () => {
    const { hookRuns } = await workspace.create({
      dir: '/home/agent',
      hooks: { afterStart: { command: 'pwd', onFailure: 'warn' } },
    });
    assert.equal(hookRuns[0]?.output, '/home/agent\n');
    await workspace.stop();
    await workspace.start();
    assert.equal(await workspace.exec('ls -A /home/agent'), '');
  });

  test('is restored once for twenty concurrent starts over RPC and HTTP', async () => {
    await workspace.create();
    await workspace.exec('echo x > file');
    await workspace.stop();
    calls.reset();
    const answers = await callConcurrently(20, 'start');
    assert.equal(calls.count(isUnpacking), 1);
    assert.deepEqual(new Set(answers.map(({ how }) => how)), new Set(['restored']));
    assert.equal(await workspace.exec('cat file'), 'x\n');
  });

  test('that is running stays unchanged', async () => {
    const { sandboxId } = await workspace.create();
    await workspace.exec(
      'echo x > file; echo y > /tmp/beside; sleep 60 >/dev/null 2>&1 & echo $! > /tmp/pid',
    );
    const { how, restoredFrom } = await workspace.start();
    assert.deepEqual([how, restoredFrom], ['running', undefined]);
    assert.equal(await world.exec(sandboxId, 'cat file /tmp/beside; kill -0 $(cat /tmp/pid)'), 'x\ny\n');
    assert.equal(calls.count(isArchiving), 0);
  });

  test('has its files after a restart of workerd', async () => {
    await workspace.create();
    await workspace.exec('echo x > file');
    await workspace.stop();
    await world.crash();
    assert.equal((await workspace.start()).how, 'restored');
    assert.equal(await workspace.exec('cat file'), 'x\n');
  });
});

describe('a workspace that is not persistent', () => {
  test('is stopped without a snapshot, and starts empty', async () => {
    await workspace.create({ persistent: false });
    await workspace.exec('echo x > file');
    const { lastSnapshot } = await workspace.stop();
    assert.deepEqual([lastSnapshot, calls.count(isArchiving)], [undefined, 0]);
    const { how, mayHaveLost } = await workspace.start();
    assert.deepEqual([how, mayHaveLost], ['empty', undefined]);
    assert.equal(await workspace.exec('ls -A'), '');
  });
});
