// Tests of type-ahead in the tree.

import assert from 'node:assert/strict';
import { describe, test } from 'node:test';

import { TypeAhead } from '../src/tree/type-ahead.ts';

const NAMES = ['agent', 'Base', 'before', 'base-2', 'aardvark', '_odd'];

/** Returns the name that has the focus after each typed character; undefined without a match. A space is a pause. */
function focusedNames(typed: string, from: string): (string | undefined)[] {
  const ahead = new TypeAhead();
  let focused = NAMES.indexOf(from);
  let at = 0;
  const names: (string | undefined)[] = [];
  for (const character of typed) {
    at += character === ' ' ? 1_000 : 100;
    if (character === ' ') continue;
    const found = ahead.next(character, at, NAMES, focused);
    focused = found ?? focused;
    names.push(found === undefined ? undefined : NAMES[found]);
  }
  return names;
}

describe('type-ahead', () => {
  for (const [what, typed, from, to] of [
    ['focuses the next name that begins with the character', 'b', 'agent', ['Base']],
    ['ignores case', 'BASE', 'agent', ['Base', 'Base', 'Base', 'Base']],
    ['continues at the beginning after the last name', 'a', 'aardvark', ['agent']],
    ['keeps the focus while the name matches the typed characters', 'be', 'Base', ['before', 'before']],
    [
      'cycles through all names that begin with a repeated character',
      'bbbb',
      'agent',
      ['Base', 'before', 'base-2', 'Base'],
    ],
    ['begins a new name after a pause', 'b a', 'agent', ['Base', 'aardvark']],
    ['keeps the focus if no name matches', 'bx', 'agent', ['Base', undefined]],
    ['accepts any character', '_', 'agent', ['_odd']],
  ] as const)
    test(what, () => assert.deepEqual(focusedNames(typed, from), to));

  test('finds nothing in an empty tree', () => assert.equal(new TypeAhead().next('a', 0, [], 0), undefined));
});
