// The commands of docs/recover.md, in their order, on files that were broken.

import assert from 'node:assert/strict';
import { readFileSync } from 'node:fs';
import { after, before, test } from 'node:test';

import { at } from '../../scripts/setup.mjs';
import type { World } from '../world.ts';
import { type Cli, start } from './cli.ts';

const PAGE = readFileSync(at('docs/recover.md'), 'utf8');

let world: World;
let cli: Cli;

before(async () => {
  ({ world, cli } = await start());
  await cli.print('workspace', 'create', 'notebook');
  await run('mkdir src; echo one > src/main.rs; ln -s main.rs src/link; echo draft > notes.txt');
  await cli.print('checkpoint', 'create', '@notebook', 'tests-pass');
  await cli.print('snapshot', 'create', '@notebook', '--label', 'before-upgrade');
  await world.exec('agent-42', 'echo x > file');
  await cli.print('snapshot', 'create', 'agent-42', '--label', 'before-upgrade');
});
after(async () => {
  await cli[Symbol.asyncDispose]();
  await world[Symbol.asyncDispose]();
});

/** Runs a line in the workspace, and returns its output. */
const run = (line: string) => cli.print('exec', '--no-stdin', '@notebook', line);

/** Returns the lines of the commands below a heading. */
function commands(heading: string): string[] {
  const [, section = ''] = new RegExp(`^## ${heading}\n([^]+?)(?=^## |$(?![^]))`, 'm').exec(PAGE) ?? [];
  const lines = [...section.matchAll(/^```sh\n([^]+?)^```/gm)].flatMap(([, block = '']) =>
    block.trim().split('\n'),
  );
  assert.ok(lines.length > 0, heading);
  return lines;
}

/** Runs the commands below a heading, which must succeed without warnings, and returns what they print. */
async function runSection(heading: string, change = (line: string) => line): Promise<string[]> {
  const outputs = [];
  for (const line of commands(heading)) {
    const { status, stdout, stderr } = await cli.shell(change(line));
    assert.deepEqual([status, stderr], [0, ''], `${line}\n${stdout}`);
    outputs.push(stdout);
  }
  return outputs;
}

test('a look first shows what broke', async () => {
  await run('rm -r src; echo broken > notes.txt');
  const [shown, list, changes, patch, content] = await runSection('Look first');
  assert.match(shown!, /^state +active$/m);
  assert.match(list!, /before-upgrade/);
  assert.match(changes!, /^removed .* src\/main\.rs$/m);
  assert.match(patch!, /^-draft\n\+broken$/m);
  assert.equal(content, 'draft\n');
});

test('files and directories are brought back', async () => {
  await runSection('Bring files back');
  assert.equal(await run('cat notes.txt src/link; readlink src/link'), 'draft\none\nmain.rs\n');
});

test('a checkpoint is restored', async () => {
  await run('echo broken > notes.txt; echo x > new');
  await runSection('Go back to a checkpoint');
  assert.equal(await run('cat notes.txt; ls'), 'draft\nnotes.txt\nsrc\n');
});

test('a rollback saves the present files, and is undone', async () => {
  await run('echo newer > notes.txt');
  await runSection('Roll back a workspace');
  assert.equal(await run('cat notes.txt'), 'draft\n');
  const { snapshots } = await cli.json('snapshot', 'list', '@notebook');
  const { snapshotId } = snapshots.find(({ cause }: { cause: string }) => cause === 'beforeRollback');
  const [list] = await runSection('Undo a rollback', (line) => line.replace(/snap-\w+/, snapshotId));
  assert.match(list!, new RegExp(`^${snapshotId} .* before rollback`, 'm'));
  assert.equal(await run('cat notes.txt'), 'newer\n');
});

test('an earlier state is beside the present one', async () => {
  await runSection('Try an earlier state');
  assert.equal(await cli.print('exec', '@attempt', 'cat notes.txt'), 'draft\n');
  assert.equal(await run('cat notes.txt'), 'newer\n');
});

test('a container that ended is started again', async () => {
  for (const id of [(await cli.json('workspace', 'show', 'notebook')).sandboxId, 'agent-42'])
    await world.kill(id);
  const outputs = [];
  for (const line of commands('After a container ended')) {
    const { status, stdout, stderr } = await cli.shell(line);
    assert.equal(status, 0, stderr);
    assert.match(stderr, /changes that are in no snapshot may be lost/);
    outputs.push(stdout);
  }
  assert.equal(outputs.length, 2);
  await cli.run(['exec', '@notebook', 'true']); // Repeats the warning, in case the answer before it was lost.
  assert.equal(await run('cat notes.txt'), 'newer\n');
  assert.equal(await world.exec('agent-42', 'cat file'), 'x\n');
});

test('a large directory is unpacked from its tar, with its links', async () => {
  const files = readFileSync(at('docs/files.md'), 'utf8');
  const [line] = /^snapshotter export .* \| .* tar x .*$/m.exec(files) ?? [];
  await run('rm -r src; mkdir src; echo other > src/main.rs; echo own > src/own');
  const { status, stderr } = await cli.shell(line!);
  assert.deepEqual([status, stderr], [0, '']);
  assert.equal(await run('cat src/link src/own; readlink src/link'), 'one\nown\nmain.rs\n');
});
