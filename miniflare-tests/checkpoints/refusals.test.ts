// Refused checkpoint operations: they have no effect, and their errors name a remedy.

import assert from 'node:assert/strict';
import { after, before, beforeEach, describe, test } from 'node:test';

import { World } from '../world.ts';
import { CheckpointDirectory, quoted } from './checkpoint-directory.ts';

let world: World;
let directory: CheckpointDirectory;
let count = 0;

before(async () => {
  world = await World.start();
});
after(() => world[Symbol.asyncDispose]());

beforeEach(async () => {
  directory = new CheckpointDirectory(world, `refused-${++count}`);
  await directory.exec('echo 1 > file');
});

describe('a directory', () => {
  test('that is missing, is a file, or is outside the permitted directories is refused', async () => {
    await new CheckpointDirectory(world, directory.id, '/workspace/missing').assertRefused(
      'INVALID_DIRECTORY',
    );
    await new CheckpointDirectory(world, directory.id, '/workspace/file').assertRefused('INVALID_DIRECTORY');
    await new CheckpointDirectory(world, directory.id, '/etc').assertRefused('INVALID_DIRECTORY');
    assert.equal(await directory.exec('ls -A'), 'file\n');
  });

  test('that is reached through a symbolic link is refused, and the target stays unchanged', async () => {
    await directory.exec(
      'mkdir -p /srv/target/below; echo 1 > /srv/target/file; ln -s /srv/target link; ln -s link way',
    );
    for (const dir of ['link', 'way', 'link/below'])
      await new CheckpointDirectory(world, directory.id, `/workspace/${dir}`).assertRefused(
        'INVALID_DIRECTORY',
      );
    assert.equal(
      await directory.exec('find /srv/target | sort'),
      '/srv/target\n/srv/target/below\n/srv/target/file\n',
    );
  });

  test('inside the repository of another directory is refused with a hint at that directory', async () => {
    await directory.exec('mkdir -p a/b; git init -q');
    const inside = new CheckpointDirectory(world, directory.id, '/workspace/a/b');
    await inside.assertRefused('INVALID_DIRECTORY');
    assert.match((await world.failure(inside.create('s1'))).remediation ?? '', /"\/workspace"/);
    assert.equal(await directory.exec('ls -A a/b'), '');
  });

  test('with an unusual name can have checkpoints', async () => {
    const dir = '/workspace/it\'s "odd" $(touch ran) : 文件';
    await directory.exec(`mkdir ${quoted(dir)}; echo 1 > ${quoted(`${dir}/file`)}`);
    await directory.call('create', { name: 's1', dir });
    await directory.exec(`echo 2 > ${quoted(`${dir}/file`)}`);
    assert.match((await directory.call('diff', { name: 's1', dir })).diff, /^-1\n\+2$/m);
    assert.deepEqual((await directory.call('restore', { name: 's1', dir })).changed, ['file']);
    assert.equal(await directory.exec('ls ran 2>/dev/null; true'), '');
  });
});

test('an invalid name of a checkpoint is refused', async () => {
  for (const name of [
    '',
    '-a',
    '.a',
    'a/b',
    'a b',
    'a..b',
    'a.',
    'a.lock',
    'ä',
    "a'b",
    'a\n',
    'x'.repeat(101),
  ]) {
    for (const operation of ['create', 'restore', 'diff'] as const) {
      assert.equal(
        await directory.errorCode(directory.call(operation, { name })),
        'INVALID_CHECKPOINT_NAME',
        name,
      );
    }
  }
  assert.match((await world.failure(directory.create(''))).message, /name is required/);
});

describe('a repository', () => {
  for (const folder of ['refs', 'refs/sandbox', 'refs/sandbox/snapshots']) {
    test(`whose ${folder} is a symbolic link is refused, and the target keeps its files`, async () => {
      await directory.create('s1');
      await directory.exec(`mkdir /srv; mv .git/${folder} /srv/target; ln -s /srv/target .git/${folder}; mkdir -p .git/refs/sandbox/snapshots
        touch .git/refs/sandbox/a.lock .git/refs/sandbox/snapshots/b.lock; find /srv/target > /tmp/listing`);
      await directory.assertRefused('CHECKPOINT_FAILED');
      assert.match(
        (await world.failure(directory.create('s1'))).message,
        new RegExp(`/workspace/.git/${folder}"`),
      );
      assert.equal(await directory.exec('find /srv/target | diff /tmp/listing -'), '');
    });
  }

  test('whose checkpoint is a symbolic ref keeps the branch of that ref', async () => {
    await directory.create('s1');
    await directory.exec(`git update-ref refs/heads/main refs/sandbox/snapshots/s1; git rev-parse main > /tmp/main
      git symbolic-ref refs/sandbox/snapshots/s2 refs/heads/main; git symbolic-ref refs/sandbox/before-restore refs/heads/main
      echo 2 > file`);
    await directory.create('s2');
    await directory.exec('echo 3 > file');
    await directory.restore('s2');
    assert.equal(await directory.exec('git rev-parse main | diff /tmp/main -; cat file'), '2\n');
  });
});

test('an image without git is refused with an instruction to install it', async () => {
  // The PATH contains every program except git.
  await directory.exec('mkdir /tmp/bin; ln -s /usr/bin/* /tmp/bin; rm /tmp/bin/git*');
  await world.sandbox(directory.id, 'setEnvVars', { PATH: '/tmp/bin' });
  await directory.assertRefused('GIT_MISSING');
  assert.match((await world.failure(directory.create('s1'))).remediation ?? '', /RUN apt-get .* git/);
  assert.equal(await directory.exec('ls -A'), 'file\n');
});

test('a call from another lineage is refused', async () => {
  const call = { name: 's1', lineageScope: 'other-lineage' };
  assert.equal(await directory.errorCode(directory.call('create', call)), 'CROSS_LINEAGE');
  await directory.call('create', { ...call, allowCrossLineage: true });
});

test('a checkpoint of another tool without the files of nested repositories is not restored', async () => {
  await directory.exec(`export GIT_AUTHOR_NAME=a GIT_AUTHOR_EMAIL=a@b GIT_COMMITTER_NAME=a GIT_COMMITTER_EMAIL=a@b
    git init -q; mkdir sub; cd sub; git init -q; echo 1 > s; git add s; git commit -qm s; cd ..
    git add . 2>/dev/null; git commit -qm all; git update-ref refs/sandbox/snapshots/s1 HEAD; echo 2 > sub/s`);
  await directory.assertRefused('UNSUPPORTED', 'restore');
  assert.equal(await directory.exec('cat sub/s'), '2\n');
});

/** Asserts that a call fails with CHECKPOINT_FAILED and a message. */
async function assertCheckpointFailed(call: Promise<unknown>, message: RegExp) {
  const error = await world.failure(call);
  assert.equal(error.code, 'CHECKPOINT_FAILED');
  assert.match(error.message, message);
  return error;
}

/** Removes the capabilities to bypass file permissions from all later commands in the sandbox. */
async function dropCapabilities() {
  const drop = `[ -n "$DROPPED" ] || DROPPED=1 exec setpriv --bounding-set=-dac_override,-dac_read_search bash -c "$BASH_EXECUTION_STRING"`;
  await directory.exec(`echo ${quoted(drop)} > /tmp/drop.sh`);
  await world.sandbox(directory.id, 'setEnvVars', { BASH_ENV: '/tmp/drop.sh' });
}

describe('a checkpoint', () => {
  for (const [what, name, make] of [
    ['a file', 'secret', 'echo s > secret; chmod 000 secret'],
    ['a directory', 'private', 'mkdir private; echo s > private/s; chmod 000 private'],
  ] as const) {
    test(`is not created if ${what} is unreadable`, async () => {
      const { commit } = await directory.create('s1');
      await directory.exec(make);
      await dropCapabilities();
      for (const operation of ['create', 'restore', 'diff'] as const) {
        const error = await world.failure(directory.call(operation, { name: 's1' }));
        assert.equal(error.code, 'CHECKPOINT_FAILED');
        assert.ok(error.message.includes(name), error.message);
      }
      assert.equal((await directory.list())[0]?.commit, commit);
      await directory.exec(`echo ${name} > .gitignore`);
      await directory.create('s1');
    });
  }

  test("is not created if the user's index is invalid", async () => {
    await directory.exec(
      'git init -q; echo out > .gitignore; echo 1 > out; git add -f out; echo junk > .git/index',
    );
    await assertCheckpointFailed(directory.create('s1'), /index file/);
    assert.deepEqual(await directory.names(), []);
  });

  test('is not created if a pipe in place of .gitignore blocks git', async () => {
    await directory.exec(`mkfifo .gitignore; mkdir /tmp/impatient
      printf '#!/bin/sh\nexec /usr/bin/sleep 1\n' > /tmp/impatient/sleep; chmod +x /tmp/impatient/sleep`);
    await world.sandbox(directory.id, 'setEnvVars', { PATH: '/tmp/impatient:/usr/bin:/bin' });
    await assertCheckpointFailed(directory.create('s1'), /still running/);
    await directory.exec('rm .gitignore');
    await directory.create('s1');
  });
});

test('a checkpoint with files in a .GIT directory is refused, and the error names them', async () => {
  await directory.exec('mkdir -p sub/.GIT; echo 1 > sub/.GIT/config');
  await assertCheckpointFailed(directory.create('s1'), /sub\/\.GIT\/config/);
  await directory.exec('echo .GIT > .gitignore');
  await directory.create('s1');
});

describe('without write access,', () => {
  test('a restore that cannot write a file fails, and the error has the before-restore commit', async () => {
    await directory.exec('mkdir d; echo 1 > d/file');
    await directory.create('s1');
    await directory.exec('echo 2 > file; echo 2 > d/file; chmod 555 d');
    await dropCapabilities();
    const error = await world.failure(directory.restore('s1'));
    assert.equal(error.code, 'CHECKPOINT_FAILED');
    const [before] = /\b[0-9a-f]{40}\b/.exec(error.remediation ?? '') ?? [];
    assert.equal(await directory.exec(`git show ${before}:file ${before}:d/file; cat d/file`), '2\n2\n2\n');
    await directory.exec('chmod 755 d');
    await directory.restore('s1');
    assert.equal(await directory.exec('cat file d/file'), '1\n1\n');
  });

  test('a restore that cannot remove a file fails, and the error names the file', async () => {
    await directory.exec('mkdir d; echo 1 > d/file');
    await directory.create('s1');
    await directory.exec('echo 1 > d/new; chmod 555 d');
    await dropCapabilities();
    const error = await assertCheckpointFailed(directory.restore('s1'), /d\/new/);
    assert.match(error.remediation ?? '', /\b[0-9a-f]{40}\b/);
    await directory.exec('chmod 755 d');
    assert.deepEqual((await directory.restore('s1')).changed, ['d/new']);
  });

  test('a checkpoint on a full disk has all files or is not created', async () => {
    const small = new CheckpointDirectory(world, directory.id, '/tmp/small');
    await directory.exec(`mkdir /tmp/small; mount -t tmpfs -o size=16m small /tmp/small; cd /tmp/small
      for i in {1..1500}; do : > $i-$(printf 'x%.0s' {1..200}); done; git init -q; echo /ballast > .git/info/exclude`);
    for (let room = 0; room <= 1200; room += 60) {
      await small.exec(`rm -f ballast; git update-ref -d refs/sandbox/snapshots/s1; git prune --expire=now
        head -c $((($(df -k --output=avail . | tail -n 1) - ${room}) * 1024)) /dev/zero > ballast`);
      const error = await small.create('s1').then(
        () => undefined,
        (error: Error) => error,
      );
      if (error)
        assert.match(
          error.message,
          /CHECKPOINT_FAILED.*(No space left|disk|unable to write|can't be created)/,
          `${room}`,
        );
      else assert.equal((await small.listTree('refs/sandbox/snapshots/s1')).length, 1500, `${room}`);
    }
  });
});
