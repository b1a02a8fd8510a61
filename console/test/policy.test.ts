// A policy as the fields of its form.

import assert from 'node:assert/strict';
import { describe, test } from 'node:test';

import type { Policy } from '../../client/src/index.ts';
import { fieldsOf, policyOf } from '../src/views/policy-fields.ts';

const FULL: Policy = {
  expirationSeconds: 86_400,
  keepLast: { count: 5, deleteEvicted: false, expirationSeconds: 0 },
  keepDaily: 7,
  keepWeekly: 4,
};

describe('the form of a policy', () => {
  test('that nobody changed gives the same policy', () =>
    assert.deepEqual(policyOf(FULL, fieldsOf(FULL)), FULL));

  test('begins with what holds where the policy says nothing', () =>
    assert.deepEqual(fieldsOf({}), {
      expirationSeconds: 2_592_000,
      last: '',
      lastSeconds: undefined,
      deleteEvicted: true,
      daily: '',
      weekly: '',
    }));

  test('takes a rule away whose field was emptied', () => {
    const emptied = { ...fieldsOf(FULL), last: '', daily: '', weekly: '' };
    assert.deepEqual(policyOf(FULL, emptied), { expirationSeconds: 86_400 });
  });

  test('keeps what it has no field for', () => {
    const newer = { ...FULL, keepHourly: 3, keepLast: { count: 5, keepNamed: true } } as Policy;
    const policy = policyOf(newer, { ...fieldsOf(newer), last: '6' });
    assert.deepEqual(policy, { ...newer, keepLast: { count: 6, deleteEvicted: true, keepNamed: true } });
  });
});
