// Tests of the numbers of snapshots below the tree.

import assert from 'node:assert/strict';
import { test } from 'node:test';

import { lineage, sandbox, snapshot } from './lineages.ts';

const { snapshotCounts } = await import('../src/views/snapshot-counts.ts');

test('deleted snapshots are counted apart from the existing ones', () => {
  const deleted = snapshot('s1', [sandbox('b', [snapshot('s2', [], { state: 'creating' })])], {
    state: 'deleted',
  });
  assert.equal(snapshotCounts(lineage(sandbox('a', [snapshot('s0'), deleted]))), '2 snapshots, 1 deleted');
});

test('without deleted snapshots, there is one number', () => {
  assert.equal(snapshotCounts(lineage(sandbox('a', [snapshot('s0')]))), '1 snapshot');
  assert.equal(snapshotCounts(lineage(sandbox('a'))), '0 snapshots');
});
