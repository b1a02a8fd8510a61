// Tests of the reports that a rollback may have lost files.

import assert from 'node:assert/strict';
import { test } from 'node:test';

import type { Workspace } from '../../client/src/index.ts';
import './page.ts';

const { lossOfRollback } = await import('../src/views/workspace-operations.ts');

const lossOf = (changes: Partial<Workspace>) => lossOfRollback(changes as Workspace);

test('a rollback that saved the present files may have lost only earlier changes', () => {
  assert.equal(
    lossOf({ mayHaveLost: true, formerSnapshotId: 'snap-1' }),
    'Earlier changes that are in no snapshot may be lost.',
  );
});

test('a rollback without a snapshot of the present files may have lost any changes', () => {
  assert.equal(lossOf({ mayHaveLost: true }), 'Changes that are in no snapshot may be lost.');
});

test('a rollback that lost nothing reports no loss', () => {
  assert.deepEqual([lossOf({}), lossOf({ mayHaveLost: false })], [undefined, undefined]);
});
