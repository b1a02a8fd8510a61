// The answers of checkpoint operations: lists, descriptions, changed paths and diffs.

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
  directory = new CheckpointDirectory(world, `answers-${++count}`);
  await directory.exec('echo v1 > a.txt');
});

describe('a list', () => {
  test('has the answers of each creation, the newest first', async () => {
    const created = [];
    for (const name of ['first', '2nd', '_', 'A.b-c', 'first.1'])
      created.unshift(await directory.create(name));
    assert.deepEqual(await directory.list(), created);
    assert.ok(Math.abs(Date.parse(created[0]!.createdAt) - Date.now()) < 60_000);
  });

  test('has a replaced checkpoint once, as the newest', async () => {
    const first = await directory.create('s1');
    await directory.create('s2');
    await directory.exec('echo v2 > a.txt');
    const second = await directory.create('s1');
    assert.equal(second.replaced, first.commit);
    assert.equal(first.replaced, undefined);
    assert.deepEqual(await directory.names(), ['s1', 's2']);
  });

  test('has commits of another tool under the same refs, and skips other objects', async () => {
    const { commit } = await directory.create('created');
    await directory.exec(`
      export GIT_AUTHOR_NAME=a GIT_AUTHOR_EMAIL=a@b GIT_COMMITTER_NAME=a GIT_COMMITTER_EMAIL=a@b
      GIT_COMMITTER_DATE='2026-04-23T12:30:00Z' git commit-tree -m 'before refactor' ${commit}^{tree} > /tmp/manual
      git update-ref refs/sandbox/snapshots/manual "$(cat /tmp/manual)"
      git update-ref refs/sandbox/snapshots/blob ${commit}:a.txt; git update-ref refs/sandbox/snapshots/x/y ${commit}
      printf 'tree %s\n\nno commit\n' "$(git rev-parse ${commit}^{tree})" > /tmp/invalid
      invalid=$(git hash-object -t commit --literally -w /tmp/invalid); echo "$invalid" > .git/refs/sandbox/snapshots/invalid`);
    const [created, manual] = await directory.list();
    assert.equal(created?.name, 'created');
    const { name, createdAt, description } = manual!;
    assert.deepEqual(
      [name, createdAt, description],
      ['manual', '2026-04-23T12:30:00.000Z', 'before refactor'],
    );
    await directory.exec('echo v2 > a.txt');
    assert.deepEqual((await directory.restore('manual')).changed, ['a.txt']);
  });

  test('has checkpoints whose names are words of git, such as "missing"', async () => {
    for (const name of ['missing', 'ambiguous', 'commit'])
      assert.equal((await directory.create(name)).name, name);
    assert.deepEqual(await directory.names(), ['commit', 'ambiguous', 'missing']);
    await directory.exec('echo v2 > a.txt');
    assert.deepEqual((await directory.restore('missing')).changed, ['a.txt']);
  });

  test('skips refs whose names are not UTF-8, and refs to missing objects', async () => {
    const { commit } = await directory.create('s1');
    await directory.exec(String.raw`git update-ref $'refs/sandbox/snapshots/\xff\xfe' ${commit}
      git update-ref refs/sandbox/snapshots/gone ${commit}
      echo 1234567890123456789012345678901234567890 > .git/refs/sandbox/snapshots/gone`);
    assert.deepEqual(await directory.names(), ['s1']);
  });

  test('has 5 000 checkpoints of 9 000 characters, in pages of 1 MiB at most', async () => {
    await directory.create('s1');
    await directory.exec(String.raw`tree=$(git rev-parse refs/sandbox/snapshots/s1^{tree}); text=$(printf 'x%.0s' {1..9000})
      for i in {1..4999}; do printf 'commit refs/sandbox/snapshots/m%d
committer a <a@b> %d +0000
data 9000
%s
' $i $i "$text"
      done | git fast-import --quiet`);
    const first = await directory.call('list');
    assert.ok(first.cursor && first.checkpoints.length === 100 && first.checkpoints[0].name === 's1');
    const most = await directory.call('list', { limit: 1000 });
    assert.ok(
      most.cursor && JSON.stringify(most).length < 1.2 * 1024 * 1024,
      JSON.stringify(most).length.toString(),
    );
    const after = most.checkpoints.at(-1);
    const next = await directory.call('list', { limit: 2, cursor: most.cursor });
    assert.ok(next.checkpoints[0].createdAt < after.createdAt);
    assert.equal(next.checkpoints.length, 2);
  });

  test('has each checkpoint on exactly one page, with every page size', async () => {
    const { commit } = await directory.create('oldest');
    await directory.create('newer');
    await directory.exec(`for i in {1..7}; do git update-ref refs/sandbox/snapshots/c$i ${commit}; done`);
    const expected = ['newer', 'c1', 'c2', 'c3', 'c4', 'c5', 'c6', 'c7', 'oldest'];
    for (const limit of [1, 2, 3, 9, 10]) {
      const names = (await directory.list({ limit })).map(({ name }) => name);
      assert.deepEqual(names, expected, `${limit}`);
    }
  });

  test('has truncated descriptions and the times of commits of another tool', async () => {
    await directory.create('s1');
    await directory.exec(String.raw`tree=$(git rev-parse refs/sandbox/snapshots/s1^{tree})
      git config i18n.logOutputEncoding UTF-16; git config log.showSignature true
      commit() { printf 'tree %s
author a <a@b> 1 +0000
committer %s

%s
' $tree "$1" "$2" >/tmp/commit
        git update-ref refs/sandbox/snapshots/$3 $(git hash-object -t commit --literally -w /tmp/commit); }
      commit 'A <a@b> 12 +0100' "$(printf 'x%.0s' {1..200000})" long
      commit 'A <13000000@b> 11 +0000' other other-micros; commit 'A <10000123@b> 10 +0000' same same-micros`);
    const others = (await directory.list()).slice(1);
    assert.deepEqual(
      others.map(({ name, createdAt, description }) => [name, createdAt, description.length]),
      [
        ['long', '1970-01-01T00:00:12.000Z', 10_000],
        ['other-micros', '1970-01-01T00:00:11.000Z', 5],
        ['same-micros', '1970-01-01T00:00:10.000Z', 4],
      ],
    );
  });

  test('has 200 checkpoints of 10 000 characters', async () => {
    const description = 'ä'.repeat(10_000);
    const { commit } = await directory.create('s', { description });
    await directory.exec(
      `for i in {1..199}; do echo "create refs/sandbox/snapshots/s$i ${commit}"; done | git update-ref --stdin`,
    );
    const list = await directory.list();
    assert.equal(list.length, 200);
    assert.ok(list.every((checkpoint) => checkpoint.description === description));
  });
});

describe('a description', () => {
  const descriptions = [
    'it\'s "quoted"',
    'lines\nand\n\nlines\n',
    ' \n leading',
    '$(touch /tmp/ran) `id` \\ %s %n',
    '文件 🗂',
    '# no comment',
  ];
  for (const description of descriptions) {
    test(`is returned unchanged: ${JSON.stringify(description)}`, async () => {
      const created = await directory.create('s1', { description });
      assert.deepEqual(
        [created.description, (await directory.list())[0]?.description],
        [description, description],
      );
      assert.equal(await directory.exec('[ -e /tmp/ran ] || echo no'), 'no\n');
    });
  }

  test('is created from the name by default', async () => {
    assert.equal((await directory.create('s1')).description, 'snapshot: s1');
  });
});

describe('the answer of a restore has', () => {
  test('the added, changed and removed paths in order, and the before-restore commit', async () => {
    await directory.exec('mkdir d; echo 1 > d/gone; echo 1 > same');
    const { commit } = await directory.create('s1');
    await directory.exec('echo v2 > a.txt; rm d/gone; echo 1 > new');
    const { before, ...rest } = await directory.restore('s1');
    assert.deepEqual(rest, { name: 's1', commit, changed: ['a.txt', 'd/gone', 'new'], changedCount: 3 });
    assert.equal(
      await directory.exec(`git rev-parse refs/sandbox/before-restore; git show ${before}:a.txt`),
      `${before}\nv2\n`,
    );
  });

  test('no paths if no file differs, and the previous before-restore commit stays', async () => {
    await directory.create('s1');
    await directory.exec('echo v2 > a.txt');
    const { before } = await directory.restore('s1');
    const again = await directory.restore('s1');
    assert.deepEqual([again.changed, again.changedCount, again.before], [[], 0, undefined]);
    assert.equal(await directory.exec('git rev-parse refs/sandbox/before-restore'), `${before}\n`);
  });

  test('a before-restore commit from which the files can be restored', async () => {
    await directory.create('s1');
    await directory.exec('echo v2 > a.txt; echo new > new');
    const files = await directory.files();
    await directory.restore('s1');
    await directory.exec('git update-ref refs/sandbox/snapshots/undo refs/sandbox/before-restore');
    await directory.restore('undo');
    assert.equal(await directory.files(), files);
  });

  test('unusual paths in the quotation of git', async () => {
    await directory.create('s1');
    await directory.exec(
      String.raw`: > $'new\nline'; : > $'\xff'; : > 'a"b'; : > 'c\d'; : > 'sp ace'; : > 'ä'; : > $'\a'`,
    );
    const { changed } = await directory.restore('s1');
    assert.deepEqual(changed, [
      String.raw`"\007"`,
      String.raw`"a\"b"`,
      String.raw`"c\\d"`,
      String.raw`"new\nline"`,
      'sp ace',
      'ä',
      String.raw`"\377"`,
    ]);
  });

  test('at most 5 000 paths, and their total number', async () => {
    await directory.create('s1');
    await directory.exec(
      'mkdir many; cd many; for i in {1000..6999}; do : > file-with-a-name-of-some-length-$i; done',
    );
    const { changed, changedCount } = await directory.restore('s1');
    assert.deepEqual([changed.length, changedCount], [5_000, 6_000]);
    assert.equal(changed[4_999], 'many/file-with-a-name-of-some-length-5999');
  });
});

describe('a diff', () => {
  test('leads from the checkpoint to the present files', async () => {
    const { commit } = await directory.create('s1');
    await directory.exec('echo v2 > a.txt; echo n > b.txt; git add b.txt');
    const diff = `diff --git a/a.txt b/a.txt
index 626799f..8c1384d 100644
--- a/a.txt
+++ b/a.txt
@@ -1 +1 @@
-v1
+v2
diff --git a/b.txt b/b.txt
new file mode 100644
index 0000000..8ba3a16
--- /dev/null
+++ b/b.txt
@@ -0,0 +1 @@
+n
`;
    const expected = { name: 's1', commit, diff, sizeBytes: diff.length, truncated: false };
    assert.deepEqual(await directory.diff('s1'), expected);
  });

  test('of unchanged files is empty', async () => {
    await directory.create('s1');
    await directory.exec('touch a.txt; chmod 600 a.txt');
    const { diff, sizeBytes, truncated } = await directory.diff('s1');
    assert.deepEqual([diff, sizeBytes, truncated], ['', 0, false]);
  });

  test('that is truncated ends with a complete line', async () => {
    await directory.create('s1');
    await directory.exec('seq 1000 > long');
    const whole = await directory.diff('s1');
    const part = await directory.diff('s1', { maxBytes: 500 });
    assert.deepEqual([part.truncated, part.sizeBytes], [true, whole.sizeBytes]);
    assert.ok(whole.diff.startsWith(part.diff) && part.diff.endsWith('\n'));
    assert.ok(part.diff.length <= 500 && part.diff.length > 490);
    const same = await directory.diff('s1', { maxBytes: whole.sizeBytes });
    assert.deepEqual(same, whole);
  });

  test('of one long line that is truncated ends with a complete character', async () => {
    await directory.create('s1');
    await directory.exec(`printf 'ä%.0s' {1..1000} > a.txt`);
    const { diff, truncated } = await directory.diff('s1', { maxBytes: 300 });
    assert.ok(truncated && Buffer.byteLength(diff) <= 300 && !diff.includes('\ufffd'), diff);
  });

  test('of binary files is text', async () => {
    await directory.create('s1');
    await directory.exec(String.raw`printf 'latin \xe4\n' > latin; printf 'a\0b' > binary; : > $'\xff'`);
    const { diff } = await directory.diff('s1');
    assert.ok(
      diff.includes('+latin \ufffd\n') && diff.includes('Binary files /dev/null and b/binary differ'),
      diff,
    );
    assert.ok(diff.includes(String.raw`"b/\377"`), diff);
  });

  test('detects moved files', async () => {
    await directory.exec('seq 100 > old');
    await directory.create('s1');
    await directory.exec('mv old new');
    assert.match(
      (await directory.diff('s1')).diff,
      /similarity index 100%\nrename from old\nrename to new\n$/,
    );
  });
});

describe('a deletion', () => {
  test('removes one checkpoint, also one that git has packed, and succeeds a second time', async () => {
    const { commit } = await directory.create('s1');
    await directory.create('s2');
    await directory.exec('git pack-refs --all');
    assert.deepEqual(await directory.call('delete', { name: 's1' }), { name: 's1', removed: true, commit });
    assert.deepEqual(await directory.names(), ['s2']);
    assert.deepEqual(await directory.call('delete', { name: 's1' }), { name: 's1', removed: false });
  });

  test('finds nothing in a directory without a repository', async () => {
    assert.deepEqual(await directory.call('delete', { name: 's1' }), { name: 's1', removed: false });
  });
});

describe('an expiration', () => {
  test('makes a checkpoint count as deleted, and the next one with an expiration removes it', async () => {
    const { createdAt, expiresAt, commit } = await directory.create('s1', { expirationSeconds: 3600 });
    assert.equal(Date.parse(expiresAt ?? ''), Math.floor(Date.parse(createdAt) / 1000 + 3600) * 1000);
    assert.deepEqual(
      (await directory.list()).map((checkpoint) => [checkpoint.name, checkpoint.expiresAt]),
      [['s1', expiresAt]],
    );
    // The time in the commit has passed.
    await directory.exec(`git cat-file commit ${commit} | sed 's/<expires-[0-9]*@/<expires-1@/' > /tmp/expired
      git update-ref refs/sandbox/snapshots/s1 "$(git hash-object -t commit -w /tmp/expired)"`);
    assert.deepEqual(await directory.names(), []);
    for (const operation of ['restore', 'diff'] as const) {
      const error = await world.failure(directory.call(operation, { name: 's1' }));
      assert.equal(error.code, 'CHECKPOINT_NOT_FOUND');
    }
    await directory.create('s2', { expirationSeconds: 3600 });
    const refs = await directory.exec('git for-each-ref --format="%(refname)" refs/sandbox/snapshots');
    assert.equal(refs.trim(), 'refs/sandbox/snapshots/s2');
  });
});

test('a restore removes empty directories on request, except those of git', async () => {
  await directory.create('s1');
  await directory.exec('mkdir -p new/deep/er empty .git/own full && echo v2 > a.txt && touch full/new');
  const kept = await directory.restore('s1');
  assert.equal(kept.prunedDirectories, undefined);
  const { prunedDirectories, changed } = await directory.restore('s1', { pruneEmptyDirectories: true });
  assert.deepEqual([changed, prunedDirectories], [[], 4]);
  assert.equal(
    await directory.exec('find . -name .git -prune -o -type d -print; ls -d .git/own'),
    '.\n.git/own\n',
  );
});
