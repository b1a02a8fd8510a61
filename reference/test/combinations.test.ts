// The combinations of options that an operation permits.

import assert from 'node:assert/strict';
import { test } from 'node:test';

import { combinations, fieldsOf } from '../src/schema.ts';
import { DOCUMENT } from './document.ts';

test('the options of which one is required are named, and come first', () => {
  for (const name of ['ExecOptions', 'StartCommandOptions']) {
    const schema = DOCUMENT.components.schemas[name]!;
    assert.deepEqual(combinations(schema), [
      'Pass exactly one of:\n\n- `name`\n- `sandboxId`',
      'Pass exactly one of:\n\n- `command`\n- `argv`',
    ]);
    const first = fieldsOf(DOCUMENT, schema).slice(0, 4);
    assert.deepEqual(
      first.map(({ name }) => name),
      ['name', 'sandboxId', 'command', 'argv'],
    );
  }
});
