// Tests of the texts about full snapshots.

import assert from 'node:assert/strict';
import { test } from 'node:test';

import { fullForm } from '../src/views/full-reasons.ts';

test('a partial snapshot is not said to have all files', () => {
  const expected = 'all files, except the excluded ones';
  assert.equal(fullForm({ partial: true, fullReason: 'excludes' }), expected);
  assert.equal(fullForm({ partial: true }), expected);
  assert.equal(
    fullForm({ partial: true, fullReason: 'noBase' }),
    `${expected}: the container has no full snapshot to compare with`,
  );
});

test('a full snapshot of all files has the reason why it is full, if there is one', () => {
  assert.equal(fullForm({ fullReason: 'rescue' }), 'all files: it is a rescue snapshot');
  assert.equal(fullForm({}), undefined);
});
