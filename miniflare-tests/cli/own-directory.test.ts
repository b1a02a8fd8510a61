// Commands on a workspace with a directory of its own use that directory.

import assert from 'node:assert/strict';
import { after, before, beforeEach, test } from 'node:test';

import type { World } from '../world.ts';
import { type Cli, start } from './cli.ts';

let world: World;
let cli: Cli;
let names = 0;
let target: string;

before(async () => {
  ({ world, cli } = await start());
});
after(async () => {
  await cli[Symbol.asyncDispose]();
  await world[Symbol.asyncDispose]();
});
beforeEach(async () => {
  const name = `own-directory-${++names}`;
  target = `@${name}`;
  await cli.print('workspace', 'create', name, '--dir', '/tmp/project');
  await cli.print('exec', target, 'echo first > file');
});

const content = () => cli.print('exec', target, 'cat file');

test('a snapshot has its files, and the workspace can be rolled back to it', async () => {
  await cli.print('snapshot', 'create', target, '--label', 'first');
  assert.match(await cli.print('ls', target, 'first'), /\bfile\b/);
  await cli.print('exec', target, 'echo second > file');
  await cli.print('workspace', 'rollback', target, 'first');
  assert.equal(await content(), 'first\n');
});

test('a checkpoint has its files, and they can be restored', async () => {
  await cli.print('checkpoint', 'create', target, 'first');
  await cli.print('exec', target, 'echo second > file');
  await cli.print('checkpoint', 'restore', target, 'first', '--yes');
  assert.equal(await content(), 'first\n');
});

test('files of a snapshot are restored to it', async () => {
  await cli.print('snapshot', 'create', target, '--label', 'first');
  await cli.print('exec', target, 'rm file');
  await cli.print('restore-files', target, 'first', 'file');
  assert.equal(await content(), 'first\n');
});
