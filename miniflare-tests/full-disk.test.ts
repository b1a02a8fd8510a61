// A sandbox whose disk is full, outside of its directory.

import assert from 'node:assert/strict';
import { after, beforeEach, before, test } from 'node:test';

import { PUBLISHED_CLASS, World } from './world.ts';

const NAME = 'notebook';

/** Lets a command of the workspace fill a small disk that has the temporary files and those of backups. */
const FILL = `mkdir -p /mnt/small && mount -t tmpfs -o size=3m,nr_inodes=400 none /mnt/small || exit
for d in /tmp /var/tmp /var/backups; do
  mkdir -p $d /mnt/small$d; cp -a $d/. /mnt/small$d/; mount --bind /mnt/small$d $d || exit
done
{ head -c 10M /dev/zero >/mnt/small/large; n=0; while : >/mnt/small/$((n += 1)); do :; done; } 2>/dev/null; ! touch /tmp/new`;

let world: World;
before(async () => {
  world = await World.start();
});
after(() => world[Symbol.asyncDispose]());

const inWorkspace = (operation: string, options: object = {}): Promise<any> =>
  world.rpc(operation, { name: NAME, ...options });

beforeEach(async () => {
  await inWorkspace('workspaces/getOrCreate');
  const { exitCode, stderr } = await inWorkspace('exec', {
    command: `[ -e /mnt/small ] || { head -c 500000 /dev/urandom >random; sha256sum random >sum; ${FILL}; }`,
  });
  assert.equal(exitCode, 0, stderr);
});

const VERIFY = { command: 'sha256sum -c sum' };

test('commands run, and files are read', async () => {
  assert.equal((await inWorkspace('exec', VERIFY)).stdout, 'random: OK\n');
  assert.match((await inWorkspace('files/read', { path: 'sum' })).content, /random/);
  const large = await inWorkspace('exec', { command: 'head -c 50000 /dev/zero | tr "\\\\0" x' });
  assert.equal(large.stdout.length, 50_000);
});

test('a snapshot has the files, or fails and changes nothing', async () => {
  const { sandboxId } = await inWorkspace('workspaces/getByName');
  const taken = world.rpc('snapshot', { sandboxId });
  if (PUBLISHED_CLASS) {
    const { code, message } = await world.failure(taken);
    assert.equal(code, 'BACKUP_FAILED');
    assert.match(message, /no space left on device/i);
  } else {
    const ref = await taken;
    assert.match(ref.ref.backup.format, /^tar/, 'an archive that needs no space');
    await world.assertRestores(ref, VERIFY.command, 'random: OK\n');
  }
  assert.equal((await inWorkspace('exec', VERIFY)).stdout, 'random: OK\n');
});

test('a stop succeeds, at the latest when a command has freed space', async () => {
  const free = { command: 'rm -r /mnt/small/[0-9l]*' };
  if (PUBLISHED_CLASS) {
    assert.equal((await world.failure(inWorkspace('workspaces/stop'))).code, 'BACKUP_FAILED');
    assert.equal((await inWorkspace('exec', free)).exitCode, 0);
  }
  await inWorkspace('workspaces/stop');
  const { started, stdout } = await inWorkspace('exec', VERIFY);
  assert.deepEqual([started.how, started.mayHaveLost, stdout], ['restored', false, 'random: OK\n']);
});
