// `npm run demo`, for each runtime of sandboxes, and its output in docs/getting-started.md.

import assert from 'node:assert/strict';
import { readFileSync } from 'node:fs';
import { test } from 'node:test';

import { RUNTIMES } from '../../scripts/runtimes.ts';
import { at } from '../../scripts/setup.mjs';
import { Command } from './terminal.ts';

const PAGE = readFileSync(at('docs/getting-started.md'), 'utf8');
const [, DOCUMENTED = ''] = /^```text\n(The agent writes [^]*?)^```/m.exec(PAGE) ?? [];

/** Returns an output without what differs between two runs: log lines with their times, random parts of ids, the runtime. */
function comparable(output: string): string {
  const lines = output.trim().split('\n');
  const text = lines.filter((line) => !line.startsWith('  · ')).join('\n');
  return text
    .replace(/-(restored|branch)-[a-z0-9]{8}/g, '-$1')
    .replace(/notebook-[a-z0-9]{10}/g, 'notebook')
    .replace(/ -- --runtime \S+`/, '`');
}

for (const runtime of RUNTIMES) {
  test(`the demo in the runtime ${runtime} prints what the documentation shows`, async () => {
    await using demo = new Command(['node', at('scripts/demo.ts'), '--runtime', runtime], { cwd: at() });
    assert.equal(await demo.ended(), 0, demo.output);
    assert.equal(comparable(demo.output), comparable(DOCUMENTED));
  });
}
