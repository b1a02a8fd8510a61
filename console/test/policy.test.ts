// Tests of the form of a policy.

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
  test('gives the same policy if no field changed', () =>
    assert.deepEqual(policyOf(FULL, fieldsOf(FULL)), FULL));

  test('shows the defaults of an empty policy', () =>
    assert.deepEqual(fieldsOf({}), {
      expirationSeconds: 2_592_000,
      last: '',
      lastSeconds: undefined,
      deleteEvicted: true,
      daily: '',
      weekly: '',
    }));

  test('removes a rule whose field is empty', () => {
    const cleared = { ...fieldsOf(FULL), last: '', daily: '', weekly: '' };
    assert.deepEqual(policyOf(FULL, cleared), { expirationSeconds: 86_400 });
  });

  test('keeps the rules that it has no field for', () => {
    const newer = { ...FULL, keepHourly: 3, keepLast: { count: 5, keepNamed: true } } as Policy;
    const policy = policyOf(newer, { ...fieldsOf(newer), last: '6' });
    assert.deepEqual(policy, { ...newer, keepLast: { count: 6, deleteEvicted: true, keepNamed: true } });
  });
});
