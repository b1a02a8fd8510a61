// What callers are told of checkpoints: lists, descriptions, what a restore changed, and diffs.

import assert from 'node:assert/strict';
import { after, before, beforeEach, describe, test } from 'node:test';

import { World } from '../world.ts';
import { Place } from './place.ts';

let world: World;
let place: Place;
let count = 0;

before(async () => {
  world = await World.start();
});
after(() => world[Symbol.asyncDispose]());

beforeEach(async () => {
  place = new Place(world, `told-${++count}`);
  await place.exec('echo v1 > a.txt');
});

describe('a list', () => {
  test('has what was told of each when it was made, the newest first', async () => {
    const made = [];
    for (const name of ['first', '2nd', '_', 'A.b-c', 'first.1']) made.unshift(await place.create(name));
    assert.deepEqual(await place.list(), made);
    assert.ok(Math.abs(Date.parse(made[0]!.createdAt) - Date.now()) < 60_000);
  });

  test('has a name once that was used again, as the newest', async () => {
    const first = await place.create('s1');
    await place.create('s2');
    await place.exec('echo v2 > a.txt');
    const second = await place.create('s1');
    assert.equal(second.replaced, first.commit);
    assert.equal(first.replaced, undefined);
    assert.deepEqual(await place.names(), ['s1', 's2']);
  });

  test('has what another tool keeps under the same refs, and passes over what is no checkpoint', async () => {
    const { commit } = await place.create('ours');
    await place.exec(`
      export GIT_AUTHOR_NAME=a GIT_AUTHOR_EMAIL=a@b GIT_COMMITTER_NAME=a GIT_COMMITTER_EMAIL=a@b
      GIT_COMMITTER_DATE='2026-04-23T12:30:00Z' git commit-tree -m 'before refactor' ${commit}^{tree} > /tmp/theirs
      git update-ref refs/sandbox/snapshots/theirs "$(cat /tmp/theirs)"
      git update-ref refs/sandbox/snapshots/blob ${commit}:a.txt; git update-ref refs/sandbox/snapshots/x/y ${commit}
      printf 'tree %s\n\nno commit\n' "$(git rev-parse ${commit}^{tree})" > /tmp/odd
      odd=$(git hash-object -t commit --literally -w /tmp/odd); echo "$odd" > .git/refs/sandbox/snapshots/odd`);
    const [ours, theirs] = await place.list();
    assert.equal(ours?.name, 'ours');
    const { name, createdAt, description } = theirs!;
    assert.deepEqual(
      [name, createdAt, description],
      ['theirs', '2026-04-23T12:30:00.000Z', 'before refactor'],
    );
    await place.exec('echo v2 > a.txt');
    assert.deepEqual((await place.restore('theirs')).changed, ['a.txt']);
  });

  test('has a checkpoint of any name that can be given, "missing" among them', async () => {
    for (const name of ['missing', 'ambiguous', 'commit'])
      assert.equal((await place.create(name)).name, name);
    assert.deepEqual(await place.names(), ['commit', 'ambiguous', 'missing']);
    await place.exec('echo v2 > a.txt');
    assert.deepEqual((await place.restore('missing')).changed, ['a.txt']);
  });

  test('passes over refs whose names are not UTF-8, and refs to objects that are gone', async () => {
    const { commit } = await place.create('s1');
    await place.exec(String.raw`git update-ref $'refs/sandbox/snapshots/\xff\xfe' ${commit}
      git update-ref refs/sandbox/snapshots/gone ${commit}
      echo 1234567890123456789012345678901234567890 > .git/refs/sandbox/snapshots/gone`);
    assert.deepEqual(await place.names(), ['s1']);
  });

  test('has 5 000 checkpoints of 9 000 characters, in pages of 1 MiB at most', async () => {
    await place.create('s1');
    await place.exec(String.raw`tree=$(git rev-parse refs/sandbox/snapshots/s1^{tree}); text=$(printf 'x%.0s' {1..9000})
      for i in {1..4999}; do printf 'commit refs/sandbox/snapshots/m%d
committer a <a@b> %d +0000
data 9000
%s
' $i $i "$text"
      done | git fast-import --quiet`);
    const first = await place.call('list');
    assert.ok(first.cursor && first.checkpoints.length === 100 && first.checkpoints[0].name === 's1');
    const most = await place.call('list', { limit: 1000 });
    assert.ok(
      most.cursor && JSON.stringify(most).length < 1.2 * 1024 * 1024,
      JSON.stringify(most).length.toString(),
    );
    const after = most.checkpoints.at(-1);
    const next = await place.call('list', { limit: 2, cursor: most.cursor });
    assert.ok(next.checkpoints[0].createdAt < after.createdAt);
    assert.equal(next.checkpoints.length, 2);
  });

  test('has each checkpoint on one page, whatever the size of the pages', async () => {
    const { commit } = await place.create('oldest');
    await place.create('newer');
    await place.exec(`for i in {1..7}; do git update-ref refs/sandbox/snapshots/c$i ${commit}; done`);
    const expected = ['newer', 'c1', 'c2', 'c3', 'c4', 'c5', 'c6', 'c7', 'oldest'];
    for (const limit of [1, 2, 3, 9, 10]) {
      const names = (await place.list({ limit })).map(({ name }) => name);
      assert.deepEqual(names, expected, `${limit}`);
    }
  });

  test('has the beginning of a description that another tool wrote, and goes by its seconds', async () => {
    await place.create('s1');
    await place.exec(String.raw`tree=$(git rev-parse refs/sandbox/snapshots/s1^{tree})
      git config i18n.logOutputEncoding UTF-16; git config log.showSignature true
      commit() { printf 'tree %s
author a <a@b> 1 +0000
committer %s

%s
' $tree "$1" "$2" >/tmp/commit
        git update-ref refs/sandbox/snapshots/$3 $(git hash-object -t commit --literally -w /tmp/commit); }
      commit 'A <a@b> 12 +0100' "$(printf 'x%.0s' {1..200000})" long
      commit 'A <13000000@b> 11 +0000' other other-micros; commit 'A <10000123@b> 10 +0000' ours same-micros`);
    const told = (await place.list()).slice(1);
    assert.deepEqual(
      told.map(({ name, createdAt, description }) => [name, createdAt, description.length]),
      [
        ['long', '1970-01-01T00:00:12.000Z', 10_000],
        ['other-micros', '1970-01-01T00:00:11.000Z', 5],
        ['same-micros', '1970-01-01T00:00:10.000Z', 4],
      ],
    );
  });

  test('has 200 checkpoints of 10 000 characters', async () => {
    const description = 'ä'.repeat(10_000);
    const { commit } = await place.create('s', { description });
    await place.exec(
      `for i in {1..199}; do echo "create refs/sandbox/snapshots/s$i ${commit}"; done | git update-ref --stdin`,
    );
    const list = await place.list();
    assert.equal(list.length, 200);
    assert.ok(list.every((checkpoint) => checkpoint.description === description));
  });
});

describe('a description', () => {
  const odd = [
    'it\'s "quoted"',
    'lines\nand\n\nlines\n',
    ' \n leading',
    '$(touch /tmp/ran) `id` \\ %s %n',
    '文件 🗂',
    '# no comment',
  ];
  for (const description of odd) {
    test(`comes back as it was given: ${JSON.stringify(description)}`, async () => {
      const made = await place.create('s1', { description });
      assert.deepEqual([made.description, (await place.list())[0]?.description], [description, description]);
      assert.equal(await place.exec('[ -e /tmp/ran ] || echo no'), 'no\n');
    });
  }

  test('is made of the name where none is given', async () => {
    assert.equal((await place.create('s1')).description, 'snapshot: s1');
  });
});

describe('a restore tells', () => {
  test('the paths that it wrote, edited and removed, in their order, and the commit of what was there', async () => {
    await place.exec('mkdir d; echo 1 > d/gone; echo 1 > same');
    const { commit } = await place.create('s1');
    await place.exec('echo v2 > a.txt; rm d/gone; echo 1 > new');
    const { before, ...told } = await place.restore('s1');
    assert.deepEqual(told, { name: 's1', commit, changed: ['a.txt', 'd/gone', 'new'], changedCount: 3 });
    assert.equal(
      await place.exec(`git rev-parse refs/sandbox/before-restore; git show ${before}:a.txt`),
      `${before}\nv2\n`,
    );
  });

  test('nothing where nothing differs, and keeps what was there before the last one', async () => {
    await place.create('s1');
    await place.exec('echo v2 > a.txt');
    const { before } = await place.restore('s1');
    const again = await place.restore('s1');
    assert.deepEqual([again.changed, again.changedCount, again.before], [[], 0, undefined]);
    assert.equal(await place.exec('git rev-parse refs/sandbox/before-restore'), `${before}\n`);
  });

  test('how to go forth again: what was there before is a commit', async () => {
    await place.create('s1');
    await place.exec('echo v2 > a.txt; echo new > new');
    const files = await place.files();
    await place.restore('s1');
    await place.exec('git update-ref refs/sandbox/snapshots/undo refs/sandbox/before-restore');
    await place.restore('undo');
    assert.equal(await place.files(), files);
  });

  test('odd paths as git quotes them', async () => {
    await place.create('s1');
    await place.exec(
      String.raw`: > $'new\nline'; : > $'\xff'; : > 'a"b'; : > 'c\d'; : > 'sp ace'; : > 'ä'; : > $'\a'`,
    );
    const { changed } = await place.restore('s1');
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

  test('5 000 paths at most, and how many there are', async () => {
    await place.create('s1');
    await place.exec(
      'mkdir many; cd many; for i in {1000..6999}; do : > file-with-a-name-of-some-length-$i; done',
    );
    const { changed, changedCount } = await place.restore('s1');
    assert.deepEqual([changed.length, changedCount], [5_000, 6_000]);
    assert.equal(changed[4_999], 'many/file-with-a-name-of-some-length-5999');
  });
});

describe('a diff', () => {
  test('goes from the checkpoint to the files', async () => {
    const { commit } = await place.create('s1');
    await place.exec('echo v2 > a.txt; echo n > b.txt; git add b.txt');
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
    const told = { name: 's1', commit, diff, sizeBytes: diff.length, truncated: false };
    assert.deepEqual(await place.diff('s1'), told);
  });

  test('of files that are the same is empty', async () => {
    await place.create('s1');
    await place.exec('touch a.txt; chmod 600 a.txt');
    const { diff, sizeBytes, truncated } = await place.diff('s1');
    assert.deepEqual([diff, sizeBytes, truncated], ['', 0, false]);
  });

  test('that is too long ends with a line', async () => {
    await place.create('s1');
    await place.exec('seq 1000 > long');
    const whole = await place.diff('s1');
    const part = await place.diff('s1', { maxBytes: 500 });
    assert.deepEqual([part.truncated, part.sizeBytes], [true, whole.sizeBytes]);
    assert.ok(whole.diff.startsWith(part.diff) && part.diff.endsWith('\n'));
    assert.ok(part.diff.length <= 500 && part.diff.length > 490);
    const same = await place.diff('s1', { maxBytes: whole.sizeBytes });
    assert.deepEqual(same, whole);
  });

  test('of one long line ends with a character', async () => {
    await place.create('s1');
    await place.exec(`printf 'ä%.0s' {1..1000} > a.txt`);
    const { diff, truncated } = await place.diff('s1', { maxBytes: 300 });
    assert.ok(truncated && Buffer.byteLength(diff) <= 300 && !diff.includes('\ufffd'), diff);
  });

  test('of bytes that are no text is text', async () => {
    await place.create('s1');
    await place.exec(String.raw`printf 'latin \xe4\n' > latin; printf 'a\0b' > binary; : > $'\xff'`);
    const { diff } = await place.diff('s1');
    assert.ok(
      diff.includes('+latin \ufffd\n') && diff.includes('Binary files /dev/null and b/binary differ'),
      diff,
    );
    assert.ok(diff.includes(String.raw`"b/\377"`), diff);
  });

  test('knows files that were moved', async () => {
    await place.exec('seq 100 > old');
    await place.create('s1');
    await place.exec('mv old new');
    assert.match((await place.diff('s1')).diff, /similarity index 100%\nrename from old\nrename to new\n$/);
  });
});
