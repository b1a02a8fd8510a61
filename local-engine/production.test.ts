/** Backups in production mode: uploaded by signed URLs, and mounted. */
import assert from 'node:assert/strict';
import { readdirSync, readFileSync } from 'node:fs';
import { after, before, test } from 'node:test';
import { startFixture, type TestSandbox, type TestFixture } from './testing.ts';

let fixture: TestFixture;
let from: TestSandbox;
let count = 0;

before(async () => {
  fixture = await startFixture({}, 'production');
  from = fixture.sandbox('from');
});
after(() => fixture[Symbol.asyncDispose]());

const print = async (sandbox: TestSandbox, command: string): Promise<string> =>
  (await sandbox.call('exec', command)).stdout;

async function restore(backup: object): Promise<TestSandbox> {
  const to = fixture.sandbox(`to-${++count}`);
  await to.call('restoreBackup', backup);
  return to;
}

/** Returns the arguments of the FUSE daemons on this machine. */
const daemons = (): string[] =>
  readdirSync('/proc').flatMap((pid) => {
    try {
      const command = readFileSync(`/proc/${pid}/cmdline`, 'latin1');
      return /^\/usr\/bin\/(squashfuse|fuse-overlayfs)\0/.test(command) ? command.split('\0').slice(1) : [];
    } catch {
      return []; // The process has just ended.
    }
  });

test('a restored directory is an overlay with the files of the backup', async () => {
  await from.call('exec', 'mkdir -p /workspace/d && echo one >/workspace/d/f');
  const backup = await from.call('createBackup', { dir: '/workspace/d' });
  assert.deepEqual(Object.keys(backup), ['id', 'dir']);
  const to = await restore(backup);
  assert.equal(await print(to, 'cat /workspace/d/f'), 'one');
  assert.match(
    await print(to, 'grep " /workspace/d " /proc/mounts'),
    /^fuse-overlayfs .* fuse\.fuse-overlayfs /,
  );
  await to.call('exec', 'echo two >/workspace/d/f');
  assert.equal(await print(to, 'cat /workspace/d/f'), 'two');
  await to.call('restoreBackup', backup);
  assert.equal(await print(to, 'cat /workspace/d/f'), 'one');
});

test('a large archive is uploaded in parts and downloaded in ranges', async () => {
  await from.call('exec', 'mkdir -p /workspace/large && head -c 12M /dev/urandom >/workspace/large/blob');
  const to = await restore(await from.call('createBackup', { dir: '/workspace/large' }));
  const hash = 'sha256sum /workspace/large/blob';
  assert.equal(await print(to, hash), await print(from, hash));
});

test('new files in a restored tree have unique inode numbers', async () => {
  // More files than the sandbox had before: on a tmpfs, the numbers would overlap.
  await from.call('exec', 'mkdir -p /workspace/n/{1..400} && touch /workspace/n/{1..400}/f');
  const to = await restore(await from.call('createBackup', { dir: '/workspace/n' }));
  await to.call('exec', 'mkdir /workspace/n/new{1..100} && touch /workspace/n/new{1..100}/f');
  const { stdout, stderr } = await to.call('exec', 'find /workspace/n -printf "%i\\n" | sort | uniq -d');
  assert.deepEqual([stdout, stderr], ['', '']);
});

test('restoreBackup of an invalid archive fails with BACKUP_RESTORE_FAILED', async () => {
  await from.call('exec', 'mkdir -p /workspace/none');
  const { id } = await from.call('createBackup', { dir: '/workspace/none' });
  const to = fixture.sandbox('none');
  // The SDK does not download an archive if a file with the same size exists.
  await to.call('exec', `head -c 4096 /dev/zero | tr '\\0' x >/var/backups/${id}.sqsh`);
  await assert.rejects(to.call('restoreBackup', { id, dir: '/workspace/none' }), {
    code: 'BACKUP_RESTORE_FAILED',
  });
});

test('the end of a sandbox ends its mounts', async () => {
  await from.call('exec', 'mkdir -p /workspace/ends && touch /workspace/ends/f');
  const backup = await from.call('createBackup', { dir: '/workspace/ends' });
  const to = await restore(backup);
  const ownDaemons = () => daemons().filter((argument) => argument.includes(backup.id));
  assert.notEqual(ownDaemons().length, 0);
  await fixture.engine.kill(await to.id());
  assert.deepEqual(ownDaemons(), []);
  assert.doesNotMatch(readFileSync('/proc/mounts', 'utf8'), new RegExp(backup.id));
});
