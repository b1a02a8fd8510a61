// Checkpoints leave the user's own git state alone: its branch, index, stash, log, settings and hooks, to the byte.

import assert from 'node:assert/strict';
import { after, before, beforeEach, describe, test } from 'node:test';

import { until, World } from '../world.ts';
import { Place, quoted } from './place.ts';

/** A repository with something in every place that git has for work in progress. */
const WORK_IN_PROGRESS = `
  git init -q -b main && git config user.email a@b && git config user.name a
  printf '*.log\n' > .gitignore; echo one > tracked; echo two > other; git add . && git commit -qm first
  git checkout -qb feature; echo stashed >> tracked; git stash -q; echo feature > tracked; git commit -qam second
  echo staged > staged; git add staged; echo unstaged >> tracked; rm other; echo untracked > untracked; echo x > x.log`;

/** Settings and hooks that would run, or change what is kept. */
const IN_THE_WAY = `
  for hook in reference-transaction post-index-change pre-commit commit-msg post-commit post-checkout pre-auto-gc; do
    printf '#!/bin/sh\necho ran >> /tmp/ran\n' > .git/hooks/$hook; chmod +x .git/hooks/$hook
  done
  printf '#!/bin/sh\necho ran >> /tmp/ran; cat\n' > /tmp/program; chmod +x /tmp/program
  git config filter.lfs.clean /tmp/program; git config filter.lfs.smudge /tmp/program; git config filter.lfs.required true
  git config diff.external /tmp/program; git config core.fsmonitor /tmp/program; git config gpg.program /tmp/program
  git config commit.gpgSign true; git config core.autocrlf true; git config core.logAllRefUpdates always
  git config color.ui always; git config diff.noprefix true; git config core.splitIndex true
  git config index.version 4; git config core.untrackedCache true; git config status.showUntrackedFiles no
  git config core.excludesFile /tmp/ignored; echo '*.mine' > /tmp/ignored; echo '*.private' > .git/info/exclude`;

let world: World;
let place: Place;
let count = 0;

before(async () => {
  world = await World.start();
});
after(() => world[Symbol.asyncDispose]());

beforeEach(async () => {
  place = new Place(world, `repository-${++count}`);
  await place.exec(WORK_IN_PROGRESS);
});

/** Does something that must leave everything of the user's repository as it was, and run none of its programs. */
async function untouched(act: () => Promise<unknown>) {
  const before = await place.repository();
  await place.exec('rm -f /tmp/ran');
  await act();
  assert.equal(await place.exec('[ -e /tmp/ran ] && cat /tmp/ran; true'), '');
  assert.equal(await place.repository(), before);
}

describe("the user's repository is as it was", () => {
  test('after a checkpoint was made, and made again', async () => {
    await untouched(() => place.create('s1'));
    await untouched(() => place.create('s1'));
  });

  test('after checkpoints were listed', async () => {
    await place.create('s1');
    await untouched(() => place.list());
  });

  test('after a diff, which writes no object either', async () => {
    await place.create('s1');
    await place.exec('echo more >> untracked; echo new > new');
    const objects = await place.exec('find .git/objects | sort');
    await untouched(() => place.diff('s1'));
    assert.equal(await place.exec('find .git/objects | sort'), objects);
  });

  test('after a restore, apart from what the files say', async () => {
    await place.create('s1');
    const before = await place.repository();
    await place.exec('echo more >> tracked; echo new > new; rm untracked staged; echo back > other');
    await place.restore('s1');
    assert.equal(await place.repository(), before);
  });

  test('after calls that are refused', async () => {
    await untouched(async () => {
      await place.refused('CHECKPOINT_NOT_FOUND', 'restore', 'diff');
      assert.equal(await place.code(place.create('s1', { dir: '/workspace/missing' })), 'INVALID_DIRECTORY');
    });
  });

  test('whatever it is configured to do, and none of its programs runs', async () => {
    await place.exec(IN_THE_WAY);
    const attributes = '*.lfs filter=lfs diff=lfs';
    await place.exec(
      `echo '${attributes}' > .gitattributes; echo 1 > big.lfs; printf 'a\\r\\nb\\n' > mixed; touch not.mine not.private`,
    );
    const files = await place.files();
    await untouched(() => place.create('s1'));
    await untouched(() => place.list());
    await place.exec('echo 2 > big.lfs; rm mixed untracked');
    await untouched(async () => {
      const { diff } = await place.diff('s1');
      assert.match(diff, /^diff --git a\/big\.lfs b\/big\.lfs\nindex .*\n--- a\/big\.lfs/);
    });
    await place.exec('rm -f /tmp/ran');
    await place.restore('s1');
    assert.equal(await place.exec('[ -e /tmp/ran ] && cat /tmp/ran; true'), '');
    assert.equal(await place.files(), files);
    const held = (await place.holds('refs/sandbox/snapshots/s1')).map((entry) => entry.slice(7));
    assert.deepEqual(held, [
      '.gitattributes',
      '.gitignore',
      'big.lfs',
      'mixed',
      'staged',
      'tracked',
      'untracked',
    ]);
  });
});

describe('a checkpoint', () => {
  test('is a commit without parents, that no branch, tag or log of git shows', async () => {
    const { commit } = await place.create('s1');
    assert.equal(await place.exec(`git rev-list --count ${commit}`), '1\n');
    const seen = await place.exec('git log --oneline --branches --tags; git reflog; git branch -a; git tag');
    assert.ok(!seen.includes(commit.slice(0, 7)), seen);
    assert.equal(
      await place.exec('git for-each-ref --format="%(objectname)" refs/sandbox/snapshots/s1'),
      `${commit}\n`,
    );
  });

  test('outlives git gc', async () => {
    await place.create('s1');
    const files = await place.files();
    await place.exec('git gc -q --prune=now; git pack-refs --all; echo 2 > untracked; echo 3 > tracked');
    await place.restore('s1');
    assert.equal(await place.files(), files);
  });

  test('leaves the repository whole', async () => {
    await place.create('s1');
    await place.exec('echo 2 > untracked');
    await place.restore('s1');
    assert.equal(await place.exec('git fsck --no-dangling 2>&1'), '');
    assert.equal(await place.exec('ls -d .git/sandbox-snapshotter 2>/dev/null; true'), '');
  });

  test('leaves no process', async () => {
    await place.exec('echo 1 > file');
    const others = 'for process in /proc/[0-9]*; do [ $process = /proc/$$ ] || echo $process; done';
    const processes = async () => (await place.exec(others)).trim().split('\n');
    const before = await processes();
    await place.create('s1');
    await place.diff('s1');
    await place.restore('s1');
    // What ran may still be ending.
    await until(async () => (await processes()).every((process) => before.includes(process)));
  });

  test('is made whatever variables of git and bash the sandbox has', async () => {
    await place.exec("echo 'set -efuC; shopt -s nocasematch failglob; git() { false; }' > /tmp/options.sh");
    const GIT = {
      POSIXLY_CORRECT: '1',
      tree: '/tmp',
      BASH_ENV: '/tmp/options.sh',
      BASH_COMPAT: '3.1',
      CDPATH: '/tmp',
      FUNCNEST: '1',
      GLOBIGNORE: '*',
      TMOUT: '1',
      GIT_DIR: '/tmp/none',
      GIT_INDEX_FILE: '/tmp/index',
      GIT_WORK_TREE: '/tmp',
      GIT_CONFIG_COUNT: '1',
    };
    await world.sandbox(place.id, 'setEnvVars', {
      ...GIT,
      GIT_CONFIG_KEY_0: 'core.bare',
      GIT_CONFIG_VALUE_0: 'true',
    });
    await place.create('s1');
    const gone = Object.fromEntries(Object.keys(GIT).map((name) => [name, undefined]));
    await world.sandbox(place.id, 'setEnvVars', gone);
    assert.deepEqual(await place.names(), ['s1']);
    const show = 'unset "${!GIT_@}"; git show refs/sandbox/snapshots/s1:untracked';
    assert.equal(await place.exec(show), 'untracked\n');
  });
});

describe('a repository', () => {
  test('is made with the first checkpoint, where there is none', async () => {
    const plain = new Place(world, `plain-${++count}`);
    await plain.exec('echo 1 > file');
    assert.deepEqual(await plain.names(), []);
    await plain.refused('CHECKPOINT_NOT_FOUND', 'restore', 'diff');
    assert.equal(await plain.exec('ls -A'), 'file\n');
    await plain.create('s1');
    assert.equal(await plain.exec('git status --short --branch'), '## No commits yet on main\n?? file\n');
  });

  for (const [what, init] of Object.entries({
    'of SHA-256': 'git init -q --object-format=sha256',
    'whose refs are in a table': 'git init -q --ref-format=reftable',
    'that lost its HEAD before anything was in it': 'mkdir .git',
  })) {
    test(`${what} has checkpoints too`, async () => {
      const other = new Place(world, `other-${++count}`);
      await other.exec(`${init}; echo 1 > file`);
      const { commit } = await other.create('s1');
      assert.equal(commit.length, what.includes('256') ? 64 : 40);
      await other.exec('echo 2 > file; echo 3 > new');
      assert.deepEqual((await other.restore('s1')).changed, ['file', 'new']);
      assert.equal(await other.exec('cat *'), '1\n');
    });
  }

  test('whose work tree is linked has checkpoints too, and its main one is as it was', async () => {
    await place.exec('git worktree add -q /home/linked main');
    const linked = new Place(world, place.id, '/home/linked');
    await untouched(async () => {
      await linked.create('s1');
      await linked.exec('echo 2 > tracked; echo 3 > new');
      assert.deepEqual((await linked.restore('s1')).changed, ['new', 'tracked']);
    });
    assert.equal(await linked.exec('git status --short'), '');
  });

  test('has names of its own in each of its work trees', async () => {
    await place.exec('git worktree add -q /home/linked main');
    const linked = new Place(world, place.id, '/home/linked');
    const [{ commit }, { commit: its }] = [await place.create('s1'), await linked.create('s1')];
    assert.notEqual(commit, its);
    assert.deepEqual(
      [await place.list(), await linked.list()].map(([first]) => first?.commit),
      [commit, its],
    );
    await linked.exec('echo 2 > tracked');
    assert.deepEqual((await linked.restore('s1')).changed, ['tracked']);
    assert.equal(
      await place.exec('git for-each-ref --format="%(refname)" refs/sandbox refs/worktree'),
      'refs/sandbox/snapshots/s1\n',
    );
  });

  test('whose rules are in a file with an odd name keeps by them', async () => {
    const name = String.raw`/tmp/it's "odd" \ ; # .ignore`;
    await place.exec(
      `printf '*.mine\n' > ${quoted(name)}; git config core.excludesFile ${quoted(name)}; touch not.mine`,
    );
    await place.create('s1');
    assert.ok(!(await place.holds('refs/sandbox/snapshots/s1')).includes('100644 not.mine'));
  });

  test('without commits, whose HEAD is a link, keeps that', async () => {
    const other = new Place(world, `other-${++count}`);
    await other.exec('git init -q; ln -sf refs/heads/trunk .git/HEAD; echo 1 > file');
    await other.create('s1');
    assert.equal(await other.exec('readlink .git/HEAD'), 'refs/heads/trunk\n');
  });

  test('that git can not read is refused with what git says', async () => {
    await place.exec('echo junk > .git/HEAD');
    const error = await world.failure(place.create('s1'));
    assert.equal(error.code, 'CHECKPOINT_FAILED');
    assert.match(error.message, /not a git repository/);
  });
});
