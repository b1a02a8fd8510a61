// Tests of the texts of the differences between snapshots.

import assert from 'node:assert/strict';
import { test } from 'node:test';

import { attributeOf, isOfGit } from '../src/views/changes.ts';

test('a path below a .git directory is one of git', () => {
  const paths = ['.git/HEAD', 'app/.git/index', '.gitignore', '.github/ci.yml', 'a.git/x', '.git'];
  assert.deepEqual(
    paths.filter((path) => isOfGit({ path })),
    ['.git/HEAD', 'app/.git/index'],
  );
});

test('a change of the mode has both values', () => {
  const file = { type: 'file', sizeBytes: 1, uid: 0, gid: 0, modifiedAt: '2026-01-01T00:00:00Z' } as const;
  const change = { from: { ...file, mode: '0644' }, to: { ...file, mode: '0755' } };
  assert.equal(attributeOf('mode', change), 'mode 0644 → 0755');
  assert.equal(attributeOf('content', change), 'content');
});

test('a change of a link has both targets, without characters that reorder text', () => {
  const link = {
    type: 'symlink',
    mode: '0777',
    sizeBytes: 1,
    uid: 0,
    gid: 0,
    modifiedAt: '2026-01-01T00:00:00Z',
  } as const;
  const change = { from: { ...link, target: 'a' }, to: { ...link, target: 'b\u202ec' } };
  assert.equal(attributeOf('target', change), 'target a → b\\u202ec');
});
