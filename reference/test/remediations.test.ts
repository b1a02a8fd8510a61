// What to do after an error.

import assert from 'node:assert/strict';
import { readFileSync } from 'node:fs';
import { test } from 'node:test';

import { at } from '../../scripts/setup.mjs';
import { codesOf } from '../src/document.ts';
import { remediationsOf } from '../src/remediations.ts';
import { DOCUMENT } from './document.ts';

test('every code of the API has a remediation in the guide, without its links', () => {
  const remediations = remediationsOf(readFileSync(at('docs/errors.md'), 'utf8'));
  for (const { code } of codesOf(DOCUMENT)) {
    const text = remediations.get(code) ?? '';
    assert.match(text, /^[^>].{7,}\.$/, code);
    assert.doesNotMatch(text, /\]\(/, code);
  }
});

test('the remediation of a code is what follows its first example', () => {
  const guide =
    '# Guide\n\n## ONE\n\na meaning\n\n> a message\n\nDo [this](x.md#y),\nand that.\n\n> another message\n\nDo more.\n\n## Parts\n\nNo code.\n';
  assert.deepEqual([...remediationsOf(guide)], [['ONE', 'Do this, and that.']]);
});
