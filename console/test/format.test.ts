// Tests of formatted policies, times, durations and sizes.

import assert from 'node:assert/strict';
import { describe, test } from 'node:test';

import { age, dateTime, exactDuration, expiry, readable, relativeTime, size } from '../src/format.ts';
import { sentences } from '../src/views/policy.ts';

describe('the sentences of a policy', () => {
  const LAST =
    'Pinned snapshots, snapshots with dependents and the newest restorable snapshot are never removed.';

  test('describe the defaults of an empty policy', () => {
    assert.deepEqual(sentences({}), ['Snapshots expire 30 d after their last use.', LAST]);
  });

  test('describe each rule', () => {
    const keepLast = { count: 5, expirationSeconds: 0, deleteEvicted: false };
    assert.deepEqual(sentences({ expirationSeconds: 0, keepLast, keepDaily: 7, keepWeekly: 1 }), [
      'Snapshots do not expire.',
      'Snapshots that are not among the newest 5 are removed when they expire. The newest 5 do not expire.',
      'The newest snapshot of each day is kept, for the last 7 days with snapshots.',
      'The newest snapshot of each week is kept, for the last 1 week with snapshots.',
      LAST,
    ]);
  });
});

describe('a time', () => {
  const now = Date.parse('2026-11-20T12:00:00Z');
  for (const [time, formatted] of [
    ['2026-11-20T11:59:55Z', 'just now'],
    ['2026-11-20T12:00:05Z', 'just now'],
    ['2026-11-20T11:59:29Z', '31 s ago'],
    ['2026-11-20T10:35:00Z', '1 h ago'],
    ['2026-11-20T10:01:00Z', '2 h ago'],
    ['2026-11-20T12:09:58Z', 'in 10 min'],
    ['2026-11-20T12:59:40Z', 'in 1 h'],
    ['2026-11-27T11:00:00Z', 'in 7 d'],
    ['2026-12-20T11:51:00Z', 'in 30 d'],
  ] as const)
    test(`at ${time} is formatted as ${formatted}`, () => assert.equal(relativeTime(time, now), formatted));

  test('in the past is never formatted as ahead of now', () => {
    assert.equal(age('2026-11-20T12:03:00Z', now), 'just now');
    assert.equal(age('2026-11-20T11:57:00Z', now), '3 min ago');
  });

  for (const [time, formatted] of [
    ['2026-11-23T13:00:00Z', 'expires in 3 d'],
    ['2026-11-20T12:00:05Z', 'expires now'],
    ['2026-11-20T12:00:00Z', 'expired'],
    ['2026-11-13T12:00:00Z', 'expired'],
  ] as const)
    test(`of expiry at ${time} is formatted as ${formatted}`, () =>
      assert.equal(expiry(time, now), formatted));

  test('that is invalid stays unchanged', () => {
    const invalid = 'the day after tomorrow';
    const formatted = [dateTime(invalid), relativeTime(invalid, now), age(invalid, now)];
    assert.deepEqual(formatted, [invalid, invalid, invalid]);
  });
});

describe('a duration', () => {
  for (const [seconds, formatted] of [
    [0, '0 s'],
    [90, '90 s'],
    [5_400, '90 min'],
    [129_600, '36 h'],
    [2_592_000, '30 d'],
  ] as const)
    test(`of ${seconds} seconds is formatted as ${formatted}`, () =>
      assert.equal(exactDuration(seconds), formatted));
});

test('times and durations in a text of the Worker are formatted', () => {
  const time = '2026-11-24T05:00:00Z';
  assert.equal(
    readable(`2592000 seconds have passed since its last use at ${time}`),
    `30 d have passed since its last use at ${dateTime(time)}`,
  );
  assert.equal(readable('among the newest 3'), 'among the newest 3');
});

describe('a size', () => {
  for (const [bytes, formatted] of [
    [0, '0 B'],
    [999, '999 B'],
    [4_096, '4.1 kB'],
    [262_144, '262 kB'],
    [9_960, '10 kB'],
    [999_999, '1.0 MB'],
    [1_234_567_890, '1.2 GB'],
  ] as const)
    test(`of ${bytes} bytes is formatted as ${formatted}`, () => assert.equal(size(bytes), formatted));
});
