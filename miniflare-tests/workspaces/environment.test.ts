// The environment of a sandbox: its variables, which each start sets, and its memory, which cannot be captured.

import assert from 'node:assert/strict';
import { after, before, beforeEach, describe, test } from 'node:test';

import { World } from '../world.ts';
import type { NamedWorkspace } from './named.ts';

let world: World;
let count = 0;
let workspace: NamedWorkspace;

before(async () => {
  world = await World.start();
});
after(() => world[Symbol.asyncDispose]());

beforeEach(() => {
  workspace = world.workspace(`agent-${++count}`);
});

describe('variables', () => {
  const env = { KEY: 'sesame', ODD: `a b'c"d$e\nf`, EMPTY: '' };
  const show = 'printf "%s|" "$KEY" "$ODD" "$EMPTY" "${EMPTY-unset}"; echo';
  const expected = `sesame|a b'c"d$e\nf|||\n`;

  test('are set in the sandbox by each start', async () => {
    await workspace.create({ env });
    assert.equal(await workspace.exec(show), expected);
    await workspace.stop();
    assert.equal((await workspace.start()).how, 'restored');
    assert.equal(await workspace.exec(show), expected);
    await workspace.coldStart('true');
    await workspace.start();
    assert.equal(await workspace.exec(show), expected);
  });

  test('appear in answers with their names only', async () => {
    const answers: unknown[] = [await workspace.create({ env })];
    answers.push(await workspace.getOrCreate(), await workspace.describe(), await workspace.stop());
    answers.push(await workspace.start(), await workspace.fork({ copyEnv: true }));
    answers.push(await workspace.update({ persistent: true }), await world.rpc('workspaces/list', {}));
    assert.deepEqual((answers[0] as { envNames: string[] }).envNames, ['EMPTY', 'KEY', 'ODD']);
    assert.ok(!JSON.stringify(answers).includes('sesame'));
  });

  test('are not part of a snapshot', async () => {
    await workspace.create({ env });
    const { lastSnapshot, sandboxId } = await workspace.stop();
    assert.equal(await workspace.printFromSnapshot(lastSnapshot!.id, 'echo "[$KEY]"'), '[]\n');
    const manifest = await world.rpc('manifest', { sandboxId, snapshotId: lastSnapshot!.id });
    assert.ok(!JSON.stringify(manifest).includes('sesame'));
  });

  test('are set for commands and hooks after the object of the sandbox restarted', async () => {
    await workspace.create({ env, hooks: { beforeStop: { command: 'echo "$KEY" > hook' } } });
    await world.crash();
    assert.equal((await workspace.start()).how, 'running');
    assert.equal(await workspace.exec('echo "$KEY"'), 'sesame\n');
    await world.crash();
    await workspace.stop();
    await workspace.start();
    assert.equal(await workspace.exec('cat hook'), 'sesame\n');
  });

  test('change at once by an update, and removed ones are unset by the next start', async () => {
    const show = 'echo "${KEY-unset} ${ODD-unset}"';
    await workspace.create({ env });
    await workspace.update({ env: { KEY: 'open' } });
    assert.equal(await workspace.exec('echo "$KEY"'), 'open\n');
    await workspace.stop();
    await workspace.start();
    assert.equal(await workspace.exec(show), 'open unset\n');
    await workspace.stop();
    await workspace.update({ env: {} });
    await workspace.start();
    assert.equal(await workspace.exec(show), 'unset unset\n');
  });
});

describe('variables that change how shells work', () => {
  const env = {
    BASH_COMPAT: '3.1',
    CDPATH: '/tmp',
    EXECIGNORE: '*',
    FUNCNEST: '1',
    GLOBIGNORE: '*',
    POSIXLY_CORRECT: '1',
    TMOUT: '1',
  };

  test('do not affect starts, stops and checkpoints, and are set for commands and hooks', async () => {
    const hooks = { beforeStop: { command: 'echo "$FUNCNEST $POSIXLY_CORRECT" > hook' } };
    const { sandboxId } = await workspace.create({ env, hooks });
    await workspace.exec('echo x > file');
    await world.rpc('checkpoints/create', { sandboxId, name: 's1' });
    await workspace.exec('echo y > file');
    await world.rpc('checkpoints/restore', { sandboxId, name: 's1' });
    assert.deepEqual((await workspace.stop()).hookRuns[0]?.exitCode, 0);
    assert.equal((await workspace.start()).how, 'restored');
    const show = 'read -r file < file; read -r hook < hook; echo "$file $hook $TMOUT"';
    assert.equal(await workspace.exec(show), 'x 1 1 1\n');
  });
});

describe('the option memory', () => {
  /** Reads everything that a call could change. */
  const readState = async () => ({
    objects: await world.objects(),
    running: world.running(),
    workspaces: (await world.rpc('workspaces/list', {})).workspaces,
    snapshots: await workspace.snapshots(),
  });

  test('is refused without effects, over both transports', async () => {
    await workspace.create();
    await workspace.exec('echo x > file');
    const [name, sandboxId] = [workspace.name, await workspace.sandboxId()];
    const before = await readState();
    const calls = {
      snapshot: { sandboxId },
      'workspaces/create': { name: 'with-memory' },
      'workspaces/getOrCreate': { name: 'with-memory' },
      'workspaces/stop': { name },
      'workspaces/fork': { name, count: 2 },
    };
    for (const [operation, options] of Object.entries(calls)) {
      for (const call of [world.rpc, world.http]) {
        const error = await world.failure(call(operation, { ...options, memory: true }));
        assert.deepEqual([error.code, error.kind], ['UNSUPPORTED', 'unsupported'], operation);
        assert.ok(error.remediation, operation);
      }
    }
    assert.deepEqual(await readState(), before);
    assert.equal(await workspace.state(), 'active');
  });

  test('is accepted with the value false', async () => {
    await world.rpc('workspaces/create', { name: workspace.name, memory: false });
    const { state } = await world.rpc('workspaces/stop', { name: workspace.name, memory: false });
    assert.equal(state, 'stopped');
  });
});
