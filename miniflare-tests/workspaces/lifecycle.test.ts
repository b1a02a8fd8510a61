// A workspace is stopped and started: the same files, in a sandbox of the same id.

import assert from 'node:assert/strict';
import { after, before, beforeEach, describe, test } from 'node:test';

import { World } from '../world.ts';
import { Calls, isArchiving, isUnpacking } from './calls.ts';
import type { Named } from './named.ts';
import type { StartedWorkspace } from '../../client/src/index.ts';

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

/** Callers who ask for the same at the same time, half of them over RPC and half over HTTP. */
const together = (times: number, operation: string, options: object = {}): Promise<StartedWorkspace[]> => {
  const argument = { name: workspace.name, ...options };
  const ask = (index: number) => (index % 2 ? world.http : world.rpc)(`workspaces/${operation}`, argument);
  return Promise.all(Array.from({ length: times }, (_, index) => ask(index)));
};

describe('a workspace that is made', () => {
  test('is active, and has an empty sandbox that an application can use', async () => {
    const { state, how, sandboxId, workspace: ref, history } = await workspace.create();
    assert.deepEqual([state, how], ['active', 'empty']);
    assert.match(sandboxId, /^agent-\d+-[a-z0-9]{10}$/);
    assert.deepEqual(ref.ref, { sandboxId, rootId: sandboxId });
    assert.deepEqual(history.map(({ to }) => to).reverse(), ['provisioning', 'active']);
    assert.equal(await world.exec(sandboxId, 'pwd; ls -A'), '/workspace\n');
  });

  test('by getOrCreate is there from then on', async () => {
    const made = await workspace.getOrCreate({ persistent: true });
    const again = await workspace.getOrCreate();
    assert.deepEqual([made.how, again.how], ['empty', 'running']);
    assert.equal(again.sandboxId, made.sandboxId);
  });

  test('by twenty callers of getOrCreate has one sandbox', async () => {
    const running = world.running();
    const answers = await together(20, 'getOrCreate');
    assert.equal(new Set(answers.map(({ sandboxId }) => sandboxId)).size, 1);
    assert.deepEqual(new Set(answers.map(({ state }) => state)), new Set(['active']));
    const hex = await world.hex(answers[0]!.sandboxId);
    assert.deepEqual(world.running(), [...running, hex].sort());
  });
});

describe('a workspace that is stopped', () => {
  test('is a snapshot, and no container', async () => {
    await workspace.create();
    await workspace.exec('head -c 100000 /dev/urandom > file');
    const { state, lastSnapshot, hadEnded, changedDuringCapture, sandboxId } = await workspace.stop();
    assert.deepEqual([state, hadEnded, changedDuringCapture], ['stopped', false, false]);
    assert.equal(await workspace.isRunning(), false);
    assert.deepEqual(await workspace.snapshots(), [lastSnapshot?.id]);
    assert.ok(lastSnapshot!.sizeBytes > 100_000, 'as large as its archive');
    assert.deepEqual([lastSnapshot!.originId, lastSnapshot!.dir], [sandboxId, '/workspace']);
  });

  test('can be looked at and listed, and stays stopped', async () => {
    await workspace.create();
    const { lastSnapshot } = await workspace.stop();
    calls.reset();
    assert.deepEqual((await workspace.describe()).lastSnapshot, lastSnapshot);
    await world.rpc('workspaces/list', {});
    assert.deepEqual(calls.made, []);
    assert.equal(await workspace.isRunning(), false);
  });
});

describe('a workspace that is started again', () => {
  test('has its files: contents, modes, times, links and odd names', async () => {
    const show = `find . ! -type d -printf '%P %y %m %Ts %l\\n' | sort; find . -type d -printf '%P %m\\n' | sort;
      find . -type f -exec sha256sum {} + | sort`;
    const { sandboxId } = await workspace.create();
    await workspace.exec(`mkdir -p empty 'odd names/in' && chmod 700 empty
      head -c 300000 /dev/urandom > random; : > nothing; printf 'a\\0b' > binary; echo x > $'line\\nbreak'
      echo x > 'with spaces'; echo x > ünïcødé-日本; echo x > ./-n; echo x > .hidden; echo x > "quote'\\""
      printf '#!/bin/sh\\necho ran\\n' > script; chmod 755 script; chmod 400 binary
      ln -s random link; ln -s /nowhere dangling; ln random hard; touch -d 2001-02-03T04:05:06Z nothing`);
    const shown = await workspace.exec(show);
    const { lastSnapshot } = await workspace.stop();
    const started = await workspace.start();
    assert.deepEqual([started.how, started.restoredFrom], ['restored', lastSnapshot?.id]);
    assert.equal(started.sandboxId, sandboxId);
    assert.equal(await world.exec(sandboxId, show), shown);
    // A mount makes files of their own of the links to one file.
    const linked = world.mode === 'local' ? 'hard -ef random' : '! hard -ef random';
    assert.equal(
      await world.exec(sandboxId, `./script; cat -- -n; [ ${linked} ] && echo one`),
      'ran\nx\none\n',
    );
  });

  test('goes on from there, however often', async () => {
    await workspace.create();
    for (const line of ['1', '2']) {
      await workspace.exec(`echo ${line} >> file`);
      await workspace.stop();
      await workspace.start();
    }
    assert.equal(await workspace.exec('cat file'), '1\n2\n');
  });

  test('with nothing in it has nothing in it', async () => {
    await workspace.create();
    await workspace.stop();
    assert.equal((await workspace.start()).how, 'restored');
    assert.equal(await workspace.exec('ls -A'), '');
  });

  test('holds the directory that it was made for, and no other', async () => {
    await workspace.create({ dir: '/home/agent' });
    await workspace.exec('mkdir -p /home/agent && echo kept > /home/agent/file && echo lost > file');
    await workspace.stop();
    await workspace.start();
    assert.equal(await workspace.exec('cat /home/agent/file && ls -A'), 'kept\n');
  });

  test('holds its directory although the image has none, and its hooks run there', async () => {
    const { hookRuns } = await workspace.create({
      dir: '/home/agent',
      hooks: { afterStart: { command: 'pwd', onFailure: 'warn' } },
    });
    assert.equal(hookRuns[0]?.output, '/home/agent\n');
    await workspace.stop();
    await workspace.start();
    assert.equal(await workspace.exec('ls -A /home/agent'), '');
  });

  test('by twenty callers, over RPC and HTTP alike, is restored once', async () => {
    await workspace.create();
    await workspace.exec('echo x > file');
    await workspace.stop();
    calls.reset();
    const answers = await together(20, 'start');
    assert.equal(calls.count(isUnpacking), 1);
    assert.deepEqual(new Set(answers.map(({ how }) => how)), new Set(['restored']));
    assert.equal(await workspace.exec('cat file'), 'x\n');
  });

  test('while it runs is left as it is', async () => {
    const { sandboxId } = await workspace.create();
    await workspace.exec(
      'echo x > file; echo y > /tmp/beside; sleep 60 >/dev/null 2>&1 & echo $! > /tmp/pid',
    );
    const { how, restoredFrom } = await workspace.start();
    assert.deepEqual([how, restoredFrom], ['running', undefined]);
    assert.equal(await world.exec(sandboxId, 'cat file /tmp/beside; kill -0 $(cat /tmp/pid)'), 'x\ny\n');
    assert.equal(calls.count(isArchiving), 0);
  });

  test('after workerd has died has its files', async () => {
    await workspace.create();
    await workspace.exec('echo x > file');
    await workspace.stop();
    await world.crash();
    assert.equal((await workspace.start()).how, 'restored');
    assert.equal(await workspace.exec('cat file'), 'x\n');
  });
});

describe('a workspace that does not persist', () => {
  test('is stopped without a snapshot, and says that there is nothing to start from', async () => {
    await workspace.create({ persistent: false });
    await workspace.exec('echo x > file');
    const { lastSnapshot } = await workspace.stop();
    assert.deepEqual([lastSnapshot, calls.count(isArchiving)], [undefined, 0]);
    assert.equal((await world.failure(workspace.start())).code, 'NOTHING_RESTORABLE');
    assert.equal((await workspace.start({ allowEmpty: true })).how, 'empty');
  });
});
