// Background commands in real containers: what ends them, and what does not.

import assert from 'node:assert/strict';
import { after, before, test } from 'node:test';

import { World } from '../world.ts';

let world: World;

before(async () => {
  world = await World.start();
});
after(() => world[Symbol.asyncDispose]());

const code = async (call: Promise<unknown>) => (await world.failure(call)).code;

/** The output of a command when it has a line or the command has ended. */
async function output(target: object, commandId: string, stream = 'stdout') {
  const options = { ...target, commandId, stream, waitSeconds: 30 };
  let part = await world.rpc('commands/output', options);
  while (part.state === 'running' && !part.content.endsWith('\n'))
    part = await world.rpc('commands/output', options);
  return part;
}

const isRunning = async (id: string, process: string) =>
  (await world.exec(id, `kill -0 ${process} 2>/dev/null && echo running; true`)) === 'running\n';

test('a command runs without a caller until it is ended, with all of its processes', async () => {
  await world.exec('box', 'mkdir -p src; echo x > file');
  const box = { sandboxId: 'box' };
  const command = 'sleep 600 & echo $! "$(pwd)" "$A$(cat)"; wait';
  const env = { A: "it's $(x)" };
  const started = await world.http('commands/start', { ...box, command, cwd: 'src', env, stdin: 'in' });
  assert.equal(started.state, 'running');
  const { content } = await output(box, started.commandId);
  const [process, text] = content.split(/ (.*)/);
  assert.equal(text, `/workspace/src it's $(x)in`);
  const { commands } = await world.rpc('commands/list', box);
  assert.deepEqual(
    commands.map((own: any) => [own.commandId, own.command, own.state]),
    [[started.commandId, command, 'running']],
  );
  const options = { ...box, commandId: started.commandId, killSignal: 'HUP' };
  const ended = await world.rpc('commands/end', options);
  assert.deepEqual([ended.state, ended.exitCode], ['killed', 129]);
  assert.equal(await isRunning('box', process), false);
});

test('the output of a command that has ended can be read, with every byte', async () => {
  await world.exec('bytes', 'echo x > file');
  const box = { sandboxId: 'bytes' };
  const command = "printf 'a\\377\\0'; echo err >&2; exit 3";
  const { commandId } = await world.rpc('commands/start', { ...box, command });
  assert.equal((await output(box, commandId, 'stderr')).content, 'err\n');
  const { state, exitCode, encoding, content } = await output(box, commandId);
  assert.deepEqual([state, exitCode, encoding], ['exited', 3, 'base64']);
  assert.equal(Buffer.from(content, 'base64').toString('latin1'), 'a\xff\0');
});

test('a command is killed at its time limit', async () => {
  await world.exec('limit', 'echo x > file');
  const box = { sandboxId: 'limit' };
  const command = 'sleep 600 & echo $! > pid; wait';
  const { commandId } = await world.rpc('commands/start', { ...box, command, timeoutSeconds: 1 });
  const { state, exitCode, timedOut } = await output(box, commandId);
  assert.deepEqual([state, exitCode, timedOut], ['killed', 124, true]);
  assert.equal(await isRunning('limit', '$(cat pid)'), false);
});

test('the end of a process by its command line is the end of its command', async () => {
  await world.exec('named', 'echo x > file');
  const box = { sandboxId: 'named' };
  const { commandId } = await world.rpc('commands/start', { ...box, command: 'sleep 4323' });
  const killing = await world.rpc('exec', { ...box, command: 'pkill -f "sleep 4323"' });
  assert.equal(killing.exitCode, 0);
  const { state, exitCode } = await output(box, commandId);
  assert.deepEqual([state, exitCode], ['exited', 143]);
});

test('a command continues when the Worker is restarted', async () => {
  const workspace = world.workspace('crashed');
  await workspace.create();
  const name = { name: 'crashed' };
  const command = 'echo begun; until [ -e go ]; do sleep 0.05; done; echo over';
  const { commandId } = await world.rpc('commands/start', { ...name, command });
  await output(name, commandId);
  await world.crash();
  await world.rpc('exec', { ...name, command: 'touch go' });
  const { content } = await world.rpc('commands/output', { ...name, commandId, offset: 6, waitSeconds: 30 });
  assert.equal(content, 'over\n');
});

test('a stop ends the commands after it has saved the files, and a start begins without commands', async () => {
  const workspace = world.workspace('stopped');
  await workspace.create();
  const name = { name: 'stopped' };
  const { commandId, started } = await world.rpc('commands/start', {
    ...name,
    command: 'echo saved > file; echo begun; exec sleep 600',
  });
  assert.equal(started, undefined);
  await output(name, commandId);
  await workspace.stop();
  for (const operation of ['commands/output', 'commands/end'])
    assert.equal(await code(world.rpc(operation, { ...name, commandId })), 'SANDBOX_NOT_RUNNING');
  assert.equal(await code(world.rpc('commands/list', name)), 'SANDBOX_NOT_RUNNING');
  assert.equal((await workspace.describe()).state, 'stopped');
  const again = await world.rpc('commands/start', { ...name, command: 'cat file' });
  assert.equal(again.started.how, 'restored');
  assert.equal((await output(name, again.commandId)).content, 'saved\n');
  const { commands } = await world.rpc('commands/list', name);
  assert.deepEqual(
    commands.map((own: any) => own.commandId),
    [again.commandId],
  );
  assert.equal(await code(world.rpc('commands/end', { ...name, commandId })), 'COMMAND_NOT_FOUND');
});

test('a container that was killed is reported, and none is started', async () => {
  await world.exec('killed', 'echo x > file');
  const box = { sandboxId: 'killed' };
  const { commandId } = await world.rpc('commands/start', { ...box, command: 'sleep 600' });
  await world.kill('killed');
  assert.equal(await code(world.rpc('commands/end', { ...box, commandId })), 'SANDBOX_NOT_RUNNING');
  assert.equal(await code(world.rpc('commands/start', { ...box, command: 'true' })), 'SANDBOX_NOT_RUNNING');
  assert.equal(world.running().includes(await world.objectId('killed')), false);
});
