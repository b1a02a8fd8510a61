// What the console says in words.

import assert from 'node:assert/strict';
import { describe, test } from 'node:test';

import { age, distance, exactDuration, expiry, moment, size } from '../src/texts.ts';
import { sentences } from '../src/views/policy.ts';

describe('a policy in words', () => {
  const LAST = 'What is pinned, what others need, and the newest that can be restored never go.';

  test('that says nothing is the default', () => {
    assert.deepEqual(sentences({}), ['A snapshot goes 30 d after its last use.', LAST]);
  });

  test('has a sentence for each rule', () => {
    const keepLast = { count: 5, expirationSeconds: 0, deleteEvicted: false };
    assert.deepEqual(sentences({ expirationSeconds: 0, keepLast, keepDaily: 7, keepWeekly: 1 }), [
      'Snapshots do not go by time.',
      'The newest 5 stay, for ever; others go when they expire.',
      'The newest of each of 7 days stays.',
      'The newest of each of 1 week stays.',
      LAST,
    ]);
  });
});

describe('a time', () => {
  const now = Date.parse('2026-11-20T12:00:00Z');
  for (const [time, words] of [
    ['2026-11-20T11:59:55Z', 'just now'],
    ['2026-11-20T12:00:05Z', 'just now'],
    ['2026-11-20T11:59:29Z', '31 s ago'],
    ['2026-11-20T10:01:00Z', '1 h ago'],
    ['2026-11-27T11:00:00Z', 'in 6 d'],
  ] as const)
    test(`at ${time} is ${words}`, () => assert.equal(distance(time, now), words));

  test('that is over is not ahead, whatever the clocks say', () => {
    assert.equal(age('2026-11-20T12:03:00Z', now), 'just now');
    assert.equal(age('2026-11-20T11:57:00Z', now), '3 min ago');
  });

  for (const [time, words] of [
    ['2026-11-23T13:00:00Z', 'expires in 3 d'],
    ['2026-11-20T12:00:05Z', 'expires now'],
    ['2026-11-20T12:00:00Z', 'expired'],
    ['2026-11-13T12:00:00Z', 'expired'],
  ] as const)
    test(`of expiry at ${time} is ${words}`, () => assert.equal(expiry(time, now), words));

  test('that is none stays as it is', () => {
    const none = 'the day after tomorrow';
    assert.deepEqual([moment(none), distance(none, now), age(none, now)], [none, none, none]);
  });
});

describe('a span', () => {
  for (const [seconds, words] of [
    [0, '0 s'],
    [90, '90 s'],
    [5_400, '90 min'],
    [129_600, '36 h'],
    [2_592_000, '30 d'],
  ] as const)
    test(`of ${seconds} seconds is ${words}`, () => assert.equal(exactDuration(seconds), words));
});

describe('a size', () => {
  for (const [bytes, words] of [
    [0, '0 B'],
    [999, '999 B'],
    [4_096, '4.1 kB'],
    [262_144, '262 kB'],
    [999_999, '1.0 MB'],
    [1_234_567_890, '1.2 GB'],
  ] as const)
    test(`of ${bytes} bytes is ${words}`, () => assert.equal(size(bytes), words));
});
