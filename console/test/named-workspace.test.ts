// Tests of the name of the workspace in texts of the Worker.

import assert from 'node:assert/strict';
import { test } from 'node:test';

import { namedWorkspace, nameWorkspace } from '../src/ui/named-workspace.ts';

test('a text names the workspace of the page, and other sandboxes by their ids', () => {
  const text = '"/workspace" of the sandbox "desk-1" contains no "a". The sandbox "desk-1-restored" does.';
  assert.equal(nameWorkspace(text), text);
  namedWorkspace.value = { name: 'desk', sandboxId: 'desk-1' };
  const expected =
    '"/workspace" of the workspace "desk" contains no "a". The sandbox "desk-1-restored" does.';
  assert.equal(nameWorkspace(text), expected);
});
