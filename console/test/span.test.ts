// Tests of durations as users type them.

import assert from 'node:assert/strict';
import { describe, test } from 'node:test';

import { secondsOf, spanOf, type Span } from '../src/span.ts';

describe('a duration', () => {
  for (const [seconds, amount, unit] of [
    [1, '1', 'seconds'],
    [90, '90', 'seconds'],
    [5_400, '90', 'minutes'],
    [129_600, '36', 'hours'],
    [2_592_000, '30', 'days'],
  ] as const)
    test(`of ${seconds} seconds converts to ${amount} ${unit} and back`, () => {
      assert.deepEqual(spanOf(seconds), { amount, unit });
      assert.equal(secondsOf({ amount, unit }), seconds);
    });

  for (const seconds of [undefined, 0])
    test(`of ${seconds} converts to 1 day`, () =>
      assert.deepEqual(spanOf(seconds), { amount: '1', unit: 'days' }));

  test('with a fraction of a unit is rounded to whole seconds', () => {
    assert.equal(secondsOf({ amount: '1.5', unit: 'hours' }), 5_400);
    assert.equal(secondsOf({ amount: '1.0001', unit: 'minutes' }), 60);
  });

  for (const amount of ['', ' ', '0', '-3', '0.4', 'x', '1e999'])
    test(`is undefined for the amount “${amount}”`, () => {
      const span: Span = { amount, unit: 'days' };
      assert.equal(secondsOf(span), undefined);
    });
});
