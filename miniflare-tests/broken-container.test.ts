// An agent breaks the container of its workspace, and goes back to a snapshot.

import assert from 'node:assert/strict';
import { after, before, test } from 'node:test';

import { modeOfRun } from '../scripts/local.ts';
import { PUBLISHED_CLASS, World } from './world.ts';

let world: World;
before(async () => {
  world = await World.start();
});
after(() => world[Symbol.asyncDispose]());

/** A workspace with a snapshot, whose file was changed since. */
class Workspace {
  readonly name: string;
  sandboxId = '';
  snapshotId = '';

  private constructor(name: string) {
    this.name = name;
  }

  static async create(name: string): Promise<Workspace> {
    const workspace = new Workspace(name);
    ({ sandboxId: workspace.sandboxId } = await workspace.call('workspaces/getOrCreate'));
    await workspace.exec('echo first >file');
    const { ref } = await workspace.snapshot();
    workspace.snapshotId = ref.snapshotId;
    await workspace.exec('echo second >file');
    return workspace;
  }

  call(operation: string, options: object = {}): Promise<any> {
    return world.rpc(operation, { name: this.name, ...options });
  }

  snapshot(options: object = {}): Promise<any> {
    return world.rpc('snapshot', { sandboxId: this.sandboxId, ...options });
  }

  /** Runs a command, which must succeed, and returns its output. */
  async exec(command: string, options: object = {}): Promise<string> {
    const { exitCode, stdout, stderr } = await this.call('exec', { command, ...options });
    assert.equal(exitCode, 0, stderr);
    return stdout;
  }

  async assertRollsBack() {
    await this.call('workspaces/update', { currentSnapshotId: this.snapshotId });
    assert.equal(await this.exec('cat file'), 'first\n');
    const { sandboxId } = await this.call('workspaces/getByName');
    assert.notEqual(sandboxId, this.sandboxId);
  }
}

for (const [what, command] of [
  ['deleted', 'cd / && rm -r /workspace'],
  ['replaced by a file', 'cd / && rm -r /workspace && echo x >/workspace'],
] as const) {
  test(`after its directory was ${what}, a workspace goes back to a snapshot`, async () => {
    const workspace = await Workspace.create(`rollback-${what.replaceAll(' ', '-')}`);
    await workspace.exec(command);
    await workspace.assertRollsBack();
    const { status } = await world.sandbox(workspace.sandboxId, 'getState');
    assert.equal(status === 'stopped', what === 'deleted', 'what is left of the files is not destroyed');
  });

  test(`after its directory was ${what}, a workspace continues with a fork`, async () => {
    const workspace = await Workspace.create(`promote-${what.replaceAll(' ', '-')}`);
    const newName = `${workspace.name}-fork`;
    await workspace.call('workspaces/fork', { newName, from: 'latest' });
    await world.rpc('workspaces/stop', { name: newName });
    await workspace.exec(command);
    await workspace.call('workspaces/promote', { from: newName });
    assert.equal(await workspace.exec('cat file'), 'first\n');
  });

  test(`after its directory was ${what}, nothing is captured, and a command can create it`, async () => {
    const workspace = await Workspace.create(`repair-${what.replaceAll(' ', '-')}`);
    await workspace.exec(command);
    const inDirectory = await world.failure(workspace.call('exec', { command: 'rm -rf *' }));
    assert.equal(inDirectory.code, 'INVALID_DIRECTORY', 'it does not run elsewhere');
    for (const call of [workspace.snapshot(), workspace.call('workspaces/stop')]) {
      const { code, message } = await world.failure(call);
      assert.match(code ?? '', /^(INVALID_DIRECTORY|BACKUP_FAILED)$/, message);
    }
    assert.equal((await workspace.call('workspaces/getOrCreate')).how, 'running');
    await workspace.exec('rm -f workspace; mkdir workspace; echo third >workspace/file', { cwd: '/' });
    assert.equal(await workspace.exec('cat file'), 'third\n');
    await workspace.snapshot();
    await workspace.call('workspaces/stop');
    assert.equal(await workspace.exec('cat file'), 'third\n');
  });
}

test('after the files of the service in the container were deleted, the present files can be kept', async () => {
  const workspace = await Workspace.create('runtime-files');
  await workspace.exec('rm -rf /run/* /tmp/*');
  assert.equal((await world.failure(workspace.call('workspaces/start'))).code, 'WORKSPACE_DIVERGED');
  const { how } = await workspace.call('workspaces/start', { onDiverged: 'adopt' });
  assert.equal(how, 'adopted');
  // The class notices with the first call that its file is missing, and writes it again.
  const stop = () => workspace.call('workspaces/stop');
  await stop().catch(stop);
  assert.equal(await workspace.exec('cat file'), 'second\n');
});

test(
  'a workspace whose container has no programs any more goes back to a snapshot',
  { skip: PUBLISHED_CLASS && 'the programs of these containers are read-only' },
  async () => {
    const workspace = await Workspace.create('no-programs');
    await workspace.exec('rm -rf /usr/bin/* /bin/*');
    const { code, message } = await world.failure(workspace.call('exec', { command: 'true' }));
    assert.equal(code, 'SANDBOX_UNSUPPORTED', message);
    await workspace.assertRollsBack();
  },
);

for (const [what, command] of [
  ['were unmounted', 'cd / && umount -l /workspace'],
  ['are below another mount', 'cd / && mount -t tmpfs tmpfs /workspace'],
  [
    'lost the program that shows them',
    'cd / && pkill -KILL fuse-overlayfs && until ! ls /workspace; do :; done 2>/dev/null',
  ],
] as const)
  test(
    `where the restored files ${what}, no empty directory is captured or handed out`,
    { skip: modeOfRun() !== 'production' && 'only there, restored files are mounted' },
    async () => {
      const workspace = await Workspace.create(`overlay-${what.replaceAll(' ', '-')}`);
      await workspace.call('workspaces/stop');
      await workspace.exec('echo third >file');
      const { lastSnapshot } = await workspace.call('workspaces/getByName');
      await workspace.exec(command);
      const codeOf = async (call: Promise<unknown>) => (await world.failure(call)).code ?? '';
      assert.match(await codeOf(workspace.snapshot()), /^(INVALID_DIRECTORY|BACKUP_FAILED)$/);
      assert.equal(await codeOf(workspace.call('workspaces/getOrCreate')), 'WORKSPACE_DIVERGED');
      assert.match(await codeOf(workspace.call('workspaces/stop')), /^(INVALID_DIRECTORY|BACKUP_FAILED)$/);
      const { lastSnapshot: last } = await workspace.call('workspaces/getByName');
      assert.deepEqual(last, lastSnapshot);
      const started = await workspace.call('workspaces/start', { onDiverged: 'discard' });
      assert.deepEqual([started.how, started.mayHaveLost], ['restored', true]);
      assert.equal(await workspace.exec('cat file'), 'second\n');
      await workspace.exec(command);
      await workspace.assertRollsBack();
    },
  );

test('where files are below another mount, no empty directory is captured, and they come back', async () => {
  const workspace = await Workspace.create('below-a-mount');
  const { lastSnapshot } = await workspace.call('workspaces/getByName');
  await workspace.exec('cd / && mount -t tmpfs tmpfs /workspace');
  for (const call of [() => workspace.snapshot(), () => workspace.call('workspaces/stop')]) {
    const { code, message } = await world.failure(call());
    assert.match(code ?? '', /^(INVALID_DIRECTORY|BACKUP_FAILED)$/, message);
  }
  for (const call of [
    () => workspace.exec('ls'),
    () => workspace.call('commands/start', { command: 'ls' }),
    () => workspace.call('files/list', { path: '' }),
    () => workspace.call('files/write', { path: 'file', content: 'lost' }),
  ]) {
    const { code, message } = await world.failure(call());
    assert.equal(code, 'INVALID_DIRECTORY', message);
    assert.match(message, /does not show its files any more/);
  }
  assert.match(await workspace.exec('grep -c " /workspace " /proc/mounts', { cwd: '/' }), /^[1-9]/);
  assert.equal((await world.failure(workspace.call('workspaces/start'))).code, 'WORKSPACE_DIVERGED');
  assert.deepEqual((await workspace.call('workspaces/getByName')).lastSnapshot, lastSnapshot);
  const { sandboxId } = workspace;
  await world.rpc('exec', { sandboxId, command: 'umount /workspace', cwd: '/' });
  await workspace.call('workspaces/stop');
  assert.equal(await workspace.exec('cat file'), 'second\n');
});

test('what is in a mount over the files is kept where the caller says so', async () => {
  const workspace = await Workspace.create('adopted-mount');
  await workspace.exec('cd / && mount -t tmpfs tmpfs /workspace && echo third >/workspace/file');
  await workspace.call('workspaces/start', { onDiverged: 'adopt' });
  await workspace.call('workspaces/stop');
  assert.equal(await workspace.exec('cat file'), 'third\n');
});
