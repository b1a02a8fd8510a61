// Hooks: commands that run in the sandbox before a workspace is stopped, and after it is started.

import assert from 'node:assert/strict';
import { after, before, beforeEach, describe, test } from 'node:test';

import { World } from '../world.ts';
import { CallInterceptor, isArchiving } from './calls.ts';
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

const code = async (call: Promise<unknown>) => (await world.failure(call)).code;

describe('beforeStop', () => {
  /** Creates a running workspace with this hook. */
  async function createWithHook(beforeStop: object) {
    await workspace.create({ hooks: { beforeStop }, env: { NAME: 'value' } });
    await workspace.exec('echo x > file');
  }

  test('runs in the directory with the variables, and the snapshot contains the files that it writes', async () => {
    await createWithHook({ command: 'echo "$PWD $NAME" > hook; echo out; echo err >&2' });
    const { hookRuns } = await workspace.stop();
    const [run] = hookRuns;
    assert.deepEqual([run?.hook, run?.ok, run?.exitCode, run?.timedOut], ['beforeStop', true, 0, false]);
    assert.deepEqual(run?.output.split('\n').sort(), ['', 'err', 'out']);
    await workspace.start();
    assert.equal(await workspace.exec('cat hook'), '/workspace value\n');
  });

  test('that fails leaves the workspace running, and the error contains its output', async () => {
    await createWithHook({ command: 'echo "the database is locked" >&2; exit 3' });
    const error = await world.failure(workspace.stop());
    assert.equal(error.code, 'HOOK_FAILED');
    assert.match(error.message, /exit code 3[^]*the database is locked/);
    const { state, problem } = await workspace.describe();
    assert.deepEqual([state, problem?.code, calls.count(isArchiving)], ['active', 'HOOK_FAILED', 0]);
    assert.equal(await workspace.exec('cat file'), 'x\n');
    await workspace.update({ hooks: {} });
    assert.equal((await workspace.stop()).state, 'stopped');
  });

  test('that fails with onFailure warn is reported, and the stop succeeds', async () => {
    await createWithHook({ command: 'echo oh; exit 3', onFailure: 'warn' });
    const { state, hookRuns, lastSnapshot } = await workspace.stop();
    assert.deepEqual([state, hookRuns[0]?.ok, hookRuns[0]?.exitCode], ['stopped', false, 3]);
    assert.ok(lastSnapshot);
  });

  test('that hangs is killed at its timeout, also if it ignores SIGTERM', async () => {
    await createWithHook({ command: 'sleep 60', timeoutSeconds: 1, onFailure: 'warn' });
    const { hookRuns } = await workspace.stop();
    assert.deepEqual([hookRuns[0]?.ok, hookRuns[0]?.timedOut], [false, true]);
    await workspace.start();
    const command = "trap '' TERM; while :; do sleep 1; done";
    await workspace.update({ hooks: { beforeStop: { command, timeoutSeconds: 1 } } });
    const error = await world.failure(workspace.stop());
    assert.equal(error.code, 'HOOK_FAILED');
    assert.match(error.message, /exceeded its time limit of 1 second and/);
    assert.equal(await workspace.exec("pgrep -f 'while :' | grep -vx -e $$ -e $PPID | wc -l"), '0\n');
  });

  test('that prints ten megabytes returns the beginning and the end of its output', async () => {
    await createWithHook({ command: 'echo first; head -c 10000000 /dev/zero | tr "\\0" x; echo; echo last' });
    const { output, ok } = (await workspace.stop()).hookRuns[0]!;
    assert.ok(ok && output.startsWith('first\nxxx') && output.endsWith('xxx\nlast\n'), output.slice(0, 100));
    assert.ok(output.length < 10_000, `${output.length} characters`);
  });

  test('that prints bytes that are not UTF-8 succeeds', async () => {
    await createWithHook({ command: `head -c 100000 /dev/urandom; printf '\\377\\303é\\n'` });
    const { ok, output } = (await workspace.stop()).hookRuns[0]!;
    assert.ok(ok && output.endsWith('é\n'), output.slice(-10));
  });

  test('that leaves a background process does not wait for it', async () => {
    await createWithHook({ command: 'sleep 300 & echo started', timeoutSeconds: 60 });
    const { hookRuns, state } = await workspace.stop();
    assert.deepEqual([hookRuns[0]?.ok, hookRuns[0]?.output, state], [true, 'started\n', 'stopped']);
  });

  test('that removes the files of its own run still returns its result', async () => {
    const command = 'rm -rf /run/sandbox-snapshotter.hook.*; echo out; exit 3';
    await createWithHook({ command, onFailure: 'warn' });
    for (const _ of [1, 2, 3]) {
      const { hookRuns, state } = await workspace.stop();
      assert.deepEqual([hookRuns[0]?.exitCode, hookRuns[0]?.output, state], [3, 'out\n', 'stopped']);
      await workspace.start();
    }
  });

  test('that never answers fails, and the workspace can be stopped later', async () => {
    await createWithHook({ command: 'echo out', timeoutSeconds: 1 });
    const blocked = calls.block(({ command }) => command?.includes('sandbox-snapshotter.hook') ?? false);
    const error = await world.failure(workspace.stop());
    assert.equal(error.code, 'HOOK_FAILED');
    assert.match(error.message, /the hook did not answer within 26 s/);
    blocked.release();
    calls.reset();
    assert.equal((await workspace.stop()).state, 'stopped');
  });

  test('does not run in a cold-started sandbox', async () => {
    await createWithHook({ command: 'echo hook > hook' });
    await workspace.coldStart('echo y > other');
    const { rescueSnapshotId, hookRuns } = await workspace.stop();
    assert.deepEqual(hookRuns, []);
    assert.equal(await workspace.printFromSnapshot(rescueSnapshotId!, 'ls'), 'other\n');
  });
});

describe('afterStart', () => {
  test('runs before a start returns, also at the creation', async () => {
    const hooks = { afterStart: { command: 'ls > /tmp/files; echo started' } };
    const { hookRuns } = await workspace.create({ hooks });
    assert.equal(hookRuns[0]?.output, 'started\n');
    await workspace.exec('echo x > file');
    await workspace.stop();
    assert.deepEqual(
      (await workspace.start()).hookRuns.map(({ hook }) => hook),
      ['afterStart'],
    );
    assert.equal(await workspace.exec('cat /tmp/files'), 'file\n');
    assert.deepEqual((await workspace.start()).hookRuns, [], 'no hook runs without a start');
  });

  test('that fails makes the start fail, and a start without the hook succeeds', async () => {
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
    assert.equal((await workspace.start()).restoredFrom?.snapshotId, lastSnapshot?.id);
    assert.equal(await workspace.exec('cat file'), 'x\n');
  });

  test('that fails at the creation removes the workspace', async () => {
    const running = world.running();
    const hooks = { afterStart: { command: 'exit 1' } };
    assert.equal(await code(workspace.create({ hooks })), 'HOOK_FAILED');
    assert.equal(await code(workspace.describe()), 'WORKSPACE_NOT_FOUND');
    assert.deepEqual(world.running(), running);
  });

  test('that fails with onFailure warn is reported, and the creation succeeds', async () => {
    const hooks = { afterStart: { command: 'exit 4', onFailure: 'warn' } };
    const { hookRuns, state } = await workspace.create({ hooks });
    assert.deepEqual([state, hookRuns[0]?.exitCode], ['active', 4]);
  });

  test('can start a background process', async () => {
    const command = 'sleep 300 & echo $! > /tmp/pid';
    await workspace.create({ hooks: { afterStart: { command } } });
    assert.equal(await workspace.exec('kill -0 $(cat /tmp/pid) && echo running'), 'running\n');
  });

  test('runs for adopted files', async () => {
    await workspace.create({ hooks: { afterStart: { command: 'cp other /tmp/seen', onFailure: 'warn' } } });
    await workspace.coldStart('echo y > other');
    const { how, hookRuns } = await workspace.start({ onDiverged: 'adopt' });
    assert.deepEqual([how, hookRuns[0]?.ok], ['adopted', true]);
    assert.equal(await workspace.exec('cat /tmp/seen'), 'y\n');
  });
});

test('a hook runs unusual commands unchanged', async () => {
  const command = `printf '%s|' "it's" '$HOME' "a  b" \\\\ 'ünï'\nexit 0`;
  const { hookRuns } = await workspace.create({ hooks: { afterStart: { command } } });
  assert.equal(hookRuns[0]?.output, `it's|$HOME|a  b|\\|ünï|`);
});
