// Tests of the texts of the differences between snapshots.

import assert from 'node:assert/strict';
import { test } from 'node:test';

import { isOfGit } from '../src/views/changes.ts';

test('a path below a .git directory is one of git', () => {
  const paths = ['.git/HEAD', 'app/.git/index', '.gitignore', '.github/ci.yml', 'a.git/x', '.git'];
  assert.deepEqual(
    paths.filter((path) => isOfGit({ path })),
    ['.git/HEAD', 'app/.git/index'],
  );
});
