// Tests of the output of commands as text.

import assert from 'node:assert/strict';
import { describe, test } from 'node:test';

import { displayable, TerminalText } from '../src/terminal-text.ts';

describe('the output of a command', () => {
  for (const [what, output, shown] of [
    ['colors are removed', '\x1b[1;31mfailed\x1b[0m', 'failed'],
    ['movements of the cursor are removed', 'a\x1b[2J\x1b[10;1Hb\x1b[K', 'ab'],
    ['titles and links are removed', '\x1b]0;owned\x07\x1b]8;;http://x\x1b\\text\x1b]8;;\x1b\\', 'text'],
    ['sequences of two characters are removed', '\x1bcreset\x1b(B', 'reset'],
    ['a carriage return begins a line', '10%\r20%\r\ndone', '10%\n20%\ndone'],
    ['tabs and line breaks stay', 'a\tb\n', 'a\tb\n'],
    ['other control characters are shown', 'a\x07b\x00\x9b', 'a\\u0007b\\u0000\\u009b'],
    ['characters that reorder text are shown', 'exe\u202egpj', 'exe\\u202egpj'],
    ['an escape without a sequence is shown', 'end\x1b', 'end\\u001b'],
  ] as const)
    test(what, () => assert.equal(displayable(output), shown));

  test('is the same, however it is divided', () => {
    const output = 'ä\x1b[31mred\x1b[0m\x1b]0;title\x07 10%\r\n\x1b[2K20%\r30%';
    const bytes = new TextEncoder().encode(output);
    for (let at = 0; at <= bytes.length; at += 1) {
      const text = new TerminalText();
      const shown = text.append(bytes.subarray(0, at)) + text.append(bytes.subarray(at)) + text.end();
      assert.equal(shown, displayable(output), `divided at ${at}`);
    }
  });

  test('with an unended sequence is shown, and does not grow without a limit', () => {
    const text = new TerminalText();
    const part = new TextEncoder().encode(`\x1b]0;${'x'.repeat(5000)}`);
    assert.match(text.append(part), /^\\u001b\]0;xxx/);
    assert.equal(text.end(), '');
  });
});
