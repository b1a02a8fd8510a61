// The lines of two texts side by side.

import assert from 'node:assert/strict';
import { test } from 'node:test';

import { sideBySide } from '../src/lines.ts';

const shown = (before: string, after: string) =>
  sideBySide(before, after).map(({ before, after }) => `${before ?? ''}|${after ?? ''}`);

test('lines that both texts have are next to each other', () => {
  assert.deepEqual(shown('a\nb\nc\n', 'a\nc\nd\n'), ['a|a', 'b|', 'c|c', '|d']);
  assert.deepEqual(shown('a\nold\nc', 'a\nnew\nc'), ['a|a', 'old|new', 'c|c']);
  assert.deepEqual(shown('', 'a\nb'), ['|a', '|b']);
  assert.deepEqual(shown('a', ''), ['a|']);
  assert.deepEqual(shown('', ''), []);
});

test('each side has all of its lines, in order', () => {
  let state = 7;
  const random = (count: number) => (state = (state * 48_271) % 2_147_483_647) % count;
  const text = () => Array.from({ length: random(12) }, () => 'abc'[random(3)]).join('\n');
  for (let count = 0; count < 2_000; count++) {
    const [before, after] = [text(), text()];
    const rows = sideBySide(before, after);
    const side = (name: 'before' | 'after') => rows.flatMap((row) => row[name] ?? []).join('\n');
    assert.deepEqual([side('before'), side('after')], [before, after]);
  }
});

test('large texts are one change', () => {
  const lines = (count: number, letter: string) => `${letter}\n`.repeat(count);
  const rows = sideBySide(lines(6_000, 'a'), lines(6_000, 'b'));
  assert.deepEqual([rows.length, rows[0]], [6_000, { before: 'a', after: 'b' }]);
  assert.equal(sideBySide(lines(1_500, 'a'), lines(1_500, 'b')).length, 1_500);
});
