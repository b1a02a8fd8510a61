// The first commands of a new user: those of the README, and those of docs/getting-started.md.

import assert from 'node:assert/strict';
import { readFileSync } from 'node:fs';
import { after, before, test } from 'node:test';

import { at } from '../../scripts/setup.mjs';
import type { World } from '../world.ts';
import { type Cli, start } from './cli.ts';

let world: World;
let cli: Cli;

before(async () => {
  ({ world, cli } = await start());
});
after(async () => {
  await cli[Symbol.asyncDispose]();
  await world[Symbol.asyncDispose]();
});

/** Runs the commands of a page on a workspace with another name, and returns the lines and what they print. */
async function runPage(page: string, name: string): Promise<[string, string][]> {
  // On Cloudflare, a later section creates the workspace again.
  const [local = ''] = readFileSync(at(page), 'utf8').split('\n## On Cloudflare\n');
  const lines = local.match(/^snapshotter (?=.*\bnotebook\b).*$/gm) ?? [];
  const outputs: [string, string][] = [];
  for (const line of lines.map((line) => line.replace('notebook', name))) {
    const { status, stdout, stderr } = await cli.shell(line);
    assert.deepEqual([status, stderr], [0, ''], line);
    outputs.push([line, stdout]);
  }
  return outputs;
}

for (const [page, name] of [
  ['README.md', 'readme'],
  ['docs/getting-started.md', 'started'],
] as const)
  test(`the commands of ${page} break a workspace and go back`, async () => {
    const outputs = await runPage(page, name);
    const read = outputs.filter(([line]) => line.includes('cat ideas.txt')).map(([, text]) => text);
    assert.ok(read.length > 0 && read.every((text) => text === 'one\n'), JSON.stringify(outputs));
    assert.ok(outputs.some(([line]) => line.includes('rm ideas.txt')));
  });
