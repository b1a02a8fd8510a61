// Tests of the texts about full snapshots.

import assert from 'node:assert/strict';
import { test } from 'node:test';

import { fullForm, whyFull } from '../src/views/full-reasons.ts';

test('a partial snapshot is not said to have all files', () => {
  const expected = 'all files, except the excluded ones';
  assert.equal(fullForm({ partial: true, fullReason: 'excludes' }), expected);
  assert.equal(fullForm({ partial: true }), expected);
  assert.equal(fullForm({ partial: true, fullReason: 'noBase' }), expected);
});

test('the form of a full snapshot does not say why it is full', () => {
  assert.equal(fullForm({ fullReason: 'fileSystem' }), 'all files');
  assert.equal(fullForm({}), undefined);
});

test('why a snapshot is full is said if there is a reason, except for excluded files', () => {
  assert.equal(whyFull({ fullReason: 'rescue' }), 'it is a rescue snapshot');
  assert.equal(whyFull({ partial: true, fullReason: 'excludes' }), undefined);
  assert.equal(whyFull({}), undefined);
});
