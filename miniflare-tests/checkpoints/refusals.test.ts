// What is refused leaves everything as it is, and says what to do.

import assert from 'node:assert/strict';
import { after, before, beforeEach, describe, test } from 'node:test';

import { World } from '../world.ts';
import { Place, quoted } from './place.ts';

let world: World;
let place: Place;
let count = 0;

before(async () => {
  world = await World.start();
});
after(() => world[Symbol.asyncDispose]());

beforeEach(async () => {
  place = new Place(world, `refused-${++count}`);
  await place.exec('echo 1 > file');
});

describe('a directory', () => {
  test('that is not there, or is none, is refused', async () => {
    await new Place(world, place.id, '/workspace/missing').refused('INVALID_DIRECTORY');
    await new Place(world, place.id, '/workspace/file').refused('INVALID_DIRECTORY');
    await new Place(world, place.id, '/etc').refused('INVALID_DIRECTORY');
    assert.equal(await place.exec('ls -A'), 'file\n');
  });

  test('that is reached through a symbolic link is refused, and its target stays as it is', async () => {
    await place.exec(
      'mkdir -p /srv/target/below; echo 1 > /srv/target/file; ln -s /srv/target link; ln -s link way',
    );
    for (const dir of ['link', 'way', 'link/below'])
      await new Place(world, place.id, `/workspace/${dir}`).refused('INVALID_DIRECTORY');
    assert.equal(
      await place.exec('find /srv/target | sort'),
      '/srv/target\n/srv/target/below\n/srv/target/file\n',
    );
  });

  test('in the repository of another one is refused, and that is named', async () => {
    await place.exec('mkdir -p a/b; git init -q');
    const inside = new Place(world, place.id, '/workspace/a/b');
    await inside.refused('INVALID_DIRECTORY');
    assert.match((await world.failure(inside.create('s1'))).remediation ?? '', /"\/workspace"/);
    assert.equal(await place.exec('ls -A a/b'), '');
  });

  test('with any name has checkpoints', async () => {
    const dir = '/workspace/it\'s "odd" $(touch ran) : 文件';
    await place.exec(`mkdir ${quoted(dir)}; echo 1 > ${quoted(`${dir}/file`)}`);
    await place.call('create', { name: 's1', dir });
    await place.exec(`echo 2 > ${quoted(`${dir}/file`)}`);
    assert.match((await place.call('diff', { name: 's1', dir })).diff, /^-1\n\+2$/m);
    assert.deepEqual((await place.call('restore', { name: 's1', dir })).changed, ['file']);
    assert.equal(await place.exec('ls ran 2>/dev/null; true'), '');
  });
});

test('a name that is not one is refused', async () => {
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
      assert.equal(await place.code(place.call(operation, { name })), 'INVALID_CHECKPOINT_NAME', name);
    }
  }
  assert.match((await world.failure(place.create(''))).message, /name is required/);
});

describe('a repository', () => {
  for (const folder of ['refs', 'refs/sandbox', 'refs/sandbox/snapshots']) {
    test(`whose ${folder} is a symbolic link is refused, and the target keeps its files`, async () => {
      await place.create('s1');
      await place.exec(`mkdir /srv; mv .git/${folder} /srv/target; ln -s /srv/target .git/${folder}; mkdir -p .git/refs/sandbox/snapshots
        touch .git/refs/sandbox/a.lock .git/refs/sandbox/snapshots/b.lock; find /srv/target > /tmp/listing`);
      await place.refused('CHECKPOINT_FAILED');
      assert.match(
        (await world.failure(place.create('s1'))).message,
        new RegExp(`/workspace/.git/${folder}"`),
      );
      assert.equal(await place.exec('find /srv/target | diff /tmp/listing -'), '');
    });
  }

  test('whose checkpoint is a symbolic ref keeps the branch that it points to', async () => {
    await place.create('s1');
    await place.exec(`git update-ref refs/heads/main refs/sandbox/snapshots/s1; git rev-parse main > /tmp/main
      git symbolic-ref refs/sandbox/snapshots/s2 refs/heads/main; git symbolic-ref refs/sandbox/before-restore refs/heads/main
      echo 2 > file`);
    await place.create('s2');
    await place.exec('echo 3 > file');
    await place.restore('s2');
    assert.equal(await place.exec('git rev-parse main | diff /tmp/main -; cat file'), '2\n');
  });
});

test('an image without git is told what to install', async () => {
  // Everything but git is there.
  await place.exec('mkdir /tmp/bin; ln -s /usr/bin/* /tmp/bin; rm /tmp/bin/git*');
  await world.sandbox(place.id, 'setEnvVars', { PATH: '/tmp/bin' });
  await place.refused('GIT_MISSING');
  assert.match((await world.failure(place.create('s1'))).remediation ?? '', /RUN apt-get .* git/);
  assert.equal(await place.exec('ls -A'), 'file\n');
});

test('a checkpoint of another lineage is refused', async () => {
  const call = { name: 's1', lineageScope: 'somebody-else' };
  assert.equal(await place.code(place.call('create', call)), 'CROSS_LINEAGE');
  await place.call('create', { ...call, allowCrossLineage: true });
});

test('a checkpoint of another tool that lacks files of nested repositories is not restored', async () => {
  await place.exec(`export GIT_AUTHOR_NAME=a GIT_AUTHOR_EMAIL=a@b GIT_COMMITTER_NAME=a GIT_COMMITTER_EMAIL=a@b
    git init -q; mkdir sub; cd sub; git init -q; echo 1 > s; git add s; git commit -qm s; cd ..
    git add . 2>/dev/null; git commit -qm all; git update-ref refs/sandbox/snapshots/s1 HEAD; echo 2 > sub/s`);
  await place.refused('UNSUPPORTED', 'restore');
  assert.equal(await place.exec('cat sub/s'), '2\n');
});

/** Has something refused with CHECKPOINT_FAILED, in words that name why. */
async function fails(call: Promise<unknown>, why: RegExp) {
  const error = await world.failure(call);
  assert.equal(error.code, 'CHECKPOINT_FAILED');
  assert.match(error.message, why);
  return error;
}

/** Takes the rights of root from everything that runs in the sandbox from now on. */
async function withoutRights() {
  const drop = `[ -n "$DROPPED" ] || DROPPED=1 exec setpriv --bounding-set=-dac_override,-dac_read_search bash -c "$BASH_EXECUTION_STRING"`;
  await place.exec(`echo ${quoted(drop)} > /tmp/drop.sh`);
  await world.sandbox(place.id, 'setEnvVars', { BASH_ENV: '/tmp/drop.sh' });
}

describe('what can not be read', () => {
  for (const [what, name, make] of [
    ['a file', 'secret', 'echo s > secret; chmod 000 secret'],
    ['a directory', 'private', 'mkdir private; echo s > private/s; chmod 000 private'],
  ] as const) {
    test(`is never missing from a checkpoint: ${what}`, async () => {
      const { commit } = await place.create('s1');
      await place.exec(make);
      await withoutRights();
      for (const operation of ['create', 'restore', 'diff'] as const) {
        const error = await world.failure(place.call(operation, { name: 's1' }));
        assert.equal(error.code, 'CHECKPOINT_FAILED');
        assert.ok(error.message.includes(name), error.message);
      }
      assert.equal((await place.list())[0]?.commit, commit);
      await place.exec(`echo ${name} > .gitignore`);
      await place.create('s1');
    });
  }

  test("is never missing from a checkpoint: files that are tracked, where the user's index is broken", async () => {
    await place.exec(
      'git init -q; echo out > .gitignore; echo 1 > out; git add -f out; echo junk > .git/index',
    );
    await fails(place.create('s1'), /index file/);
    assert.deepEqual(await place.names(), []);
  });

  test('is given up in time: a pipe where git looks for rules', async () => {
    await place.exec(`mkfifo .gitignore; mkdir /tmp/impatient
      printf '#!/bin/sh\nexec /usr/bin/sleep 1\n' > /tmp/impatient/sleep; chmod +x /tmp/impatient/sleep`);
    await world.sandbox(place.id, 'setEnvVars', { PATH: '/tmp/impatient:/usr/bin:/bin' });
    await fails(place.create('s1'), /still at work/);
    await place.exec('rm .gitignore');
    await place.create('s1');
  });
});

test('files that git keeps to itself are named', async () => {
  await place.exec('mkdir -p sub/.GIT; echo 1 > sub/.GIT/config');
  await fails(place.create('s1'), /sub\/\.GIT\/config/);
  await place.exec('echo .GIT > .gitignore');
  await place.create('s1');
});

describe('what can not be written', () => {
  test('a restore that can not write says how far it came, and how to go back', async () => {
    await place.exec('mkdir d; echo 1 > d/file');
    await place.create('s1');
    await place.exec('echo 2 > file; echo 2 > d/file; chmod 555 d');
    await withoutRights();
    const error = await world.failure(place.restore('s1'));
    assert.equal(error.code, 'CHECKPOINT_FAILED');
    const [before] = /\b[0-9a-f]{40}\b/.exec(error.remediation ?? '') ?? [];
    assert.equal(await place.exec(`git show ${before}:file ${before}:d/file; cat d/file`), '2\n2\n2\n');
    await place.exec('chmod 755 d');
    await place.restore('s1');
    assert.equal(await place.exec('cat file d/file'), '1\n1\n');
  });

  test('a restore that can not remove a file says so', async () => {
    await place.exec('mkdir d; echo 1 > d/file');
    await place.create('s1');
    await place.exec('echo 1 > d/new; chmod 555 d');
    await withoutRights();
    const error = await fails(place.restore('s1'), /d\/new/);
    assert.match(error.remediation ?? '', /\b[0-9a-f]{40}\b/);
    await place.exec('chmod 755 d');
    assert.deepEqual((await place.restore('s1')).changed, ['d/new']);
  });

  test('a checkpoint has all files, or is not made, however full the disk is', async () => {
    const small = new Place(world, place.id, '/tmp/small');
    await place.exec(`mkdir /tmp/small; mount -t tmpfs -o size=16m small /tmp/small; cd /tmp/small
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
          /CHECKPOINT_FAILED.*(No space left|disk|unable to write|can't be made)/,
          `${room}`,
        );
      else assert.equal((await small.holds('refs/sandbox/snapshots/s1')).length, 1500, `${room}`);
    }
  });
});
