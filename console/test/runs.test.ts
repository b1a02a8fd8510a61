// Tests of runs of similar items.

import assert from 'node:assert/strict';
import { test } from 'node:test';

import { runsOf } from '../src/runs.ts';

const runs = (text: string) =>
  runsOf([...text], (letter) => (letter === '.' ? undefined : letter)).map((run) => run.join(''));

test('consecutive items with the same key are a run', () => {
  assert.deepEqual(runs('aabaaa'), ['aa', 'b', 'aaa']);
  assert.deepEqual(runs(''), []);
});

test('items without a key are in no run, and end one', () => {
  assert.deepEqual(runs('aa.a..'), ['aa', '.', 'a', '.', '.']);
});
