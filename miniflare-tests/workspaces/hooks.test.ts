// Commands that run in the sandbox before a workspace is stopped, and before it is handed out.

import assert from 'node:assert/strict';
import { after, before, beforeEach, describe, test } from 'node:test';

import { World } from '../world.ts';
import { Calls, isArchiving } from './calls.ts';
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

const code = async (call: Promise<unknown>) => (await world.failure(call)).code;

describe('beforeStop', () => {
  /** A workspace that runs, with that hook. */
  async function make(beforeStop: object) {
    await workspace.create({ hooks: { beforeStop }, env: { NAME: 'value' } });
    await workspace.exec('echo x > file');
  }

  test('runs in the directory, with the variables, and what it writes is in the snapshot', async () => {
    await make({ command: 'echo "$PWD $NAME" > hook; echo out; echo err >&2' });
    const { hookRuns } = await workspace.stop();
    const [run] = hookRuns;
    assert.deepEqual([run?.hook, run?.ok, run?.exitCode, run?.timedOut], ['beforeStop', true, 0, false]);
    assert.deepEqual(run?.output.split('\n').sort(), ['', 'err', 'out']);
    await workspace.start();
    assert.equal(await workspace.exec('cat hook'), '/workspace value\n');
  });

  test('that fails leaves the workspace running, and says what it printed', async () => {
    await make({ command: 'echo "the database is locked" >&2; exit 3' });
    const error = await world.failure(workspace.stop());
    assert.equal(error.code, 'HOOK_FAILED');
    assert.match(error.message, /exit code 3[^]*the database is locked/);
    const { state, problem } = await workspace.describe();
    assert.deepEqual([state, problem?.code, calls.count(isArchiving)], ['active', 'HOOK_FAILED', 0]);
    assert.equal(await workspace.exec('cat file'), 'x\n');
    await workspace.update({ hooks: {} });
    assert.equal((await workspace.stop()).state, 'stopped');
  });

  test('that fails is only told where it says warn', async () => {
    await make({ command: 'echo oh; exit 3', onFailure: 'warn' });
    const { state, hookRuns, lastSnapshot } = await workspace.stop();
    assert.deepEqual([state, hookRuns[0]?.ok, hookRuns[0]?.exitCode], ['stopped', false, 3]);
    assert.ok(lastSnapshot);
  });

  test('that hangs is killed when its time is over, also where it ignores that it is to end', async () => {
    await make({ command: 'sleep 60', timeoutSeconds: 1, onFailure: 'warn' });
    const { hookRuns } = await workspace.stop();
    assert.deepEqual([hookRuns[0]?.ok, hookRuns[0]?.timedOut], [false, true]);
    await workspace.start();
    const command = "trap '' TERM; while :; do sleep 1; done";
    await workspace.update({ hooks: { beforeStop: { command, timeoutSeconds: 1 } } });
    const error = await world.failure(workspace.stop());
    assert.equal(error.code, 'HOOK_FAILED');
    assert.match(error.message, /longer than 1 seconds/);
    assert.equal(await workspace.exec("pgrep -f 'while :' | grep -vx $$ | wc -l"), '0\n');
  });

  test('that prints ten megabytes is told by its beginning and its end', async () => {
    await make({ command: 'echo first; head -c 10000000 /dev/zero | tr "\\0" x; echo; echo last' });
    const { output, ok } = (await workspace.stop()).hookRuns[0]!;
    assert.ok(ok && output.startsWith('first\nxxx') && output.endsWith('xxx\nlast\n'), output.slice(0, 100));
    assert.ok(output.length < 10_000, `${output.length} characters`);
  });

  test('that prints what is no text does no harm', async () => {
    await make({ command: `head -c 100000 /dev/urandom; printf '\\377\\303é\\n'` });
    const { ok, output } = (await workspace.stop()).hookRuns[0]!;
    assert.ok(ok && output.endsWith('é\n'), output.slice(-10));
  });

  test('that leaves a process behind does not wait for it', async () => {
    await make({ command: 'sleep 300 & echo started', timeoutSeconds: 60 });
    const { hookRuns, state } = await workspace.stop();
    assert.deepEqual([hookRuns[0]?.ok, hookRuns[0]?.output, state], [true, 'started\n', 'stopped']);
  });

  test('that removes the files of its own run is told all the same', async () => {
    const command = 'rm -rf /run/sandbox-snapshotter.hook.*; echo out; exit 3';
    await make({ command, onFailure: 'warn' });
    for (const _ of [1, 2, 3]) {
      const { hookRuns, state } = await workspace.stop();
      assert.deepEqual([hookRuns[0]?.exitCode, hookRuns[0]?.output, state], [3, 'out\n', 'stopped']);
      await workspace.start();
    }
  });

  test('that never answers fails in the end, and leaves a workspace that can be stopped', async () => {
    await make({ command: 'echo out', timeoutSeconds: 1 });
    const held = calls.hold(({ command }) => command?.includes('sandbox-snapshotter.hook') ?? false);
    const error = await world.failure(workspace.stop());
    assert.equal(error.code, 'HOOK_FAILED');
    assert.match(error.message, /the hook did not answer within 26 s/);
    held.release();
    calls.reset();
    assert.equal((await workspace.stop()).state, 'stopped');
  });

  test('does not run in a sandbox that woke by itself', async () => {
    await make({ command: 'echo hook > hook' });
    await workspace.wakeByItself('echo y > other');
    const { rescueSnapshotId, hookRuns } = await workspace.stop();
    assert.deepEqual(hookRuns, []);
    assert.equal(await workspace.printsIn(rescueSnapshotId!, 'ls'), 'other\n');
  });
});

describe('afterStart', () => {
  test('has run when the workspace is handed out, also the first time', async () => {
    const hooks = { afterStart: { command: 'ls > /tmp/seen; echo started' } };
    const { hookRuns } = await workspace.create({ hooks });
    assert.equal(hookRuns[0]?.output, 'started\n');
    await workspace.exec('echo x > file');
    await workspace.stop();
    assert.deepEqual(
      (await workspace.start()).hookRuns.map(({ hook }) => hook),
      ['afterStart'],
    );
    assert.equal(await workspace.exec('cat /tmp/seen'), 'file\n');
    assert.deepEqual((await workspace.start()).hookRuns, [], 'not where nothing was started');
  });

  test('that fails means that it is not started, and can be once that is mended', async () => {
    await workspace.create();
    await workspace.exec('echo x > file');
    const { lastSnapshot } = await workspace.stop();
    await workspace.update({ hooks: { afterStart: { command: 'rm file; echo no network; exit 1' } } });
    const error = await world.failure(workspace.start());
    assert.equal(error.code, 'HOOK_FAILED');
    assert.match(error.message, /no network/);
    assert.equal(await workspace.isRunning(), false);
    assert.notEqual(await workspace.state(), 'active');
    await workspace.update({ hooks: {} });
    assert.equal((await workspace.start()).restoredFrom, lastSnapshot?.id);
    assert.equal(await workspace.exec('cat file'), 'x\n');
  });

  test('that fails at the first start means that there is no workspace', async () => {
    const running = world.running();
    const hooks = { afterStart: { command: 'exit 1' } };
    assert.equal(await code(workspace.create({ hooks })), 'HOOK_FAILED');
    assert.equal(await code(workspace.describe()), 'WORKSPACE_NOT_FOUND');
    assert.deepEqual(world.running(), running);
  });

  test('that fails is only told where it says warn', async () => {
    const hooks = { afterStart: { command: 'exit 4', onFailure: 'warn' } };
    const { hookRuns, state } = await workspace.create({ hooks });
    assert.deepEqual([state, hookRuns[0]?.exitCode], ['active', 4]);
  });

  test('may start something that goes on', async () => {
    const command = 'sleep 300 & echo $! > /tmp/pid';
    await workspace.create({ hooks: { afterStart: { command } } });
    assert.equal(await workspace.exec('kill -0 $(cat /tmp/pid) && echo alive'), 'alive\n');
  });

  test('runs for files that are adopted', async () => {
    await workspace.create({ hooks: { afterStart: { command: 'cp other /tmp/seen', onFailure: 'warn' } } });
    await workspace.wakeByItself('echo y > other');
    const { how, hookRuns } = await workspace.start({ onDiverged: 'adopt' });
    assert.deepEqual([how, hookRuns[0]?.ok], ['adopted', true]);
    assert.equal(await workspace.exec('cat /tmp/seen'), 'y\n');
  });
});

test('odd commands are run as they are', async () => {
  const command = `printf '%s|' "it's" '$HOME' "a  b" \\\\ 'ünï'\nexit 0`;
  const { hookRuns } = await workspace.create({ hooks: { afterStart: { command } } });
  assert.equal(hookRuns[0]?.output, `it's|$HOME|a  b|\\|ünï|`);
});
