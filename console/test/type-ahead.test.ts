// Going to a node by the beginning of its name.

import assert from 'node:assert/strict';
import { describe, test } from 'node:test';

import { TypeAhead } from '../src/tree/type-ahead.ts';

const NAMES = ['agent', 'Base', 'before', 'base-2', 'aardvark', '_odd'];

/** The names that are gone to, by what is typed; a space is a pause. */
function gone(typed: string, from: string): (string | undefined)[] {
  const ahead = new TypeAhead();
  let focused = NAMES.indexOf(from);
  let at = 0;
  const to: (string | undefined)[] = [];
  for (const character of typed) {
    at += character === ' ' ? 1_000 : 100;
    if (character === ' ') continue;
    const found = ahead.next(character, at, NAMES, focused);
    focused = found ?? focused;
    to.push(found === undefined ? undefined : NAMES[found]);
  }
  return to;
}

describe('what is typed in the tree', () => {
  for (const [what, typed, from, to] of [
    ['goes to the next name that begins with it', 'b', 'agent', ['Base']],
    ['is the same in capitals', 'BASE', 'agent', ['Base', 'Base', 'Base', 'Base']],
    ['goes on from the end at the beginning', 'a', 'aardvark', ['agent']],
    ['stays where the focus is for as long as that fits', 'be', 'Base', ['before', 'before']],
    [
      'goes through all that begin with a letter which is typed again',
      'bbbb',
      'agent',
      ['Base', 'before', 'base-2', 'Base'],
    ],
    ['is another name after a pause', 'b a', 'agent', ['Base', 'aardvark']],
    ['leads nowhere where no name begins so', 'bx', 'agent', ['Base', undefined]],
    ['may be any character', '_', 'agent', ['_odd']],
  ] as const)
    test(what, () => assert.deepEqual(gone(typed, from), to));

  test('leads nowhere in a tree of nothing', () =>
    assert.equal(new TypeAhead().next('a', 0, [], 0), undefined));
});
