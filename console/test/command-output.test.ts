// Tests of the collected output of a command.

import assert from 'node:assert/strict';
import { test } from 'node:test';

import { CommandOutput } from '../src/command-output.ts';

const bytes = (text: string) => new TextEncoder().encode(text);

test('the streams of an output are distinguished, in their order', () => {
  const output = new CommandOutput();
  for (const text of ['a', 'b\n']) output.append('stdout', bytes(text));
  output.append('stderr', bytes('\x1b[31mwarning\x1b[0m\r'));
  output.append('stdout', bytes('c'));
  output.end();
  assert.deepEqual(output.parts, [
    { stream: 'stdout', text: 'ab\n' },
    { stream: 'stderr', text: 'warning' },
    { stream: 'stdout', text: '\nc' },
    { stream: 'stderr', text: '\n' },
  ]);
  assert.equal(output.isCut, false);
});

test('a text after an unfinished line of the other stream begins a new line', () => {
  const output = new CommandOutput();
  const streams = ['stdout', 'stdout', 'stderr', 'stderr', 'stdout'] as const;
  for (const [at, text] of ['r', 'ed', 'e', 'rr\n', 'blue'].entries())
    output.append(streams[at] ?? 'stdout', bytes(text));
  assert.equal(output.parts.map(({ text }) => text).join(''), 'red\nerr\nblue');
});

test('a long output keeps its end', () => {
  const output = new CommandOutput();
  output.append('stdout', bytes('x'.repeat(150_000)));
  output.append('stderr', bytes('y'.repeat(100_000)));
  assert.deepEqual(
    output.parts.map(({ stream, text }) => [stream, text.length]),
    [
      ['stdout', 99_999],
      ['stderr', 100_001],
    ],
  );
  assert.equal(output.isCut, true);
});

test('an output with many changes of the stream keeps its last parts', () => {
  const output = new CommandOutput();
  for (let line = 0; line < 1500; line += 1) {
    output.append('stdout', bytes(`${line}\n`));
    output.append('stderr', bytes('!\n'));
  }
  assert.equal(output.parts.length, 2000);
  assert.deepEqual(output.parts[0], { stream: 'stdout', text: '500\n' });
  assert.deepEqual(output.parts.at(-2), { stream: 'stdout', text: '1499\n' });
  assert.equal(output.isCut, true);
});
