// The files of a checkpoint: a restore recovers exactly these files, with any name, and leaves ignored files unchanged.

import assert from 'node:assert/strict';
import { after, before, beforeEach, describe, test } from 'node:test';

import { World } from '../world.ts';
import { CheckpointDirectory } from './checkpoint-directory.ts';

let world: World;
let directory: CheckpointDirectory;
let count = 0;

before(async () => {
  world = await World.start();
});
after(() => world[Symbol.asyncDispose]());

beforeEach(async () => {
  directory = new CheckpointDirectory(world, `files-${++count}`);
  await directory.exec('true');
});

/** Creates a checkpoint, changes files, restores the checkpoint, and asserts that the files are the same. */
async function assertRestored(files: string, changes: string) {
  await directory.exec(files);
  const before = await directory.files();
  await directory.create('s1');
  await directory.exec(changes);
  const restored = await directory.restore('s1');
  assert.equal(await directory.files(), before);
  return restored;
}

/** Commits all files. */
const COMMIT = 'git add -A && git -c user.name=a -c user.email=a@b commit -qm all';

const TREES: Record<string, [files: string, changes: string]> = {
  'files that were edited, added and removed': [
    'mkdir -p a/b; echo 1 > a/b/c; echo 2 > d; : > empty',
    'echo 3 > a/b/c; rm d; echo 4 > new; mkdir -p x/y; echo 5 > x/y/z; echo 6 > empty',
  ],
  'files with unusual names': [
    String.raw`printf 1 > ' blanks '; printf 2 > $'line\nbreak'; printf 3 > "it's \"quoted\""; printf 4 > '$(echo no)'
      printf 5 > -rf; printf 6 > '*'; printf 7 > 'back\slash'; printf 8 > 'äöü 文件 🗂'; printf 9 > $'not-utf8-\xff\xfe'
      printf 10 > '[a]'; printf 11 > ':(top)'; printf 12 > 'git~1'; printf 13 > "$(printf 'x%.0s' $(seq 250))"; printf 14 > '!a'`,
    String.raw`mkdir before; mv -- * before; printf 1 > $'new\nline\xff'; printf 2 > -n; printf 3 > ']'`,
  ],
  'executable bits': ['echo 1 > script; chmod +x script; echo 2 > text', 'chmod -x script; chmod +x text'],
  'line endings and binary files': [
    String.raw`printf 'a\r\nb\n\r' > mixed; head -c 5000 /dev/urandom > bytes; echo '* text=auto eol=crlf' > .gitattributes
      echo 'ü' | iconv -t UTF-16 > utf16; echo 'utf16 text working-tree-encoding=UTF-16' >> .gitattributes; echo '$Id$' > id
      echo 'id ident' >> .gitattributes`,
    String.raw`printf 'a\nb\n' > mixed; rm bytes utf16 id; echo > .gitattributes`,
  ],
  'files, directories and links that replaced each other': [
    'mkdir d; echo 1 > d/a; echo 2 > f; ln -s d l; mkdir e; echo 3 > e/a; echo 4 > g; ln -s f m',
    `rm -r d e; echo 5 > d; ln -s f e; rm f; mkdir -p f/g; echo 6 > f/g/h; rm l; mkdir l; echo 7 > l/a; rm g; ln -s d g
      rm m; echo 8 > m`,
  ],
  'dangling, circular and absolute links': [
    'ln -s nowhere dangling; ln -s . self; ln -s .. up; ln -s /etc/passwd absolute',
    'rm dangling self up absolute; echo 1 > dangling; mkdir self; echo 2 > self/x',
  ],
  'an empty directory': [':', 'mkdir -p a/b; echo 1 > a/b/c; echo 2 > d'],
  'all files after all were removed': ['mkdir a; echo 1 > a/b; echo 2 > c', 'rm -r a c'],
};

describe('a checkpoint restore recovers', () => {
  for (const [what, [files, changes]] of Object.entries(TREES)) {
    test(what, async () => void (await assertRestored(files, changes)));
  }

  test('a tree of 5 000 files', async () => {
    const files = 'for d in {1..50}; do mkdir -p d$d; for f in {1..100}; do echo $d-$f > d$d/f$f; done; done';
    const changes =
      'rm -r d1? d20; for f in d[2-9]/*; do echo more >> $f; done; mkdir n; for f in {1..900}; do : > n/$f; done';
    const { changedCount, changed } = await assertRestored(files, changes);
    assert.equal(changedCount, 11 * 100 + 8 * 100 + 900);
    assert.equal(changed.length, changedCount);
  });
});

describe('a checkpoint restore leaves unchanged', () => {
  test('the times and modes of unchanged files', async () => {
    await directory.exec('echo 1 > same; chmod 600 same; touch -d 2001-02-03 same; echo 2 > other');
    await directory.create('s1');
    await directory.exec('echo 3 > other');
    await directory.restore('s1');
    assert.equal(await directory.exec('stat -c "%a %y" same | cut -c 1-14'), '600 2001-02-03\n');
  });

  test('the targets of links, inside and outside the directory', async () => {
    await directory.exec(
      'mkdir /tmp/outside; echo kept > /tmp/outside/file; mkdir l; echo 1 > l/file; echo 2 > target',
    );
    await directory.create('s1');
    await directory.exec('rm -r l; ln -s /tmp/outside l; rm target; ln -s /tmp/outside/file target');
    await directory.restore('s1');
    assert.equal(
      await directory.exec('cat l/file target /tmp/outside/file; ls /tmp/outside'),
      '1\n2\nkept\nfile\n',
    );
    await directory.exec('rm -r l; ln -s /tmp/outside l');
    await directory.create('s2');
    await directory.exec('rm l; mkdir l; echo 3 > l/other');
    await directory.restore('s2');
    assert.equal(await directory.exec('readlink l; ls /tmp/outside'), '/tmp/outside\nfile\n');
  });

  test('ignored files', async () => {
    await directory.exec(
      "printf '*.log\\nnode_modules/\\n.env\\n' > .gitignore; mkdir node_modules; echo 1 > node_modules/m",
    );
    await directory.exec('echo 1 > .env; echo 1 > a.log; echo 1 > file');
    await directory.create('s1');
    await directory.exec(
      'echo 2 > .env; echo 2 > a.log; echo 2 > b.log; echo 2 > node_modules/n; echo 2 > file',
    );
    assert.deepEqual((await directory.restore('s1')).changed, ['file']);
    assert.equal(await directory.exec('cat file .env a.log b.log; ls node_modules'), '1\n2\n2\n2\nm\nn\n');
  });

  test('files that the checkpoint ignored, also without their .gitignore', async () => {
    await directory.exec(
      "mkdir -p sub/vendor/clone; echo 'vendor/' > sub/.gitignore; echo .env > .gitignore; echo 1 > .env",
    );
    await directory.exec(
      'echo 1 > sub/vendor/v; git -C sub/vendor/clone init -q; echo 1 > sub/vendor/clone/c',
    );
    await directory.create('s1');
    await directory.exec('rm .gitignore sub/.gitignore; echo 2 > new');
    assert.deepEqual((await directory.restore('s1')).changed, ['.gitignore', 'new', 'sub/.gitignore']);
    assert.equal(await directory.exec('cat .env sub/vendor/v sub/vendor/clone/c'), '1\n1\n1\n');
  });

  test('sockets, pipes and empty directories', async () => {
    await directory.exec('mkfifo pipe; mkdir empty; echo 1 > file');
    await directory.create('s1');
    await directory.exec('echo 2 > file; mkfifo another');
    await directory.restore('s1');
    assert.equal(await directory.exec('ls -F'), 'another|\nempty/\nfile\npipe|\n');
  });
});

describe('a checkpoint restore succeeds', () => {
  test('with file names that resemble pathspecs and options of git', async () => {
    await directory.exec("echo '*.log' > .gitignore");
    await directory.create('s1');
    await directory.exec(
      "rm .gitignore; for name in ':(glob)a' ':!b' ':c' -d '*.e'; do : > \"$name\"; : > \"$name.log\"; done",
    );
    await directory.restore('s1');
    assert.equal(
      await directory.exec('ls -A'),
      '*.e.log\n-d.log\n.git\n.gitignore\n:!b.log\n:(glob)a.log\n:c.log\n',
    );
  });

  test('with a pipe in place of a file', async () => {
    const { changed } = await assertRestored('echo 1 > pipe', 'rm pipe; mkfifo pipe');
    assert.deepEqual(changed, ['pipe']);
  });

  test('with a .gitignore that is a link', async () => {
    await assertRestored(
      'mkdir d; echo x > rules; ln -s ../rules d/.gitignore',
      'rm d/.gitignore; mkdir d/.gitignore; echo 1 > d/.gitignore/x',
    );
  });
});

test('a checkpoint detects changed content of the same length and modification time', async () => {
  await directory.exec('echo 1 > a; echo 1 > b; touch -d 2001-02-03 b; cp -p b /tmp/reference');
  await directory.create('s1');
  await directory.exec('echo 2 > a; echo 2 > b; touch -r /tmp/reference b');
  const { commit } = await directory.create('s2');
  assert.equal(await directory.exec(`git show ${commit}:a ${commit}:b`), '2\n2\n');
  assert.deepEqual((await directory.restore('s1')).changed, ['a', 'b']);
  assert.equal(await directory.exec('cat a b'), '1\n1\n');
});

describe('an ignored file', () => {
  test('that was tracked after the checkpoint stays', async () => {
    await directory.exec(`git init -q; echo out/ > .gitignore; ${COMMIT}`);
    await directory.create('s1');
    await directory.exec('mkdir out; echo 1 > out/added; git add -f out/added; echo 2 > new');
    assert.deepEqual((await directory.restore('s1')).changed, ['new']);
    assert.equal(await directory.exec('cat out/added'), '1\n');
  });

  test('stays by rules in an ignored .gitignore', async () => {
    await directory.exec("echo '*.log' > .gitignore");
    await directory.create('s1');
    await directory.exec(
      String.raw`mkdir d; printf '.gitignore\n!a.log\n' > d/.gitignore; echo 1 > d/a.log; echo 2 > new`,
    );
    assert.deepEqual((await directory.restore('s1')).changed, ['new']);
    assert.equal(await directory.exec('cat d/a.log'), '1\n');
  });

  test('is saved in the before-restore commit if the index has a file in place of its directory', async () => {
    await directory.exec(`git init -q; mkdir -p d/a; echo 1 > d/a/x; ${COMMIT}`);
    await directory.create('s1');
    await directory.exec(
      'rm -r d/a; echo 2 > d/a; git rm -rq --cached d; git add -f d/a; echo d/ > .gitignore',
    );
    await directory.exec('rm d/a; mkdir d/a; echo precious > d/a/x');
    const { before } = await directory.restore('s1');
    assert.equal(await directory.exec(`cat d/a/x; git show ${before}:d/a/x`), '1\nprecious\n');
  });

  test('is part of a checkpoint if it is tracked', async () => {
    await directory.exec(
      `git init -q; echo 'out/' > .gitignore; mkdir out; echo 1 > out/kept; echo 1 > out/other; git add -f out/kept; ${COMMIT}`,
    );
    await directory.create('s1');
    assert.deepEqual(await directory.listTree('refs/sandbox/snapshots/s1'), [
      '100644 .gitignore',
      '100644 out/kept',
    ]);
    await directory.exec('echo 2 > out/kept; echo 2 > out/other');
    assert.match((await directory.diff('s1')).diff, /-1\n\+2\n$/);
    assert.deepEqual((await directory.restore('s1')).changed, ['out/kept']);
    assert.equal(await directory.exec('cat out/kept out/other'), '1\n2\n');
  });

  test('is restored and saved in the before-restore commit if it was not ignored at the checkpoint', async () => {
    await directory.exec('echo 1 > a.log');
    await directory.create('s1');
    await directory.exec("echo 2 > a.log; echo '*.log' > .gitignore");
    const { before, changed } = await directory.restore('s1');
    assert.deepEqual(changed, ['.gitignore', 'a.log']);
    assert.equal(await directory.exec(`cat a.log; git show ${before}:a.log`), '1\n2\n');
  });

  for (const [what, changes, path] of [
    ['a file', 'rm build; mkdir build; echo 1 > build/x; echo build/ > .gitignore', 'build/x'],
    ['a directory', 'rm -r dir; echo 1 > dir; echo dir > .gitignore', 'dir'],
  ] as const) {
    test(`that replaced ${what} of the checkpoint makes a restore fail`, async () => {
      await directory.exec('echo 1 > build; mkdir dir; echo 2 > dir/file');
      await directory.create('s1');
      await directory.exec(changes);
      const before = await directory.files();
      const error = await world.failure(directory.restore('s1'));
      assert.equal(error.code, 'CHECKPOINT_FAILED');
      assert.ok(error.message.includes(path), error.message);
      assert.equal(await directory.files(), before);
    });
  }
});

describe('a nested repository', () => {
  /** Nested repositories: one with a commit, one without commits, and one inside another nested one. */
  const NESTED = `git init -q; echo '*.log' > .gitignore; echo 1 > top; mkdir -p cloned/deep young
    (cd cloned; git init -q; echo tmp > .gitignore; echo 1 > code; echo 1 > its.log; ${COMMIT}; echo 2 >> code; git add code; echo 1 > tmp)
    (cd cloned/deep; git init -q; echo 1 > d); (cd young; git init -q; echo 1 > y)`;

  beforeEach(() => directory.exec(NESTED));

  test('is part of a checkpoint with its files, not as a reference', async () => {
    await directory.create('s1');
    const entries = await directory.listTree('refs/sandbox/snapshots/s1');
    const names = [
      '.gitignore',
      'cloned/.gitignore',
      'cloned/code',
      'cloned/deep/d',
      'cloned/its.log',
      'top',
      'young/y',
    ];
    assert.deepEqual(
      entries,
      names.map((name) => `100644 ${name}`),
    );
  });

  test('is restored with its files, and its git state stays unchanged', async () => {
    const states = () =>
      Promise.all(['.', 'cloned', 'cloned/deep', 'young'].map((dir) => directory.repository(dir)));
    const [files, before] = [await directory.files(), await states()];
    await directory.create('s1');
    await directory.exec(
      'echo 3 > cloned/code; rm cloned/its.log cloned/deep/d; echo n > cloned/new; echo n > young/new.log; rm young/y',
    );
    const { changed } = await directory.restore('s1');
    assert.deepEqual(changed, [
      'cloned/code',
      'cloned/deep/d',
      'cloned/its.log',
      'cloned/new',
      'young/new.log',
      'young/y',
    ]);
    assert.deepEqual([await directory.files(), await states()], [files, before]);
  });

  test('created after the checkpoint loses its files, which the before-restore commit contains, and keeps its git state', async () => {
    await directory.create('s1');
    await directory.exec(`mkdir later; cd later; git init -q; echo 1 > l; ${COMMIT}`);
    const { before, changed } = await directory.restore('s1');
    assert.deepEqual(changed, ['later/l']);
    assert.equal(
      await directory.exec(`ls -A later; git show ${before}:later/l; git -C later log --format=%s`),
      '.git\n1\nall\n',
    );
  });

  test('that replaced a file of the checkpoint makes a restore fail', async () => {
    await directory.exec('echo 1 > name');
    await directory.create('s1');
    await directory.exec('rm name; mkdir name; cd name; git init -q; echo 1 > file');
    assert.equal(await directory.errorCode(directory.restore('s1')), 'CHECKPOINT_FAILED');
    assert.equal(await directory.exec('cat name/file; ls -d name/.git'), '1\nname/.git\n');
  });

  test('that is a submodule is restored', async () => {
    await directory.exec(
      `git -c protocol.file.allow=always submodule --quiet add /workspace/cloned sm; git add .gitignore top; ${COMMIT.replace('-A', '-u')}`,
    );
    const before = [await directory.files(), await directory.repository(), await directory.repository('sm')];
    await directory.create('s1');
    await directory.exec('echo 3 > sm/code; echo 4 > sm/new; rm sm/its.log');
    assert.deepEqual((await directory.restore('s1')).changed, ['sm/code', 'sm/its.log', 'sm/new']);
    assert.deepEqual(
      [await directory.files(), await directory.repository(), await directory.repository('sm')],
      before,
    );
  });

  test('that is a submodule in an ignored directory is restored', async () => {
    await directory.exec(`echo vendor/ > .gitignore
      git -c protocol.file.allow=always submodule --quiet add -f /workspace/cloned vendor/sm; ${COMMIT.replace('-A', '-u')}`);
    const files = await directory.files();
    await directory.create('s1');
    await directory.exec('echo 3 > vendor/sm/code; rm vendor/sm/its.log');
    assert.deepEqual((await directory.restore('s1')).changed, ['vendor/sm/code', 'vendor/sm/its.log']);
    assert.equal(await directory.files(), files);
  });

  test('that an ignored file replaced is part of a checkpoint as that file', async () => {
    await directory.exec(
      `git add cloned; ${COMMIT.replace('-A', '-u')}; rm -r cloned; echo 1 > cloned; echo cloned > .gitignore`,
    );
    await directory.create('s1');
    await directory.exec('echo 2 > cloned');
    assert.deepEqual((await directory.restore('s1')).changed, ['cloned']);
    assert.equal(await directory.exec('cat cloned'), '1\n');
  });

  test('can have its own checkpoints', async () => {
    const nested = new CheckpointDirectory(world, directory.id, '/workspace/cloned');
    await nested.create('own');
    await nested.exec('echo 3 > code');
    assert.deepEqual((await nested.restore('own')).changed, ['code']);
    assert.deepEqual([await nested.names(), await directory.names()], [['own'], []]);
  });
});
