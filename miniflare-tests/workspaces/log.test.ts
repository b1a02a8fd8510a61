// The log: every transition of a workspace with its cause, and no secrets.

import assert from 'node:assert/strict';
import { after, before, test } from 'node:test';

import { World } from '../world.ts';

let world: World;

before(async () => {
  world = await World.start({ clock: true });
});
after(() => world[Symbol.asyncDispose]());

/** Returns the lines of the snapshotter, without those of the SDK. */
const lines = () =>
  world.log.filter((line) => line.startsWith('{"')).map((line) => ({ line, ...JSON.parse(line) }));

/** Returns the logged transitions of a workspace, the newest first. */
const transitions = (name: string) =>
  lines()
    .filter((entry) => entry.event === 'workspace.transition' && entry.name === name)
    .map(({ from, to, at, cause }) => ({ ...(from === null ? {} : { from }), to, at, cause }))
    .reverse();

test('every transition is logged with its cause', async () => {
  const workspace = world.workspace('agent');
  await workspace.create();
  await workspace.exec('echo x > file');
  const { lastSnapshot } = await workspace.stop();
  await workspace.start();
  await workspace.endContainer();
  await workspace.start();
  await workspace.update({ currentSnapshotId: lastSnapshot?.id });
  await workspace.update({ hooks: { beforeStop: { command: 'exit 1' } } });
  await world.failure(workspace.stop());
  const { history } = await workspace.describe();
  assert.deepEqual(transitions('agent'), history);
  assert.deepEqual(
    history.map(({ to, cause }) => `${to}: ${cause.replaceAll(lastSnapshot!.id, 'snap')}`).reverse(),
    [
      'provisioning: created by a caller',
      'active: it was created',
      'stopping: it was stopped by a caller',
      'stopped: it was stopped by a caller; the snapshot snap was taken',
      'restoring: it was started by a caller',
      'active: its files are in place, from the snapshot snap',
      'restoring: its sandbox had ended',
      'active: its files are in place, from the snapshot snap; newer files may be lost',
      'restoring: it was rolled back to the snapshot snap',
      'active: it was rolled back to the snapshot snap',
      'stopping: it was stopped by a caller',
      'active: it could not be stopped: HOOK_FAILED',
    ],
  );
  await workspace.delete();
  assert.deepEqual(transitions('agent')[0]?.to, 'deleted');
});

test('every call is logged with its outcome and its correlation id', async () => {
  const workspace = world.workspace('called');
  await workspace.create({ tenant: 'other' });
  const error = await world.failure(workspace.start());
  const of = (event: string) => lines().filter((entry) => entry.event === event);
  const created = of('workspaces/create').at(-1);
  assert.deepEqual([created?.outcome, created?.tenant, created?.name], ['success', 'other', 'called']);
  const failed = of('workspaces/start').at(-1);
  assert.deepEqual([failed?.code, failed?.correlationId], ['WORKSPACE_NOT_FOUND', error.correlationId]);
});

test('the log contains no value of a variable, no output of a hook, and no content of a file', async () => {
  const secrets = ['sesame-variable', 'sesame-hook', 'sesame-file', 'sesame-name'];
  const workspace = world.workspace('secretive');
  const [env, hook] = [{ KEY: 'sesame-variable' }, { command: 'cat hook', onFailure: 'warn' }];
  await workspace.create({ env });
  await workspace.exec('printf "%s-file" sesame > sesame-name; printf "%s-hook" sesame > hook; cat hook');
  await workspace.update({ env, hooks: { beforeStop: hook, afterStart: hook } });
  await workspace.stop();
  await workspace.start();
  await workspace.update({ hooks: { beforeStop: { command: 'cat hook >&2; exit 1' } } });
  assert.match((await world.failure(workspace.stop())).message, /sesame-hook/);
  await world.failure(world.rpc('workspaces/create', { name: 'other', env: { '1': 'sesame-variable' } }));
  await world.failure(world.rpc('workspaces/update', { name: 'secretive', env: 'sesame-variable' }));
  await world.failure(workspace.create({ env }));
  await workspace.coldStart('echo sesame-file > other');
  await world.failure(workspace.start());
  await workspace.delete();
  const timed = world.workspace('timed');
  await timed.create({ hooks: { onTimeout: { command: 'printf "%s-hook" sesame; exit 1' } } });
  await timed.advanceClock(1200);
  assert.match((await timed.describe()).problem!.message, /sesame-hook/);
  assert.ok(lines().length > 20);
  for (const { line } of lines()) for (const secret of secrets) assert.ok(!line.includes(secret), line);
});
