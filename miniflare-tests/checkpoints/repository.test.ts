// Checkpoints leave the user's git state unchanged: the branch, index, stash, reflog, settings and hooks.

import assert from 'node:assert/strict';
import { after, before, beforeEach, describe, test } from 'node:test';

import { until, World } from '../world.ts';
import { CheckpointDirectory, quoted } from './checkpoint-directory.ts';

/** Creates a repository with commits, a stash, and staged, unstaged, untracked and ignored files. */
const WORK_IN_PROGRESS = `
  git init -q -b main && git config user.email a@b && git config user.name a
  printf '*.log\n' > .gitignore; echo one > tracked; echo two > other; git add . && git commit -qm first
  git checkout -qb feature; echo stashed >> tracked; git stash -q; echo feature > tracked; git commit -qam second
  echo staged > staged; git add staged; echo unstaged >> tracked; rm other; echo untracked > untracked; echo x > x.log`;

/** Adds settings and hooks that could run or could change the content of a checkpoint. */
const HOOKS_AND_SETTINGS = `
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
let directory: CheckpointDirectory;
let count = 0;

before(async () => {
  world = await World.start();
});
after(() => world[Symbol.asyncDispose]());

beforeEach(async () => {
  directory = new CheckpointDirectory(world, `repository-${++count}`);
  await directory.exec(WORK_IN_PROGRESS);
});

/** Asserts that `act` leaves the user's repository unchanged, and runs none of its programs. */
async function assertUnchanged(act: () => Promise<unknown>) {
  const before = await directory.repository();
  await directory.exec('rm -f /tmp/ran');
  await act();
  assert.equal(await directory.exec('[ -e /tmp/ran ] && cat /tmp/ran; true'), '');
  assert.equal(await directory.repository(), before);
}

describe("the user's repository is unchanged", () => {
  test('after a checkpoint was created and replaced', async () => {
    await assertUnchanged(() => directory.create('s1'));
    await assertUnchanged(() => directory.create('s1'));
  });

  test('after checkpoints were listed', async () => {
    await directory.create('s1');
    await assertUnchanged(() => directory.list());
  });

  test('after a diff, which writes no object either', async () => {
    await directory.create('s1');
    await directory.exec('echo more >> untracked; echo new > new');
    const objects = await directory.exec('find .git/objects | sort');
    await assertUnchanged(() => directory.diff('s1'));
    assert.equal(await directory.exec('find .git/objects | sort'), objects);
  });

  test('after a restore, except for its files', async () => {
    await directory.create('s1');
    const before = await directory.repository();
    await directory.exec('echo more >> tracked; echo new > new; rm untracked staged; echo back > other');
    await directory.restore('s1');
    assert.equal(await directory.repository(), before);
  });

  test('after refused calls', async () => {
    await assertUnchanged(async () => {
      await directory.assertRefused('CHECKPOINT_NOT_FOUND', 'restore', 'diff');
      assert.equal(
        await directory.errorCode(directory.create('s1', { dir: '/workspace/missing' })),
        'INVALID_DIRECTORY',
      );
    });
  });

  test('with hooks, filters and unusual settings, and none of its programs runs', async () => {
    await directory.exec(HOOKS_AND_SETTINGS);
    const attributes = '*.lfs filter=lfs diff=lfs';
    await directory.exec(
      `echo '${attributes}' > .gitattributes; echo 1 > big.lfs; printf 'a\\r\\nb\\n' > mixed; touch not.mine not.private`,
    );
    const files = await directory.files();
    await assertUnchanged(() => directory.create('s1'));
    await assertUnchanged(() => directory.list());
    await directory.exec('echo 2 > big.lfs; rm mixed untracked');
    await assertUnchanged(async () => {
      const { diff } = await directory.diff('s1');
      assert.match(diff, /^diff --git a\/big\.lfs b\/big\.lfs\nindex .*\n--- a\/big\.lfs/);
    });
    await directory.exec('rm -f /tmp/ran');
    await directory.restore('s1');
    assert.equal(await directory.exec('[ -e /tmp/ran ] && cat /tmp/ran; true'), '');
    assert.equal(await directory.files(), files);
    const paths = (await directory.listTree('refs/sandbox/snapshots/s1')).map((entry) => entry.slice(7));
    assert.deepEqual(paths, [
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
  test('is a commit without parents that no branch, tag or reflog contains', async () => {
    const { commit } = await directory.create('s1');
    assert.equal(await directory.exec(`git rev-list --count ${commit}`), '1\n');
    const seen = await directory.exec(
      'git log --oneline --branches --tags; git reflog; git branch -a; git tag',
    );
    assert.ok(!seen.includes(commit.slice(0, 7)), seen);
    assert.equal(
      await directory.exec('git for-each-ref --format="%(objectname)" refs/sandbox/snapshots/s1'),
      `${commit}\n`,
    );
  });

  test('survives git gc', async () => {
    await directory.create('s1');
    const files = await directory.files();
    await directory.exec('git gc -q --prune=now; git pack-refs --all; echo 2 > untracked; echo 3 > tracked');
    await directory.restore('s1');
    assert.equal(await directory.files(), files);
  });

  test('leaves the repository consistent', async () => {
    await directory.create('s1');
    await directory.exec('echo 2 > untracked');
    await directory.restore('s1');
    assert.equal(await directory.exec('git fsck --no-dangling 2>&1'), '');
    assert.equal(await directory.exec('ls -d .git/sandbox-snapshotter 2>/dev/null; true'), '');
  });

  test('leaves no process', async () => {
    await directory.exec('echo 1 > file');
    const others =
      'for process in /proc/[0-9]*; do case ${process#/proc/} in $$ | $PPID) ;; *) echo $process ;; esac; done';
    const processes = async () => (await directory.exec(others)).trim().split('\n');
    const before = await processes();
    await directory.create('s1');
    await directory.diff('s1');
    await directory.restore('s1');
    // A process may still be ending.
    await until(async () => (await processes()).every((process) => before.includes(process)));
  });

  test('is created despite variables of git and bash in the sandbox', async () => {
    await directory.exec(
      "echo 'set -efuC; shopt -s nocasematch failglob; git() { false; }' > /tmp/options.sh",
    );
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
    await world.sandbox(directory.id, 'setEnvVars', {
      ...GIT,
      GIT_CONFIG_KEY_0: 'core.bare',
      GIT_CONFIG_VALUE_0: 'true',
    });
    await directory.create('s1');
    const unset = Object.fromEntries(Object.keys(GIT).map((name) => [name, undefined]));
    await world.sandbox(directory.id, 'setEnvVars', unset);
    assert.deepEqual(await directory.names(), ['s1']);
    const show = 'unset "${!GIT_@}"; git show refs/sandbox/snapshots/s1:untracked';
    assert.equal(await directory.exec(show), 'untracked\n');
  });
});

describe('a repository', () => {
  test('is created with the first checkpoint if the directory has none', async () => {
    const plain = new CheckpointDirectory(world, `plain-${++count}`);
    await plain.exec('echo 1 > file');
    assert.deepEqual(await plain.names(), []);
    await plain.assertRefused('CHECKPOINT_NOT_FOUND', 'restore', 'diff');
    assert.equal(await plain.exec('ls -A'), 'file\n');
    await plain.create('s1');
    assert.equal(await plain.exec('git status --short --branch'), '## No commits yet on main\n?? file\n');
  });

  for (const [what, init] of Object.entries({
    'with SHA-256': 'git init -q --object-format=sha256',
    'with refs in a reftable': 'git init -q --ref-format=reftable',
    'that is empty and has no HEAD': 'mkdir .git',
  })) {
    test(`${what} can have checkpoints`, async () => {
      const other = new CheckpointDirectory(world, `other-${++count}`);
      await other.exec(`${init}; echo 1 > file`);
      const { commit } = await other.create('s1');
      assert.equal(commit.length, what.includes('256') ? 64 : 40);
      await other.exec('echo 2 > file; echo 3 > new');
      assert.deepEqual((await other.restore('s1')).changed, ['file', 'new']);
      assert.equal(await other.exec('cat *'), '1\n');
    });
  }

  test('with a linked work tree can have checkpoints, and the main work tree is unchanged', async () => {
    await directory.exec('git worktree add -q /home/linked main');
    const linked = new CheckpointDirectory(world, directory.id, '/home/linked');
    await assertUnchanged(async () => {
      await linked.create('s1');
      await linked.exec('echo 2 > tracked; echo 3 > new');
      assert.deepEqual((await linked.restore('s1')).changed, ['new', 'tracked']);
    });
    assert.equal(await linked.exec('git status --short'), '');
  });

  test('has separate checkpoint names in each work tree', async () => {
    await directory.exec('git worktree add -q /home/linked main');
    const linked = new CheckpointDirectory(world, directory.id, '/home/linked');
    const [{ commit }, { commit: linkedCommit }] = [await directory.create('s1'), await linked.create('s1')];
    assert.notEqual(commit, linkedCommit);
    assert.deepEqual(
      [await directory.list(), await linked.list()].map(([first]) => first?.commit),
      [commit, linkedCommit],
    );
    await linked.exec('echo 2 > tracked');
    assert.deepEqual((await linked.restore('s1')).changed, ['tracked']);
    assert.equal(
      await directory.exec('git for-each-ref --format="%(refname)" refs/sandbox refs/worktree'),
      'refs/sandbox/snapshots/s1\n',
    );
  });

  test('with ignore rules in a file with an unusual name respects them', async () => {
    const name = String.raw`/tmp/it's "odd" \ ; # .ignore`;
    await directory.exec(
      `printf '*.mine\n' > ${quoted(name)}; git config core.excludesFile ${quoted(name)}; touch not.mine`,
    );
    await directory.create('s1');
    assert.ok(!(await directory.listTree('refs/sandbox/snapshots/s1')).includes('100644 not.mine'));
  });

  test('without commits, whose HEAD is a link, keeps the link', async () => {
    const other = new CheckpointDirectory(world, `other-${++count}`);
    await other.exec('git init -q; ln -sf refs/heads/trunk .git/HEAD; echo 1 > file');
    await other.create('s1');
    assert.equal(await other.exec('readlink .git/HEAD'), 'refs/heads/trunk\n');
  });

  test('that git cannot read is refused with the message of git', async () => {
    await directory.exec('echo junk > .git/HEAD');
    const error = await world.failure(directory.create('s1'));
    assert.equal(error.code, 'CHECKPOINT_FAILED');
    assert.match(error.message, /not a git repository/);
  });
});
